// A program that launches one kernel after the other, each later by what recording costs: time passes as it says.
#include <cstdlib>

#include "tracer/cuda/window_plan.hpp"

using namespace isthmus::tracer;

#define EXPECT(condition) \
    if (!(condition)) return std::abort()

namespace {

constexpr std::uint64_t microsecond = 1000, millisecond = 1'000'000, second = 1'000'000'000;

struct Program {
    // From one launch to the next, alone and recorded; and what it costs to open a window and to close it.
    std::uint64_t apart_ns, recorded_ns, kernels_a_launch, switching_ns;
};

struct Traced {
    double windows = 0, slower = 0, recorded = 0;
};

Stretch stretch(const Program& program, std::uint64_t now, std::uint64_t lasts, std::uint64_t apart,
                std::uint64_t idle) {
    const std::uint64_t launches = lasts > idle ? (lasts - idle) / apart : 0;
    return {.begin_ns = now,
            .last_ns = launches > 0 ? now + idle + launches * apart : now,
            .launches = launches,
            .kernels = launches * program.kernels_a_launch};
}

Traced traced(const Program& program, double share, std::uint64_t lasts) {
    WindowPlan plan(share);
    Traced done;
    std::uint64_t now = second, pause = 0;
    double lost = 0, open = 0;
    while (now < second + lasts) {
        now += pause;
        const std::uint64_t window = plan.next_window_ns();
        const Stretch counted = stretch(program, now, window, program.apart_ns, 0);
        now += window;
        Stretch recorded;
        std::uint64_t switching = program.switching_ns;
        bool goes_on = plan.is_cheap(counted, now);
        do {
            recorded = stretch(program, now, window, program.recorded_ns, switching);
            switching = 0;
            now += window;
            lost += static_cast<double>(window) - static_cast<double>(recorded.launches * program.apart_ns);
            open += static_cast<double>(window);
            goes_on = goes_on && plan.is_cheap(recorded, now);
        } while (goes_on && now < second + lasts);
        ++done.windows;
        pause = plan.pause_ns(counted, recorded, now, now);
    }
    done.slower = lost / (static_cast<double>(now - second) - lost);
    done.recorded = open / static_cast<double>(now - second);
    return done;
}

void many_launches_take_a_share() {
    // A loop of torch, decoding, and graphs of 300 kernels, with a window that costs what was seen of copies.
    for (const Program& program :
         {Program{5 * microsecond, 5'700, 1, 300 * microsecond}, Program{6 * microsecond, 7'200, 1, 300 * microsecond},
          Program{600 * microsecond, 830 * microsecond, 300, 300 * microsecond}}) {
        const Traced done = traced(program, 0.03, 4 * second);
        EXPECT(done.slower < 0.03);
        // As many as rules want of a place.
        EXPECT(done.windows >= 20);
    }
}

void what_costs_more_than_foreseen_is_recorded_less() {
    const Traced dear = traced({5 * microsecond, 40 * microsecond, 1, 5 * millisecond}, 0.03, 60 * second);
    EXPECT(dear.slower < 0.05 && dear.windows >= 20);
    const Traced wide = traced({5 * microsecond, 5'700, 1, 300 * microsecond}, 0.3, 4 * second);
    const Traced narrow = traced({5 * microsecond, 5'700, 1, 300 * microsecond}, 0.01, 4 * second);
    EXPECT(wide.recorded > 3 * narrow.recorded);
}

void few_launches_are_all_recorded() {
    const Traced done = traced({100 * microsecond, 101 * microsecond, 1, 300 * microsecond}, 0.03, 4 * second);
    EXPECT(done.windows == 1 && done.recorded > 0.99);
}

}  // namespace

int main() {
    many_launches_take_a_share();
    what_costs_more_than_foreseen_is_recorded_less();
    few_launches_are_all_recorded();
    return 0;
}
