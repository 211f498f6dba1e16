// The processors that this process may use: those it is bound to, and the share of them that its control groups grant.
#include "base/processors.hpp"

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "base/limits/control_groups.hpp"
#include "base/text_file.hpp"

namespace isthmus {
namespace {

// More than any kernel can be built for.
constexpr std::size_t most_processors = std::size_t{1} << 20;

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
    for (const ControlGroup& group : control_groups(root, "cpu")) {
        const auto grant = grant_of(group.folder, group.unified);
        if (grant) least = std::min(least.value_or(*grant), *grant);
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
