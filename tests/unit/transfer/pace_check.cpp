// Whether a way that others use is told from one that is free, and how seldom it is tried then.
#include "transfer/links/pace.hpp"

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

// How many of so many chunks a link takes that may have the next one whenever it asks, and that is found free or not
// when it is looked at.
int taken(Pace& pace, int chunks, double times) {
    int count = 0;
    for (int i = 0; i < chunks; ++i) {
        if (pace.is_shared()) {
            pace.pass();
            if (pace.is_due()) pace.looked(times <= most_times);
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

// Nothing of this says that the link is faster than it is: chunks alone whose latency is less than thought, some so
// small that it is most of their time, and ones that look quick since the one before them was seen late.
void what_looks_fast_teaches_nothing() {
    for (const std::size_t bytes : {chunk, chunk / 8, chunk / 64}) {
        Pace pace(alone);
        for (int i = 0; i < 1000; ++i) pace.arrived(bytes, alone * bytes + 10e-6, true, most_times);
        pass(pace, 100, 1.02);
        expect(!pace.is_shared(), "lone chunks do not make its usual rate look slow");
    }
    Pace pace(alone);
    for (int i = 0; i < 1000; ++i) {
        pace.arrived(chunk, 1.8 * alone * chunk, true, most_times);
        pass(pace, 1, 0.2);
    }
    if (!pace.is_shared()) pass(pace, 100, 1.02);
    expect(taken(pace, 400, 1) > 200, "nor those behind ones that were seen late");
}

// Chunks that packing threads slow down are no sign to a copy that comes later and has no such threads.
void each_kind_of_copy_has_its_own_measure() {
    Pace pace(alone);
    for (int i = 0; i < 200; ++i) pace.arrived(chunk, 1.5 * alone * chunk, false, 1.6);
    expect(!pace.is_shared(), "threads may take so much");
    pass(pace, 100, 1.02);
    expect(!pace.is_shared(), "what came before is not held against what comes now");
    expect(pace.seconds(chunk) < 1.05 * alone * chunk, "nor is its rate");
    pass(pace, 20, 1.4);
    expect(pace.is_shared(), "others are still seen");
}

// One long part is as many chunks.
void long_parts_tell_at_once() {
    Pace pace(alone);
    for (int i = 0; i < 2; ++i) pace.arrived(32 * chunk, 2 * alone * 32 * chunk, true, most_times);
    expect(pace.is_shared(), "two parts of half the rate are enough");
    int copies = 0;
    for (; pace.is_shared() && copies < 100; ++copies) {
        pace.pass(64);
        if (pace.is_due()) pace.looked(true);
    }
    expect(copies < 20, "and as many passes bring it back");
}

// Late because of all links' load on the host's memory, and found free whenever it is looked at.
void own_load_is_allowed_for() {
    Pace pace(alone);
    pass(pace, 40, 1.6);
    expect(pace.is_shared(), "at first it could be others");
    for (int i = 0; i < 3; ++i) {
        expect(taken(pace, 20, 1) > 5, "it is free, and used again");
        pass(pace, 40, 1.6);
    }
    expect(!pace.is_shared(), "as late as before");
    pass(pace, 40, 3.5);
    expect(pace.is_shared(), "others are seen next to that");
    expect(taken(pace, 1000, 2) < 30, "and left their link");
    taken(pace, 1000, 1);
    pass(pace, 4, 2);
    expect(pace.is_shared(), "what was late while others used it is not allowed for");
}

// Several links begin at once, all as late as the host's memory makes them: a neighbour's is not others' for that.
void what_begins_late_together_is_nobody_elses() {
    Pace own(alone), neighbour(alone);
    for (int i = 0; i < 40; ++i) {
        own.arrived(chunk, 1.57 * alone * chunk, false, 1e9);
        neighbour.arrived(chunk, 1.57 * alone * chunk, false, most_times * own.latest());
        expect(!neighbour.is_shared(), "from the first chunk on");
    }
}

// A stall of one long part leaves the link to others; found free, it carries its part again at once.
void one_stall_is_soon_forgotten() {
    Pace pace(alone);
    pace.arrived(32 * chunk, 16 * alone * 32 * chunk, false, most_times);
    expect(pace.is_shared(), "it could be others");
    for (int looks = 0; pace.is_shared() && looks < 10; ++looks) {
        pace.pass(64);
        pace.looked(true);
    }
    expect(!pace.is_shared(), "it is free");
    expect(pace.bytes_per_second() > 0.6 / alone, "and given more than half of what it carries alone");
}

// A part of a copy that was queued is told as one: it is long enough to learn from.
void a_long_part_is_learned_from() {
    Pace pace(alone);
    for (int i = 0; i < 100; ++i) pace.arrived(64 * chunk, 0.5 * alone * 64 * chunk, true, most_times);
    expect(pace.bytes_per_second() > 90e9, "a long part teaches");
}

}  // namespace

int main() {
    a_free_way_stays_free();
    a_shared_way_is_left_alone();
    a_way_that_is_free_again_is_used_again();
    a_link_may_be_faster_than_thought();
    what_looks_fast_teaches_nothing();
    each_kind_of_copy_has_its_own_measure();
    long_parts_tell_at_once();
    own_load_is_allowed_for();
    a_long_part_is_learned_from();
    what_begins_late_together_is_nobody_elses();
    one_stall_is_soon_forgotten();
    std::puts("as described");
}
