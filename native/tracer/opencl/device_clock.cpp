// Times of a device on the clock of the trace.
#include "tracer/opencl/device_clock.hpp"

#include <algorithm>
#include <numeric>

#include "tracer/opencl/originals.hpp"
#include "tracer/part.hpp"

namespace isthmus::tracer {
namespace {

// Clocks of devices drift by some microseconds in a second.
constexpr std::uint64_t read_again_ns = 1'000'000'000;
// A timer that is further off than this from what commands say is not the clock that their times are of.
constexpr std::int64_t most_contradiction_ns = 1'000'000;

std::int64_t between(std::uint64_t host_ns, std::uint64_t device_ns) {
    return static_cast<std::int64_t>(host_ns - device_ns);
}

}  // namespace

void DeviceClock::narrow(std::int64_t least_ns, std::int64_t most_ns) {
    least_ns_ = std::max(least_ns_, least_ns);
    most_ns_ = std::min(most_ns_, most_ns);
    if (least_ns_ <= most_ns_) return;
    // The clocks have drifted: what was seen last counts.
    least_ns_ = least_ns;
    most_ns_ = std::max(least_ns, most_ns);
}

void DeviceClock::read_timer(std::uint64_t now_ns) {
    if (read_at_ns_ != 0 && now_ns - read_at_ns_ < read_again_ns) return;
    std::uint64_t device_ns = 0, host_ns = 0;
    const std::uint64_t before_ns = monotonic_ns();
    const auto& ask = originals().clGetDeviceAndHostTimer;
    has_timer_ = ask && ask(device_, &device_ns, &host_ns) == opencl::success && device_ns != 0;
    if (!has_timer_) return;
    read_at_ns_ = before_ns;
    least_ns_ = between(before_ns, device_ns);
    most_ns_ = between(monotonic_ns(), device_ns);
}

Interval DeviceClock::on_trace_clock(const DeviceTimes& device, const HostTimes& host) {
    const std::lock_guard lock(mutex_);
    // It was queued within its call, and was seen to end after it had.
    const bool queued = device.queued_ns != 0 && device.queued_ns <= device.start_ns;
    const std::int64_t least_ns = between(host.call_start_ns, queued ? device.queued_ns : device.start_ns);
    std::int64_t most_ns = between(host.seen_ns, device.end_ns);
    if (queued) most_ns = std::min(most_ns, between(host.call_end_ns, device.queued_ns));
    if (has_timer_) read_timer(host.seen_ns);
    if (has_timer_ && (least_ns_ > most_ns + most_contradiction_ns || most_ns_ < least_ns - most_contradiction_ns)) {
        has_timer_ = false;
        least_ns_ = least_ns;
        most_ns_ = std::max(least_ns, most_ns);
    }
    if (!has_timer_) narrow(least_ns, most_ns);
    const auto offset = static_cast<std::uint64_t>(std::midpoint(least_ns_, most_ns_));
    // Both ends move by what is left of the clocks' difference, so that the command lasts as long as the device says.
    std::uint64_t start_ns = device.start_ns + offset;
    const std::uint64_t lasted_ns = std::max(device.end_ns, device.start_ns) - device.start_ns;
    if (start_ns + lasted_ns > host.seen_ns) start_ns = host.seen_ns - lasted_ns;
    start_ns = std::max(start_ns, host.call_start_ns);
    return {start_ns, std::max(start_ns, std::min(start_ns + lasted_ns, host.seen_ns))};
}

}  // namespace isthmus::tracer
