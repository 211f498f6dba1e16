// What the environment tells a library that lives in somebody else's process.
#include "interpose/environment.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

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

std::string folder_in(const char* variable) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || *folder == 0) return {};
    std::error_code failed;
    const auto whole = std::filesystem::absolute(folder, failed);
    return failed ? folder : whole.string();
}

bool is_switched_off(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr && std::string_view(text) == "off";
}

}  // namespace isthmus::interpose
