// The processors that this process may use: those it is bound to, and the share of them that its control groups grant.
#pragma once

#include <sched.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace isthmus {

// A set of processors that may be numbered beyond the 1,024 of one cpu_set_t: the macros ending in _S take its data()
// and bytes_of.
using ProcessorSet = std::vector<cpu_set_t>;
inline std::size_t bytes_of(const ProcessorSet& set) {
    return set.size() * sizeof(cpu_set_t);
}
bool contains(const ProcessorSet& set, int processor);
ProcessorSet set_of(const std::vector<int>& processors);

// Those that the calling thread may run on; empty when the system does not tell.
ProcessorSet bound_processors();

// How many processors' time the control groups of this process grant (cpu.max, cpu.cfs_quota_us), the least of its own
// group and all above it that are mounted here; nothing where none sets a limit. `root` is before every path that
// is read: empty but in tests.
std::optional<double> granted_processors(const std::string& root);

// How many threads can work at once, one at least. A grant is rounded down: a thread too many uses up the time of all,
// and the system then stops all of them until the next period. The grant is read once a process.
std::size_t allowed_processors();
std::size_t threads_for(std::size_t bound, std::optional<double> granted);

}  // namespace isthmus
