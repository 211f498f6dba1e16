// The control groups of this process, as far up as they are mounted here.
#include "base/limits/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

namespace isthmus {
namespace {

bool lists(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::string_view part = list.substr(0, list.find(','));
        if (part == name) return true;
        list.remove_prefix(std::min(list.size(), part.size() + 1));
    }
    return false;
}

// As the kernel writes paths into mountinfo: a space is \040.
std::string unescaped(std::string_view text) {
    const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
    std::string path;
    while (!text.empty()) {
        if (text.size() >= 4 && text[0] == '\\' && std::all_of(text.begin() + 1, text.begin() + 4, is_octal)) {
            path.push_back(static_cast<char>(((text[1] - '0') << 6) | ((text[2] - '0') << 3) | (text[3] - '0')));
            text.remove_prefix(4);
        } else {
            path.push_back(text.front());
            text.remove_prefix(1);
        }
    }
    return path;
}

// The group of this process in the hierarchy that has the controller, or in the unified one where that is empty.
std::optional<std::string> group_of(const std::string& root, std::string_view controller) {
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
        if (controller.empty() ? controllers.empty() : lists(controllers, controller)) return line.substr(second + 1);
    }
    return std::nullopt;
}

// The part of the group's path that is below the mounted one; empty where it is elsewhere, since nothing below the
// mounted one is then known to be above this process.
std::string below(const std::string& group, const std::string& mounted) {
    const std::string prefix = mounted == "/" ? "" : mounted;
    if (group.find("/..") != std::string::npos || group.rfind(prefix, 0) != 0) return "";
    const std::string rest = group.substr(prefix.size());
    return rest.empty() || rest == "/" || rest.front() != '/' ? "" : rest;
}

}  // namespace

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<ControlGroup> control_groups(const std::string& root, const std::string& controller) {
    std::vector<ControlGroup> groups;
    std::ifstream mounts(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        // number, parent, device, mounted root, place, options, optional fields, "-", type, source, options of the type
        const std::vector<std::string> words = words_of(line);
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.size() < 5 || words.end() - dash < 4) continue;
        const bool unified = dash[1] == "cgroup2";
        if (!unified && (dash[1] != "cgroup" || !lists(dash[3], controller))) continue;
        const auto group = group_of(root, unified ? "" : controller);
        if (!group) continue;
        const std::string top = root + unescaped(words[4]);
        std::string rest = below(*group, unescaped(words[3]));
        while (true) {
            groups.push_back({top + rest, unified});
            if (rest.empty()) break;
            rest.resize(rest.rfind('/'));
        }
    }
    return groups;
}

}  // namespace isthmus
