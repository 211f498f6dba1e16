// Times of a device on the clock of the trace.
//
// OpenCL says when a command was queued, began and ended on a clock of the device's own. How far apart the two clocks
// are lies between bounds, which every pair of times that belong together narrows.
#pragma once

#include <cstdint>
#include <mutex>

#include "driver/opencl_api.hpp"

namespace isthmus::tracer {

// Of one command. On the device's clock:
struct DeviceTimes {
    std::uint64_t queued_ns, start_ns, end_ns;
};
// On the trace's: when its call began and ended, and when it was seen to be complete.
struct HostTimes {
    std::uint64_t call_start_ns, call_end_ns, seen_ns;
};
struct Interval {
    std::uint64_t start_ns, end_ns;
};

class DeviceClock {
  public:
    explicit DeviceClock(opencl::Device device) : device_(device) {}

    // When a command ran: never before its call began nor after it was seen to be complete.
    Interval on_trace_clock(const DeviceTimes& device, const HostTimes& host);

  private:
    void read_timer(std::uint64_t now_ns);
    void narrow(std::int64_t least_ns, std::int64_t most_ns);

    opencl::Device device_;
    std::mutex mutex_;
    // What is to be added to the device's time.
    std::int64_t least_ns_ = INT64_MIN, most_ns_ = INT64_MAX;
    // When both clocks were last read together; where the device cannot, its commands' own times have to do.
    std::uint64_t read_at_ns_ = 0;
    bool has_timer_ = true;
};

}  // namespace isthmus::tracer
