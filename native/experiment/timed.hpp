// One timed case: the loop that takes its samples, and what arrived. Python knows every case by this class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "experiment/buffer.hpp"

namespace isthmus::experiment {

// How many samples to take: until `seconds` have passed, but at least `least` and at most `most`.
struct Quota {
    std::size_t least = 1;
    std::size_t most = 1;
    double seconds = 0;

    // Whether one more is due after `taken` since `begin`.
    bool wants_more(std::size_t taken, TimePoint begin) const {
        return taken < most && (taken < least || seconds_between(begin, now()) < seconds);
    }
};

// Seconds by metric, in the order in which they were taken; none where a metric does not apply.
using Samples = std::map<std::string_view, std::vector<double>>;
inline constexpr std::string_view host_seconds = "host_seconds";        // on the host's clock
inline constexpr std::string_view enqueue_seconds = "enqueue_seconds";  // of the call that starts something
inline constexpr std::string_view device_seconds = "device_seconds";    // on the device's clock
// The same by lane, where several lanes run at once.
using LaneSamples = std::vector<std::vector<double>>;

// `sample(samples)` adds one sample of these metrics; it times itself, and nothing here is within its time. Those of
// `warmups` are forgotten once `warmed(samples)` has seen them, then come those of the quota.
template <typename Sample, typename Warmed>
Result<Samples> taken(std::initializer_list<std::string_view> metrics, std::size_t warmups, Quota quota,
                      const Sample& sample, const Warmed& warmed) {
    Samples samples;
    for (const std::string_view metric : metrics) samples[metric].reserve(std::max(warmups, quota.most));
    for (std::size_t i = 0; i < warmups; ++i) ISTHMUS_TRY(sample(samples));
    ISTHMUS_TRY(warmed(samples));
    for (auto& series : samples) series.second.clear();
    const TimePoint begin = now();
    for (std::size_t count = 0; quota.wants_more(count, begin); ++count) ISTHMUS_TRY(sample(samples));
    return samples;
}

template <typename Sample>
Result<Samples> taken(std::initializer_list<std::string_view> metrics, std::size_t warmups, Quota quota,
                      const Sample& sample) {
    return taken(metrics, warmups, quota, sample, [](Samples&) { return Status(); });
}

class Timed {
  public:
    Timed() = default;
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
    virtual ~Timed() = default;

    // Overwrites where data will arrive, so that stale data cannot pass for it.
    virtual Status poison();
    virtual Result<Samples> run(std::size_t warmups, Quota quota) = 0;
    // What differs from what had to arrive, lane by lane; first_word counts from the start of the lane.
    virtual Result<std::vector<Mismatch>> verify();
    // The last run, by lane. Empty where there is one lane.
    const LaneSamples& lanes() const { return lane_samples_; }

  protected:
    // Where data arrives, and the pattern that it has then.
    struct Arrival {
        std::shared_ptr<Buffer> buffer;
        std::size_t offset = 0, bytes = 0;
        std::uint64_t seed = 0;
        Side side = Side::host;  // of managed memory: where its pages are
    };
    // For `taken`: warm-ups of the lanes are forgotten, too.
    auto forgets_lanes() {
        return [this](Samples&) {
            for (auto& series : lane_samples_) series.clear();
            return Status();
        };
    }

    std::vector<Arrival> arrivals_;
    LaneSamples lane_samples_;
};

// One of several copies that run at once. At least one side is device memory.
struct Lane {
    std::string name;  // for messages, such as h2d, or cuda:0 to cuda:1
    std::shared_ptr<Buffer> source, destination;
    std::uint64_t seed = 0;  // the source holds the pattern of this seed
};

}  // namespace isthmus::experiment
