// Enumerations and the names of their values, from one list each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace isthmus {

// The parts of "one, two, three".
template <std::size_t Count>
constexpr std::array<std::string_view, Count> names_in(std::string_view list) {
    std::array<std::string_view, Count> names;
    for (std::string_view& name : names) {
        name = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), name.size() + 2));
    }
    return names;
}

// In the order of the values, which count from 0.
template <typename Enum>
    requires requires { names_in_order(Enum{}); }
inline constexpr auto names_of = names_in_order(Enum{});

template <typename Enum>
    requires requires { names_in_order(Enum{}); }
constexpr std::string_view name_of(Enum value) {
    return names_of<Enum>[static_cast<std::size_t>(value)];
}

// Nothing for a name that no value has.
template <typename Enum>
constexpr std::optional<Enum> value_of(std::string_view name) {
    const auto place = std::find(names_of<Enum>.begin(), names_of<Enum>.end(), name);
    if (place == names_of<Enum>.end()) return std::nullopt;
    return static_cast<Enum>(place - names_of<Enum>.begin());
}

}  // namespace isthmus

// `enum class Enum` with the values that follow, in a namespace; names_of, name_of and value_of know it.
#define ISTHMUS_ENUM(Enum, ...)                                                                       \
    enum class Enum { __VA_ARGS__ };                                                                  \
    constexpr auto names_in_order(Enum) {                                                             \
        constexpr std::string_view list = #__VA_ARGS__;                                               \
        return ::isthmus::names_in<std::count(list.begin(), list.end(), ',') + std::size_t{1}>(list); \
    }
