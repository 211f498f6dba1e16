// Which copies devices time. Their time stamps cost a program 1 to 2 us a copy: nothing where copies are few, and a
// third of its time where small ones come one right after the other. There only some are timed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "driver/cupti_api.hpp"
#include "trace/format.hpp"
#include "tracer/cuda/budget.hpp"

namespace isthmus::tracer {

class CopyTiming {
  public:
    // A stretch of the program in which all copies are timed, or, where its number is odd, none is.
    using Period = std::uint32_t;

    // `all`: every copy, whatever that costs.
    CopyTiming(const cupti::Api& api, bool all, std::uint64_t now_ns);

    // The clock that all moments are on; before the first copy.
    void start_clock(std::uint64_t now_ns) { budget_.begin(now_ns); }
    // Before a copy whose call tells all but its times.
    Period begin(std::uint64_t now_ns);
    // Around a call of which only the device can tell what it copies: time stamps stay on. A program with many of both
    // kinds is timed whole.
    void begin_timed();
    void end_timed() { needed_.fetch_sub(1); }
    // From now on every copy: what is captured into a graph is called once, and copied often or never.
    void time_all();
    // What became of a copy that began in this period.
    trace::Timing since(Period period) const {
        if (period_.load(std::memory_order_acquire) != period) return trace::Timing::maybe;
        return period % 2 == 0 ? trace::Timing::timed : trace::Timing::none;
    }

  private:
    // With `turning_` held.
    Period turn(bool on);

    const cupti::Api& api_;
    std::atomic<bool> all_;
    Budget budget_;
    std::atomic<Period> period_ = 0;
    std::atomic<int> needed_ = 0, turned_on_for_one_ = 0;
    std::mutex turning_;
};

}  // namespace isthmus::tracer
