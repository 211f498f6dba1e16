// How long kernels are recorded, and how long not, where recording all of them would cost a program too much.
#pragma once

#include <cstdint>

namespace isthmus::tracer {

// What was launched in a stretch of the program, and what recording that costs.
struct Stretch {
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t launches = 0;  // a graph is one
    std::uint64_t cost_ns = 0;
};

// What recording so many kernels of one launch costs: up to 5.4 us of a kernel by itself (torch in a guest with an
// H200; 0.3 to 0.7 on an H100), and 1.4 us of each of 300 in a graph (H200).
constexpr std::uint64_t recording_ns(std::uint64_t kernels) {
    return kernels <= 1 ? 5'000 : 1'500 * kernels;
}

class WindowPlan {
  public:
    // `share` is what recording may cost of the program's time.
    explicit WindowPlan(double share) : share_(share) {}

    // How long the next window is: all but a few are short, so that there are many of them soon.
    std::uint64_t next_window_ns();
    // How long launches are counted before and after each window. To begin and to cease to record cost 15 ms in a
    // program that launches graphs (H200), some of it when the window is over.
    static constexpr std::uint64_t compared_ns = 10'000'000;
    // Whether so little is launched in this stretch that recording all of it costs less than the share.
    bool is_cheap(const Stretch& stretch) const;
    // How long the program runs unrecorded after a window, the stretch before it and that after it.
    std::uint64_t pause_ns(const Stretch& before, const Stretch& open, const Stretch& after);

  private:
    double share_;
    std::uint64_t windows_ = 0, began_ns_ = 0;
    // What all windows cost: as foreseen, and by comparison of each with the stretch before it. What is noise in one of
    // these is none in the sum.
    double foreseen_ns_ = 0, lost_ns_ = 0;
};

}  // namespace isthmus::tracer
