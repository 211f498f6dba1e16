// Which other devices a session may go by.
#include "transfer/links/paths.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace isthmus {
namespace {

// "cuda:1" of "cuda"; nothing where it is no name of a device of that backend.
std::optional<int> index_in(std::string_view word, std::string_view backend) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos || word.substr(0, colon) != backend) return std::nullopt;
    const std::string_view number = word.substr(colon + 1);
    int index = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || end != number.data() + number.size() || index < 0) return std::nullopt;
    return index;
}

bool is_name(std::string_view word) {
    return index_in(word, word.substr(0, word.find(':'))).has_value();
}

}  // namespace

Result<Paths> Paths::parse(const std::string& text, std::string_view backend, int own_index) {
    std::string chosen = text;
    const bool is_from_environment = text.empty();
    if (is_from_environment) {
        const char* const variable = std::getenv("ISTHMUS_PATHS");
        chosen = variable == nullptr || *variable == '\0' ? "own" : variable;
    }
    Paths paths;
    paths.all = chosen == "all";
    if (paths.all || chosen == "own") return paths;
    std::string_view rest = chosen;
    for (bool is_last = false; !is_last;) {
        const std::string_view word = rest.substr(0, rest.find(','));
        is_last = word.size() == rest.size();
        if (!is_last) rest.remove_prefix(word.size() + 1);
        const std::optional<int> index = index_in(word, backend);
        // The environment is that of all sessions, of other devices and backends, too.
        if (is_from_environment && (index ? *index == own_index : is_name(word))) continue;
        if (!index) {
            return invalid((is_from_environment ? "ISTHMUS_PATHS: found '" : "paths: found '") + std::string(word) +
                           "'; expected own, all, or other devices such as " + std::string(backend) + ":" +
                           std::to_string(own_index == 0 ? 1 : 0));
        }
        if (*index == own_index) {
            return invalid("paths: " + std::string(word) + " is the session's own device, whose link is always used");
        }
        if (std::ranges::find(paths.devices, *index) == paths.devices.end()) paths.devices.push_back(*index);
    }
    return paths;
}

}  // namespace isthmus
