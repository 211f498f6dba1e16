// What a thread did in the kernel between two of its copies.
#include "tracer/host_work.hpp"

#include <sys/resource.h>

#include <ctime>

namespace isthmus::tracer {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000, microsecond_ns = 1000;

}  // namespace

HostWork HostWork::now() {
    rusage used{};
    timespec running{};
    if (getrusage(RUSAGE_THREAD, &used) != 0 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &running) != 0) return {};
    return {.system_ns = static_cast<std::uint64_t>(used.ru_stime.tv_sec) * second_ns +
                         static_cast<std::uint64_t>(used.ru_stime.tv_usec) * microsecond_ns,
            .running_ns =
                static_cast<std::uint64_t>(running.tv_sec) * second_ns + static_cast<std::uint64_t>(running.tv_nsec),
            .faults = static_cast<std::uint64_t>(used.ru_minflt)};
}

}  // namespace isthmus::tracer
