// What recording may cost: a share of the time that passes.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus::tracer {

class Budget {
  public:
    // `share` of the time from now on, and so much at once, as at the beginning.
    Budget(double share, std::uint64_t most_ns, std::uint64_t now_ns)
        : share_(share), most_ns_(most_ns), began_ns_(now_ns) {}

    // Nothing was spent yet: the clock is another one.
    void begin(std::uint64_t now_ns) { began_ns_ = now_ns; }

    void spend(std::uint64_t cost_ns) { spent_ns_.fetch_add(cost_ns, std::memory_order_relaxed); }

    // Whether this much can be spent by now.
    bool affords(std::uint64_t now_ns, std::uint64_t cost_ns) {
        const auto passed = static_cast<std::uint64_t>(share_ * static_cast<double>(now_ns - began_ns_));
        const std::uint64_t earned = most_ns_ + passed;
        std::uint64_t spent = spent_ns_.load(std::memory_order_relaxed);
        // What is earned while there is nothing to record cannot be saved for later.
        if (spent + most_ns_ < earned) {
            spent_ns_.compare_exchange_strong(spent, earned - most_ns_, std::memory_order_relaxed);
            return true;
        }
        return spent + cost_ns <= earned;
    }

  private:
    double share_;
    std::uint64_t most_ns_, began_ns_;
    std::atomic<std::uint64_t> spent_ns_ = 0;
};

}  // namespace isthmus::tracer
