// Which other devices a session may go by.
#include "transfer/ways/paths.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace isthmus {

Result<Paths> Paths::parse(const std::string& text, std::string_view backend, int own_index) {
    std::string said = text;
    std::string name = "paths";
    if (text.empty()) {
        const char* const variable = std::getenv("ISTHMUS_PATHS");
        name = "ISTHMUS_PATHS";
        said = variable == nullptr || *variable == '\0' ? "own" : variable;
    }
    Paths paths;
    if (said == "own") return paths;
    if (said == "all") {
        paths.all = true;
        return paths;
    }
    const std::string prefix = std::string(backend) + ":";
    std::string_view rest = said;
    while (true) {
        const std::string_view word = rest.substr(0, rest.find(','));
        int index = -1;
        const bool begins = word.substr(0, prefix.size()) == prefix;
        const std::string_view number = begins ? word.substr(prefix.size()) : std::string_view();
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
        if (!begins || error != std::errc() || end != number.data() + number.size() || index < 0) {
            return Status(Code::invalid_argument, name + ": found '" + std::string(word) +
                                                      "'; expected own, all, or other devices such as " + prefix +
                                                      std::to_string(own_index == 0 ? 1 : 0));
        }
        if (index == own_index) {
            return Status(Code::invalid_argument,
                          name + ": " + std::string(word) + " is the session's own device, whose link is always used");
        }
        if (std::find(paths.devices.begin(), paths.devices.end(), index) == paths.devices.end()) {
            paths.devices.push_back(index);
        }
        if (word.size() == rest.size()) return paths;
        rest.remove_prefix(word.size() + 1);
    }
}

}  // namespace isthmus
