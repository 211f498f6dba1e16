// How long kernels are recorded, and how long not.
#include "tracer/cuda/window_plan.hpp"

#include <algorithm>

namespace isthmus::tracer {
namespace {

// To open a window and to close it, as with time stamps of copies, at least; and a launch that is counted alone.
constexpr std::uint64_t window_cost_ns = 300'000, count_ns = 400;
// The first windows are shorter; one in so many is longer by a factor, for waits that the others do not hold.
constexpr std::uint64_t short_ns = 8'000'000, usual_ns = 20'000'000, shorter = 32, every = 4, longer = 5;
constexpr double least_pause_ns = 1e6, most_pause_ns = 10e9;
constexpr std::uint64_t least_launches = 8;

double lasted_ns(const Stretch& stretch) {
    return static_cast<double>(stretch.end_ns - stretch.begin_ns);
}

// The time in which nothing more was launched than before the window.
double lost_ns(const Stretch& before, const Stretch& stretch) {
    const double apart = lasted_ns(before) / static_cast<double>(before.launches);
    return lasted_ns(stretch) - apart * static_cast<double>(stretch.launches);
}

}  // namespace

std::uint64_t WindowPlan::next_window_ns() {
    const std::uint64_t usual = windows_ < shorter ? short_ns : usual_ns;
    return ++windows_ % every == 0 ? longer * usual : usual;
}

bool WindowPlan::is_cheap(const Stretch& stretch) const {
    return static_cast<double>(stretch.cost_ns) <= share_ * lasted_ns(stretch);
}

std::uint64_t WindowPlan::pause_ns(const Stretch& before, const Stretch& open, const Stretch& after) {
    if (began_ns_ == 0) began_ns_ = before.begin_ns;
    foreseen_ns_ += static_cast<double>(window_cost_ns + open.cost_ns + (before.launches + after.launches) * count_ns);
    // A program that launches little loses nothing.
    if (before.launches >= least_launches) lost_ns_ += lost_ns(before, open) + lost_ns(before, after);
    const double due = std::max(foreseen_ns_, lost_ns_) / share_;
    const double pause = due - static_cast<double>(after.end_ns - began_ns_);
    // What is earned while there is nothing to record cannot be saved for later.
    if (pause < 0) began_ns_ = after.end_ns - static_cast<std::uint64_t>(due);
    return static_cast<std::uint64_t>(std::clamp(pause, least_pause_ns, most_pause_ns));
}

}  // namespace isthmus::tracer
