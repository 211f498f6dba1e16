// How fast one way moves chunks, as it was seen, and whether others use it at this time.
#pragma once

#include <algorithm>
#include <cstddef>

namespace isthmus {

// A way that others use is left to them but for a chunk now and then, which shows when it is free again.
class Pace {
  public:
    // What the way takes for a byte while nobody else uses it.
    explicit Pace(double seconds_per_byte) : alone_(seconds_per_byte), expected_(seconds_per_byte) {}

    // A chunk has arrived so long after the one before it; or after it was sent, if nothing was under way then.
    void arrived(std::size_t bytes, double seconds, bool was_idle) {
        const double each = seconds / static_cast<double>(bytes);
        expected_ += (std::max(each, alone_ / 4) - expected_) / 4;
        const double latency = was_idle ? idle_latency_seconds : latency_seconds;
        if (seconds <= most_times * alone_ * static_cast<double>(bytes) + latency) {
            late_ = 0;
            pause_ = 0;
        } else if (++late_ >= least_late) {
            pause_ = std::clamp(2 * pause_, least_pause, most_pause);
            passed_ = 0;
            late_ = least_late;
        }
    }
    // What so many bytes take from now on, with nothing under way.
    double seconds(std::size_t bytes) const { return expected_ * static_cast<double>(bytes); }
    double bytes_per_second() const { return 1 / expected_; }
    bool is_shared() const { return pause_ != 0; }
    // Another way took a chunk.
    void pass() { passed_ += passed_ < most_pause ? 1 : 0; }
    // Whether the way may take a chunk, with `under_way` chunks on it.
    bool may_take(std::size_t under_way) const { return !is_shared() || (under_way == 0 && passed_ >= pause_); }

    // What a chunk takes beside its bytes: the second of its two hops, the driver, and whoever looks for it.
    static constexpr double idle_latency_seconds = 40e-6;

  private:
    static constexpr double latency_seconds = 6e-6;
    // A link that carries others' bytes the other way is slower by more than this.
    static constexpr double most_times = 1.2;
    static constexpr std::size_t least_late = 3;  // one after the other
    static constexpr std::size_t least_pause = 8, most_pause = 64;

    double alone_, expected_;
    std::size_t late_ = 0, pause_ = 0, passed_ = 0;
};

}  // namespace isthmus
