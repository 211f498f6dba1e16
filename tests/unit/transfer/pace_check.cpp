// Whether a way that others use is told from one that is free, and how seldom it is tried then.
#include "transfer/ways/pace.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using isthmus::Pace;

constexpr std::size_t chunk = std::size_t{8} << 20;
constexpr double alone = 1 / 55e9;
constexpr double most_times = 1.12;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("%s: not so\n", what);
    std::exit(1);
}

// Many chunks, one after the other, that each take so many times as long as alone.
void pass(Pace& pace, int chunks, double times) {
    for (int i = 0; i < chunks; ++i) pace.arrived(chunk, times * alone * chunk, false, most_times);
}

// How many of so many chunks a way takes that may have the next one whenever it asks.
int taken(Pace& pace, int chunks, double times) {
    int count = 0;
    for (int i = 0; i < chunks; ++i) {
        if (!pace.may_take(0)) {
            pace.pass();
            continue;
        }
        ++count;
        pace.arrived(chunk, times * alone * chunk + Pace::idle_latency_seconds, true, most_times);
    }
    return count;
}

void a_free_way_stays_free() {
    Pace pace(alone);
    pass(pace, 1000, 1.03);
    expect(!pace.is_shared(), "what is as fast as alone is nobody else's");
    pass(pace, 1, 2);
    expect(!pace.is_shared(), "one late chunk is no sign");
    expect(taken(pace, 100, 1) == 100, "a free way takes all");
}

void a_shared_way_is_left_alone() {
    Pace halved(alone);
    pass(halved, 4, 2);
    expect(halved.is_shared(), "half the rate is soon seen");
    expect(taken(halved, 1000, 2) < 30, "a shared way takes few");
    // Others that have the link in turns of some milliseconds: most chunks pass at the full rate.
    Pace in_turns(alone);
    for (int turn = 0; turn < 3; ++turn) {
        pass(in_turns, 12, 1);
        pass(in_turns, 1, 12);
    }
    expect(in_turns.is_shared(), "turns are seen, too");
    Pace opposite(alone);
    pass(opposite, 40, 1.2);
    expect(opposite.is_shared(), "a fifth more is others' bytes the other way");
}

void a_way_that_is_free_again_is_used_again() {
    Pace pace(alone);
    pass(pace, 40, 2);
    expect(taken(pace, 400, 1) > 100, "it is found out");
    expect(!pace.is_shared(), "and used as before");
    expect(pace.seconds(chunk) < 1.01 * alone * chunk, "at the rate that it has alone");
}

void a_link_may_be_faster_than_thought() {
    Pace pace(alone);
    pass(pace, 100, 0.5);
    expect(pace.bytes_per_second() > 100e9, "its rate is learned");
    pass(pace, 8, 0.9);
    expect(pace.is_shared(), "and what is slow for it is told by that");
}

}  // namespace

int main() {
    a_free_way_stays_free();
    a_shared_way_is_left_alone();
    a_way_that_is_free_again_is_used_again();
    a_link_may_be_faster_than_thought();
    std::puts("as described");
}
