// How long kernels are recorded, and how long not, where recording all of them would cost a program too much.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::tracer {

// What was launched in a stretch of the program.
struct Stretch {
    std::uint64_t begin_ns = 0, last_ns = 0;  // the last launch
    std::uint64_t launches = 0, kernels = 0;  // a graph is one launch of many kernels
};

// What one kernel costs that is recorded, at most: 0.7 us in a loop of torch that launches bound, 1.1 us in decoding
// (H100, H200).
inline constexpr std::uint64_t kernel_ns = 1'500;

class WindowPlan {
  public:
    // `share` is what recording may cost of the program's time.
    explicit WindowPlan(double share) : share_(share) {}

    // How long the next window is: all but a few are short, so that there are many of them soon.
    std::uint64_t next_window_ns();
    // Whether so few kernels were launched in this stretch that recording all of them costs less than the share.
    bool is_cheap(const Stretch& stretch, std::uint64_t now_ns) const;
    // How long the program runs unrecorded after a window, before which launches were counted for as long.
    // The window has ended and was closed at these times.
    std::uint64_t pause_ns(const Stretch& counted, const Stretch& open, std::uint64_t end_ns, std::uint64_t closed_ns);

  private:
    double share_;
    std::uint64_t windows_ = 0;
    // The share of the last windows that they cost, by comparison with the stretches before them.
    std::vector<double> lost_;
};

}  // namespace isthmus::tracer
