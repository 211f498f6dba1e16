// Whether the machine has processors to spare for threads that copy.
#pragma once

#include <optional>
#include <string>

namespace isthmus::accelerator {

// Threads that run or want to, of the whole machine, as the kernel counts them at this moment (/proc/loadavg); nothing
// where it does not tell. `path` is that file but in tests.
std::optional<long> runnable_threads(const std::string& path = "/proc/loadavg");

// Whether so many more threads want to run than there are processors that others would only take time from the
// program's. Looks a few hundred times a second at most.
bool is_crowded();

}  // namespace isthmus::accelerator
