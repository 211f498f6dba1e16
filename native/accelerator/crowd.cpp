// Whether the machine has processors to spare for threads that copy.
#include "accelerator/crowd.hpp"

#include <unistd.h>

#include <atomic>
#include <charconv>

#include "base/clock.hpp"
#include "base/text_file.hpp"

namespace isthmus::accelerator {
namespace {

constexpr auto looks_apart = std::chrono::milliseconds(4);

}  // namespace

std::optional<long> runnable_threads(const std::string& path) {
    // As "0.20 0.18 0.12 3/80 11206": the fourth word begins with them.
    const std::string line = first_line(path);
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) return std::nullopt;
    const std::size_t begin = line.rfind(' ', slash) + 1;
    long count = 0;
    const auto [end, error] = std::from_chars(line.data() + begin, line.data() + slash, count);
    if (error != std::errc() || end != line.data() + slash) return std::nullopt;
    return count;
}

bool is_crowded() {
    static std::atomic<TimePoint::rep> looked = 0;
    static std::atomic<bool> was = false;
    const TimePoint::rep moment = now().time_since_epoch().count();
    TimePoint::rep before = looked.load(std::memory_order_relaxed);
    constexpr TimePoint::rep apart = std::chrono::duration_cast<TimePoint::duration>(looks_apart).count();
    if (moment - before < apart || !looked.compare_exchange_strong(before, moment)) return was;
    const std::optional<long> running = runnable_threads();
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    was = running && processors > 0 && *running > processors + processors / 4;
    return was;
}

}  // namespace isthmus::accelerator
