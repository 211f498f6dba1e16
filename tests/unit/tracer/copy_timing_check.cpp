// Time passes as the test says, and a CUPTI counts when time stamps are turned on and off.
#include <cstdlib>

#include "tracer/cuda/copy_timing.hpp"

using namespace isthmus;
using namespace isthmus::tracer;
using trace::Timing;

#define EXPECT(condition) \
    if (!(condition)) return std::abort()

static bool stamping = true;
static int turns = 0;

static cupti::Api counting() {
    cupti::Api api;
    api.cuptiActivityEnable.pointer = [](int) { return stamping = true, ++turns, 0; };
    api.cuptiActivityDisable.pointer = [](int) { return stamping = false, ++turns, 0; };
    return api;
}

static constexpr std::uint64_t microsecond = 1000, second = 1'000'000'000;

// So many copies, each so long after the one before; how many of them are timed.
static int timed_of(CopyTiming& timing, std::uint64_t& now, int copies, std::uint64_t apart_ns) {
    int timed = 0;
    for (int copy = 0; copy < copies; ++copy) {
        now += apart_ns;
        const CopyTiming::Period period = timing.begin(now);
        const Timing found = timing.since(period);
        if ((found == Timing::timed) != stamping || found == Timing::maybe) std::abort();
        timed += stamping ? 1 : 0;
    }
    return timed;
}

static void few_are_all_timed() {
    const cupti::Api api = counting();
    stamping = true;
    std::uint64_t now = second;
    CopyTiming timing(api, false, now);
    EXPECT(timed_of(timing, now, 10'000, 250 * microsecond) == 10'000);
    EXPECT(turns == 0);
}

static void many_take_a_share_of_the_time() {
    const cupti::Api api = counting();
    stamping = true, turns = 0;
    std::uint64_t now = second;
    CopyTiming timing(api, false, now);
    const int timed = timed_of(timing, now, 1'000'000, 4 * microsecond);
    // Four seconds: 1 % of them at 2 us a copy, less what turning takes, and the first millisecond.
    EXPECT(timed > 8'500 && timed < 10'500);
    EXPECT(turns > 100 && turns < 160);
    // What a pause earns is no more than a millisecond at once, 500 copies.
    now += 100 * second;
    EXPECT(timed_of(timing, now, 1000, 0) <= 500);
}

static void what_only_devices_tell_is_timed() {
    const cupti::Api api = counting();
    stamping = true;
    std::uint64_t now = second;
    CopyTiming timing(api, false, now);
    timed_of(timing, now, 10'000, 0);
    EXPECT(!stamping);
    const CopyTiming::Period before = timing.begin(now);
    timing.begin_timed();
    // Nor is it turned off while such a call is under way.
    EXPECT(timing.since(timing.begin(now)) == Timing::timed && stamping);
    timing.end_timed();
    // While the one before was called for, stamps were turned on.
    EXPECT(timing.since(before) == Timing::maybe);
    EXPECT(timing.since(timing.begin(now)) == Timing::none && !stamping);
    // From the first graph on, all.
    timing.time_all();
    EXPECT(stamping && timed_of(timing, now, 10'000, 0) == 10'000);
}

static void programs_with_many_of_both_kinds_are_timed_whole() {
    const cupti::Api api = counting();
    stamping = true;
    std::uint64_t now = second;
    CopyTiming timing(api, false, now);
    timed_of(timing, now, 10'000, 0);
    turns = 0;
    for (int copy = 0; copy < 1000; ++copy) {
        timing.begin_timed();
        EXPECT(stamping);
        timing.end_timed();
        timing.begin(now);
    }
    EXPECT(stamping && turns < 100);
}

static void all_are_timed_on_request() {
    const cupti::Api api = counting();
    stamping = true, turns = 0;
    std::uint64_t now = second;
    CopyTiming timing(api, true, now);
    EXPECT(timed_of(timing, now, 100'000, 0) == 100'000 && turns == 0);
}

int main() {
    few_are_all_timed();
    many_take_a_share_of_the_time();
    what_only_devices_tell_is_timed();
    programs_with_many_of_both_kinds_are_timed_whole();
    all_are_timed_on_request();
}
