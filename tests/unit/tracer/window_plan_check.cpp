// A program that launches one kernel after the other, each later by what recording costs: time passes as it says.
#include <algorithm>
#include <cstdlib>

#include "tracer/cuda/window_plan.hpp"

using namespace isthmus::tracer;

#define EXPECT(condition) \
    if (!(condition)) return std::abort()

namespace {

constexpr std::uint64_t microsecond = 1000, millisecond = 1'000'000, second = 1'000'000'000;

struct Program {
    // From one launch to the next, alone and recorded; and what it costs to begin and to cease to record.
    std::uint64_t apart_ns, recorded_ns, kernels_a_launch, begin_ns, cease_ns;
};

struct Traced {
    double windows = 0, slower = 0, recorded = 0;
};

class Run {
  public:
    explicit Run(const Program& program) : program_(program) {}

    // The program gets on for so long, after it was held up.
    Stretch stretch(std::uint64_t lasts, std::uint64_t apart, std::uint64_t held_up = 0) {
        const std::uint64_t launches = lasts > held_up ? (lasts - held_up) / apart : 0;
        const Stretch passed{.begin_ns = now,
                             .end_ns = now + lasts,
                             .launches = launches,
                             .cost_ns = launches * recording_ns(program_.kernels_a_launch)};
        now += lasts;
        lost += static_cast<double>(lasts) - static_cast<double>(launches * program_.apart_ns);
        return passed;
    }

    std::uint64_t now = second;
    double lost = 0;

  private:
    const Program& program_;
};

Traced traced(const Program& program, double share, std::uint64_t lasts) {
    WindowPlan plan(share);
    Traced done;
    Run run(program);
    double open = 0;
    while (run.now < second + lasts) {
        const std::uint64_t window = plan.next_window_ns();
        const Stretch before = run.stretch(WindowPlan::compared_ns, program.apart_ns);
        Stretch recorded = run.stretch(window, program.recorded_ns, program.begin_ns);
        open += static_cast<double>(window);
        while (plan.is_cheap(before) && plan.is_cheap(recorded) && run.now < second + lasts) {
            recorded = run.stretch(window, program.recorded_ns);
            open += static_cast<double>(window);
        }
        const Stretch after = run.stretch(WindowPlan::compared_ns, program.apart_ns, program.cease_ns);
        ++done.windows;
        run.now += plan.pause_ns(before, recorded, after);
    }
    done.slower = run.lost / (static_cast<double>(run.now - second) - run.lost);
    done.recorded = open / static_cast<double>(run.now - second);
    return done;
}

void many_launches_take_a_share() {
    // A loop of torch on an H100 and in a guest with an H200, decoding, and graphs of 300 kernels.
    for (const Program& program :
         {Program{5 * microsecond, 5'700, 1, millisecond / 5, millisecond / 5},
          Program{55 * microsecond, 61 * microsecond, 1, millisecond, millisecond},
          Program{6 * microsecond, 7'200, 1, millisecond, millisecond},
          Program{600 * microsecond, 1014 * microsecond, 300, 7 * millisecond, 7 * millisecond}}) {
        const Traced done = traced(program, 0.03, 40 * second);
        EXPECT(done.slower < 0.035);
        // As many as rules want of a place.
        EXPECT(done.windows >= 20);
    }
}

void what_costs_more_than_foreseen_is_recorded_less() {
    const Traced dear =
        traced({5 * microsecond, 40 * microsecond, 1, 5 * millisecond, 8 * millisecond}, 0.03, 60 * second);
    EXPECT(dear.slower < 0.035 && dear.windows >= 20);
    const Program program{5 * microsecond, 5'700, 1, millisecond / 5, millisecond / 5};
    EXPECT(traced(program, 0.1, 20 * second).recorded > 3 * traced(program, 0.01, 20 * second).recorded);
}

void few_launches_are_all_recorded() {
    const Traced done = traced({300 * microsecond, 305 * microsecond, 1, millisecond, millisecond}, 0.03, 4 * second);
    EXPECT(done.windows == 1 && done.recorded > 0.9);
}

}  // namespace

int main() {
    many_launches_take_a_share();
    what_costs_more_than_foreseen_is_recorded_less();
    few_launches_are_all_recorded();
    return 0;
}
