// What a thread did in the kernel between two of its copies, and how many threads run while it copies.
#pragma once

#include <cstdint>

namespace isthmus::tracer {

// From which size on a copy takes so long that asking the kernel around it, which takes 1 to 2 us, costs nothing.
inline constexpr std::uint64_t least_asked_bytes = std::uint64_t{4} << 20;

// Since the calling thread began, but for `running_ns`: of all threads of the process.
struct HostWork {
    std::uint64_t system_ns = 0, running_ns = 0;
    // Pages that were put in place where it touched them first.
    std::uint64_t faults = 0;
    static HostWork now();
};

}  // namespace isthmus::tracer
