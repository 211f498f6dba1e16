// The processors that this process may use: those it is bound to, and the share of them that its control groups grant.
#include "base/processors.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "base/text_file.hpp"

namespace isthmus {
namespace {

// More than any kernel can be built for.
constexpr std::size_t most_processors = std::size_t{1} << 20;

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
}

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

// Nothing where there is no limit: "max", -1, or no such file.
std::optional<double> ratio(const std::string& quota, const std::string& period) {
    std::istringstream over(quota);
    std::istringstream under(period);
    double time = 0;
    double every = 0;
    if (!(over >> time) || !(under >> every) || time <= 0 || every <= 0) return std::nullopt;
    return time / every;
}

std::optional<double> grant_of(const std::string& folder, bool unified) {
    if (!unified) return ratio(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
    const std::vector<std::string> limit = words_of(first_line(folder + "/cpu.max"));
    return limit.size() == 2 ? ratio(limit[0], limit[1]) : std::nullopt;
}

// The part of the group's path that lies below the mounted one; empty where it lies elsewhere, since nothing below the
// mounted one is then known to be above this process.
std::string below(const std::string& group, const std::string& mounted) {
    const std::string prefix = mounted == "/" ? "" : mounted;
    if (group.find("/..") != std::string::npos || group.rfind(prefix, 0) != 0) return "";
    const std::string rest = group.substr(prefix.size());
    return rest.empty() || rest == "/" || rest.front() != '/' ? "" : rest;
}

}  // namespace

bool contains(const ProcessorSet& set, int processor) {
    return processor >= 0 && CPU_ISSET_S(static_cast<std::size_t>(processor), bytes_of(set), set.data());
}

ProcessorSet set_of(const std::vector<int>& processors) {
    const int last = processors.empty() ? 0 : *std::max_element(processors.begin(), processors.end());
    ProcessorSet set(static_cast<std::size_t>(std::max(last, 0)) / CPU_SETSIZE + 1);
    CPU_ZERO_S(bytes_of(set), set.data());
    for (const int processor : processors) {
        if (processor >= 0) CPU_SET_S(static_cast<std::size_t>(processor), bytes_of(set), set.data());
    }
    return set;
}

ProcessorSet bound_processors() {
    // The kernel refuses a set that is smaller than its own, and does not say how large that is.
    for (std::size_t sets = 1; sets * CPU_SETSIZE <= most_processors; sets *= 2) {
        ProcessorSet set(sets);
        CPU_ZERO_S(bytes_of(set), set.data());
        if (sched_getaffinity(0, bytes_of(set), set.data()) == 0) return set;
        if (errno != EINVAL) break;
    }
    return {};
}

std::optional<double> granted_processors(const std::string& root) {
    std::optional<double> least;
    std::ifstream mounts(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        // number, parent, device, mounted root, place, options, optional fields, "-", type, source, options of the type
        const std::vector<std::string> words = words_of(line);
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.size() < 5 || words.end() - dash < 4) continue;
        const bool unified = dash[1] == "cgroup2";
        if (!unified && (dash[1] != "cgroup" || !lists(dash[3], "cpu"))) continue;
        const auto group = group_of(root, unified ? "" : "cpu");
        if (!group) continue;
        const std::string top = root + unescaped(words[4]);
        std::string rest = below(*group, unescaped(words[3]));
        while (true) {
            const auto grant = grant_of(top + rest, unified);
            if (grant) least = std::min(least.value_or(*grant), *grant);
            if (rest.empty()) break;
            rest.resize(rest.rfind('/'));
        }
    }
    return least;
}

std::size_t threads_for(std::size_t bound, std::optional<double> granted) {
    const std::size_t most = std::max<std::size_t>(bound, 1);
    if (!granted || *granted >= static_cast<double>(most)) return most;
    return std::max<std::size_t>(static_cast<std::size_t>(*granted), 1);
}

std::size_t allowed_processors() {
    static const std::optional<double> granted = granted_processors("");
    const ProcessorSet bound = bound_processors();
    return threads_for(static_cast<std::size_t>(CPU_COUNT_S(bytes_of(bound), bound.data())), granted);
}

}  // namespace isthmus
