// How much more memory this process can have before the system ends programs for want of it.
#include "base/limits/memory_room.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "base/limits/control_groups.hpp"
#include "base/text_file.hpp"

namespace isthmus {
namespace {

// Nothing where there is no such file, or no number in it ("max").
std::optional<std::uint64_t> number_in(const std::string& path) {
    std::istringstream line(first_line(path));
    std::uint64_t number = 0;
    return line >> number ? std::optional(number) : std::nullopt;
}

// The sum of the lines that begin with one of these words.
std::optional<std::uint64_t> sum_of(const std::string& path, const std::vector<std::string>& names) {
    std::optional<std::uint64_t> sum;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        std::uint64_t number = 0;
        if (words >> name >> number && std::find(names.begin(), names.end(), name) != names.end()) {
            sum = sum.value_or(0) + number;
        }
    }
    return sum;
}

Status too_little(std::size_t bytes, std::uint64_t left, const std::string& whose, const char* advice) {
    return {Code::out_of_memory, std::to_string(bytes) + " bytes of memory were asked for, and " + whose + " leaves " +
                                     std::to_string(left) + "; " + advice};
}

std::string limit_path(const ControlGroup& group) {
    return group.folder + (group.unified ? "/memory.max" : "/memory.limit_in_bytes");
}

Status check_group(const ControlGroup& group, std::size_t bytes) {
    const auto limit = number_in(limit_path(group));
    const auto used = number_in(group.folder + (group.unified ? "/memory.current" : "/memory.usage_in_bytes"));
    if (!limit || !used) return {};
    std::uint64_t left = *limit - std::min(*limit, *used);
    if (bytes <= left) return {};
    // Asked last, since the kernel adds these up for every processor.
    const std::string total = group.unified ? "" : "total_";
    left += sum_of(group.folder + "/memory.stat", {total + "inactive_file", total + "active_file"}).value_or(0);
    if (bytes <= left) return {};
    return too_little(bytes, left,
                      "the control group's limit of " + std::to_string(*limit) + " bytes (" + limit_path(group) + ")",
                      "give memory back, or start the container or the job with a higher limit");
}

}  // namespace

Status check_memory_room(std::size_t bytes, const std::string& root) {
    constexpr std::uint64_t kibibyte = 1024;
    const auto available = sum_of(root + "/proc/meminfo", {"MemAvailable:"});
    if (available && bytes > *available * kibibyte) {
        return too_little(bytes, *available * kibibyte, "this host (MemAvailable in /proc/meminfo)",
                          "give memory back, or ask for less");
    }
    for (const ControlGroup& group : control_groups(root, "memory")) ISTHMUS_TRY(check_group(group, bytes));
    return {};
}

std::optional<std::uint64_t> group_memory_limit(const std::string& root) {
    std::optional<std::uint64_t> least;
    for (const ControlGroup& group : control_groups(root, "memory")) {
        const auto limit = number_in(limit_path(group));
        if (limit) least = std::min(*limit, least.value_or(*limit));
    }
    return least;
}

}  // namespace isthmus
