// What the environment tells a library that lives in somebody else's process.
#include "interpose/environment.hpp"

#include <cstdlib>
#include <string_view>

namespace isthmus::interpose {

std::vector<std::string> words_of(const char* variable, char separator) {
    std::vector<std::string> words;
    const char* text = std::getenv(variable);
    std::string_view rest = text != nullptr ? text : "";
    while (!rest.empty()) {
        const std::size_t end = rest.find(separator);
        if (end != 0) words.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return words;
}

}  // namespace isthmus::interpose
