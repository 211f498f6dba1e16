// Which copies devices time: as many as a share of the program's time pays for.
#include "tracer/cuda/copy_timing.hpp"

namespace isthmus::tracer {
namespace {

// What the time stamps of a copy cost at most (H200: 1.3 us asynchronous, 2.2 us synchronous), and to turn them on or
// off: the call takes 2.5 to 10 us, but loops of copies took 200 to 600 us longer for each time on and off.
constexpr std::uint64_t copy_ns = 2'000, turn_ns = 150'000;
// What may be spent: a share of the time that passes, and so much at once, as on the first copies.
constexpr double share = 0.01;
constexpr std::uint64_t most_ns = 1'000'000;
// As many copies one after the other, so that those of one loop are seen as they follow each other.
constexpr std::uint64_t together = 128;
constexpr int most_turns_for_one = 32;

}  // namespace

CopyTiming::CopyTiming(const cupti::Api& api, bool all, std::uint64_t now_ns)
    : api_(api), all_(all), budget_(share, most_ns, now_ns) {}

CopyTiming::Period CopyTiming::begin(std::uint64_t now_ns) {
    Period period = period_.load(std::memory_order_acquire);
    if (all_.load(std::memory_order_relaxed)) return period;
    const bool on = period % 2 == 0;
    // Turning them off is paid for, too.
    if (on != budget_.affords(now_ns, on ? copy_ns + turn_ns : together * copy_ns + 2 * turn_ns)) {
        // Where another thread is at it, this copy need not wait for it.
        const std::unique_lock lock(turning_, std::try_to_lock);
        if (lock.owns_lock()) period = turn(!on);
    }
    if (period % 2 == 0) budget_.spend(copy_ns);
    return period;
}

void CopyTiming::begin_timed() {
    // In this order, and the other way round where they are turned off: either thread sees the other.
    needed_.fetch_add(1);
    if (period_.load() % 2 != 0) {
        if (turned_on_for_one_.fetch_add(1) == most_turns_for_one) all_ = true;
        const std::lock_guard lock(turning_);
        turn(true);
    }
    budget_.spend(copy_ns);
}

void CopyTiming::time_all() {
    if (all_.exchange(true)) return;
    const std::lock_guard lock(turning_);
    turn(true);
}

CopyTiming::Period CopyTiming::turn(bool on) {
    const Period period = period_.load(std::memory_order_relaxed);
    if (on == (period % 2 == 0) || (!on && all_)) return period;
    budget_.spend(turn_ns);
    // The number tells of no time stamps before there are none, and of them when they are there.
    if (on) {
        if (api_.cuptiActivityEnable(cupti::activity_kind_memcpy) != cupti::success) return period;
        period_.store(period + 1);
        return period + 1;
    }
    period_.store(period + 1);
    if (needed_.load() > 0) {
        period_.store(period + 2);
        return period + 2;
    }
    (void)api_.cuptiActivityDisable(cupti::activity_kind_memcpy);
    return period + 1;
}

}  // namespace isthmus::tracer
