// How fast one link moves chunks, as measured, and whether others use it at this time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/clock.hpp"

namespace isthmus {

// A link that others use is left to them, and looked at now and then, which shows when it is free again. Others may
// have it in turns of milliseconds, between which chunks pass at the full rate: what counts is the mean of many. A link
// that is free whenever it is looked at was late because of its own load, with the other links' at the host's memory:
// so much is allowed from then on.
class Pace {
  public:
    // What the link takes for a byte while nothing else uses it.
    explicit Pace(double seconds_per_byte)
        : alone_(seconds_per_byte), mean_(seconds_per_byte), recent_(seconds_per_byte) {}

    // A chunk has arrived so long after the one before it; or after it was sent, if nothing was in flight then.
    // What takes more than `most_times` as long as alone is others' doing: packing threads take the host's memory from
    // chunks, so that copies of pageable memory allow for more; and where that memory is the limit of all links, the
    // own link is late, too.
    void arrived(std::size_t bytes, double seconds, bool was_idle, double most_times) {
        double each = seconds / static_cast<double>(bytes);
        // What a lone chunk takes next to its bytes differs from machine to machine: it says that a link is slow, never
        // that it is fast.
        if (was_idle) each = std::max(alone_, each - idle_latency_seconds / static_cast<double>(bytes));
        // A part that was queued counts as the chunks that it is made of, up to what one late part may say.
        const double chunks = std::clamp(static_cast<double>(bytes) / usual_chunk_bytes, 1.0, averaged / 2);
        recent_ +=
            (1 - std::pow(1 - 1 / averaged_recently, chunks)) * (std::min(each, most_counted * alone_) - recent_);
        if (is_shared()) return;
        const double weight = 1 - std::pow(1 - 1 / averaged, chunks);
        mean_ += weight * (std::min(each, most_counted * alone_) - mean_);
        late_ += weight * (std::min(each / alone_, most_counted) / (most_times * allowed_) - late_);
        if (late_ > 1) {
            // The mean has just begun to show it.
            suspected_ = std::min(1.1 * lateness(), most_allowed);
            pause_ = first_pause;
            passed_ = 0;
        }
        learn(bytes, seconds, was_idle);
    }
    // The same of a chunk that was sent then and arrives now.
    void arrives(std::size_t bytes, TimePoint sent, bool was_idle, double most_times) {
        const TimePoint at = now();
        const TimePoint begin = was_idle ? sent : std::max(sent, last_arrival_);
        arrived(bytes, seconds_between(begin, at), was_idle, most_times);
        last_arrival_ = at;
    }
    // What so many bytes take from now on, with nothing in flight.
    double seconds(std::size_t bytes) const { return std::max(mean_, alone_) * static_cast<double>(bytes); }
    double bytes_per_second() const { return 1 / std::max(mean_, alone_); }
    bool is_shared() const { return pause_ != 0; }
    // How many times as long as alone chunks take, at least 1.
    double lateness() const { return std::max(mean_ / alone_, 1.0); }
    // The same, where the last few chunks were later than the mean of many shows yet.
    double latest() const { return std::max(recent_ / alone_, lateness()); }
    // Another link took so many chunks.
    void pass(std::size_t chunks = 1) { passed_ = std::min(passed_ + chunks, most_pause); }
    // Whether it was left to others for so long that it is to be looked at.
    bool is_due() const { return is_shared() && passed_ >= pause_; }
    // It was, and found free or not. After a look at which it was not it is looked at four times as seldom, and twice
    // as often after one at which it was: several of these in a row, at moments that are far apart, are hardly chance.
    void looked(bool is_free) {
        passed_ = 0;
        pause_ = is_free ? pause_ / 2 : std::min(4 * pause_, most_pause);
        if (!is_free) allowed_ = suspected_ = 1;
        if (pause_ != 0) return;
        allowed_ = std::max(allowed_, suspected_);
        // How late it will be is learned anew: one stall may have made it look far later than any load does.
        mean_ = std::min(allowed_, usual_load) * alone_;
        late_ = usually_late;
    }
    // What so many bytes take while nothing else uses the link.
    double seconds_alone(std::size_t bytes) const { return alone_ * static_cast<double>(bytes); }

    // What a chunk takes next to its bytes: the second of its two hops, the driver, and the caller that looks for it.
    static constexpr double idle_latency_seconds = 40e-6;

  private:
    // Links are not all as fast as thought. That a chunk was seen late makes the next one look quick, so that it takes
    // many bytes in a row, with nothing between them, to say so.
    void learn(std::size_t bytes, double seconds, bool was_idle) {
        if (was_idle && bytes < learned_from_bytes) return forget_row();
        row_bytes_ += bytes;
        row_seconds_ += seconds;
        if (row_bytes_ < learned_from_bytes) return;
        alone_ = std::min(alone_, row_seconds_ / static_cast<double>(row_bytes_));
        forget_row();
    }
    void forget_row() {
        row_bytes_ = 0;
        row_seconds_ = 0;
    }
    static constexpr double averaged = 16, averaged_recently = 3, most_counted = 16, usual_chunk_bytes = 8 << 20;
    // The share of what is allowed, with nothing else on the link.
    static constexpr double usually_late = 0.9;
    static constexpr std::size_t first_pause = 4, most_pause = 64;
    static constexpr double most_allowed = 3, usual_load = 1.6;
    static constexpr std::size_t learned_from_bytes = std::size_t{128} << 20;

    double alone_, mean_, recent_, late_ = usually_late;
    double allowed_ = 1, suspected_ = 1;  // times as late as `most_times` says, and when it was last left to others
    TimePoint last_arrival_{};
    std::size_t row_bytes_ = 0;
    double row_seconds_ = 0;
    std::size_t pause_ = 0, passed_ = 0;
};

}  // namespace isthmus
