// Finds out where the library gains: by place in the program, direction and size.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <string>

#include "accelerator/ledger.hpp"

namespace isthmus::accelerator {

// The largest sample of a large copy: enough to show the driver's rate.
inline constexpr std::size_t most_sampled_bytes = std::size_t{2} << 20;
inline constexpr std::size_t most_sampled_of_links = std::size_t{32} << 20;

// A sample ends soon, however slow the driver is: it is copied in parts, of which the first is short and each other one
// is made only if it ends in time at the rate of the one before.
class SampleParts {
  public:
    static constexpr double most_seconds = 5e-3;

    explicit SampleParts(std::size_t most_bytes) : most_bytes_(most_bytes) {}
    // How large the next part is; 0 where that was enough.
    std::size_t next() const;
    void add(std::size_t bytes, double seconds);

    std::size_t bytes() const { return bytes_; }
    double seconds() const { return seconds_; }
    // By the last part, which is the largest, so that the cost of the call is the least share of its time.
    double seconds_per_byte() const { return seconds_per_byte_; }

  private:
    std::size_t most_bytes_;
    std::size_t bytes_ = 0, last_bytes_ = 0;
    double seconds_ = 0, seconds_per_byte_ = 0;
};
// A sample that cannot be divided is made if it takes no longer than this, as far as is known.
inline constexpr double most_whole_seconds = 0.1;

class Learning {
  public:
    Learning(Ledger& ledger, std::size_t sample_every) : ledger_(ledger), sample_every_(sample_every) {}

    enum class Maker {
        ours,
        sample,  // both copy a part of it, to compare
        driver,  // which was faster
    };
    struct Copy {
        const void* site;
        Way way;
        std::size_t bytes;
    };
    struct Choice {
        std::size_t row;
        Maker maker;
    };
    Choice next(const Copy& copy);

    struct Part {
        std::size_t bytes = 0;
        double seconds = 0;
    };
    // Why nothing is to be learned: the first failure is kept.
    void keep(const std::string& why) { ledger_.keep(why); }
    // The times of a copy. For a sample: of both parts, and the driver's seconds per byte, if not its part's mean.
    void record(std::size_t row, const Part& ours, const Part& driver, double driver_seconds_per_byte = 0);
    // In the latest sample; 0 if there was none.
    double driver_seconds_per_byte(Way way) const;

  private:
    // The driver's seconds per byte over ours, in the latest samples.
    struct State {
        static constexpr std::size_t kept = 5;
        std::array<double, kept> ratios{};
        std::size_t samples = 0, copies = 0, next_sample = 2;
        std::size_t apart = 0;  // copies between samples while the driver is faster, or slower by far
        bool driver_is_faster = false;
        double our_seconds_per_byte = 0;  // of the copy before
    };
    std::size_t row_of(const Copy& copy);
    void learn(State& state, double ratio) const;

    Ledger& ledger_;
    const std::size_t sample_every_;
    mutable std::mutex mutex_;  // guards what follows, and the rows of the ledger
    std::array<State, Ledger::most_rows> states_{};
    std::array<double, static_cast<std::size_t>(Way::count)> driver_seconds_per_byte_{};
};

}  // namespace isthmus::accelerator
