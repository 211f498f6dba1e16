// How long kernels are recorded, and how long not.
#include "tracer/cuda/window_plan.hpp"

#include <algorithm>

namespace isthmus::tracer {
namespace {

// To open a window and to close it, as with time stamps of copies; and a launch that is counted alone.
constexpr std::uint64_t window_cost_ns = 300'000, count_ns = 400;
// The first windows are shorter; one in so many is longer by a factor, for waits that the others do not hold.
constexpr std::uint64_t short_ns = 3'000'000, usual_ns = 10'000'000, shorter = 32, every = 4, longer = 5;
constexpr std::uint64_t least_pause_ns = 1'000'000, most_pause_ns = 10'000'000'000;
// One comparison is noise, as when the program reads a file meanwhile.
constexpr std::size_t compared = 9;
constexpr std::uint64_t least_launches = 8;

double median(std::vector<double> values) {
    if (values.empty()) return 0.0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

std::uint64_t WindowPlan::next_window_ns() {
    const std::uint64_t usual = windows_ < shorter ? short_ns : usual_ns;
    return ++windows_ % every == 0 ? longer * usual : usual;
}

bool WindowPlan::is_cheap(const Stretch& stretch, std::uint64_t now_ns) const {
    const auto passed = static_cast<double>(now_ns - stretch.begin_ns);
    return static_cast<double>(stretch.kernels * kernel_ns) <= share_ * passed;
}

std::uint64_t WindowPlan::pause_ns(const Stretch& counted, const Stretch& open, std::uint64_t end_ns,
                                   std::uint64_t closed_ns) {
    if (counted.launches >= least_launches) {
        const auto lasted = static_cast<double>(counted.last_ns - counted.begin_ns);
        const double without = lasted / static_cast<double>(counted.launches) * static_cast<double>(open.launches);
        const std::uint64_t until_ns = open.launches >= least_launches ? open.last_ns : end_ns;
        const double within = std::max(static_cast<double>(until_ns - open.begin_ns), 1.0);
        lost_.push_back(1 - without / within);
        if (lost_.size() > compared) lost_.erase(lost_.begin());
    }
    const double lost_ns = median(lost_) * static_cast<double>(end_ns - open.begin_ns);
    const auto foreseen = static_cast<double>(open.kernels * kernel_ns + counted.launches * count_ns);
    // What it takes to close may hold up the program, too.
    const double cost = std::max(foreseen, lost_ns) + static_cast<double>(window_cost_ns + closed_ns - end_ns);
    const double period = cost / share_ - static_cast<double>(closed_ns - counted.begin_ns);
    return static_cast<std::uint64_t>(
        std::clamp(period, static_cast<double>(least_pause_ns), static_cast<double>(most_pause_ns)));
}

}  // namespace isthmus::tracer
