// The names of methods and stores, as runs, tables and explanations give them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "transfer/pieces/pack.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus {

std::string_view name_of(PieceMethod method);
// Nothing for a name that no method has.
std::optional<PieceMethod> piece_method_of(std::string_view name);

// In the order of Stores.
inline constexpr std::array<std::string_view, 3> stores_names{"ordinary", "streaming", "demoted"};

constexpr std::string_view name_of(Stores stores) {
    return stores_names[static_cast<std::size_t>(stores)];
}

}  // namespace isthmus
