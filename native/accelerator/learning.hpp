// Finds out where the library gains: by place in the program, direction and size.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "accelerator/ledger.hpp"

namespace isthmus::accelerator {

// Of a large copy so much is a sample: enough for the other way to show its rate.
inline constexpr std::size_t most_sampled_bytes = std::size_t{2} << 20;
inline constexpr std::size_t most_sampled_of_links = std::size_t{32} << 20;

class Learning {
  public:
    Learning(Ledger& ledger, std::size_t sample_every) : ledger_(ledger), sample_every_(sample_every) {}

    enum class Turn {
        ours,
        sample,  // by both, each a part of it or in turns, to compare
        driver,  // which was faster
    };
    struct Copy {
        const void* site;
        Way way;
        std::size_t bytes;
    };
    struct Choice {
        std::size_t row;
        Turn turn;
    };
    Choice next(const Copy& copy);

    struct Part {
        std::size_t bytes = 0;
        double seconds = 0;
    };
    // How a copy went; of a sample, both parts of it.
    void saw(std::size_t row, const Part& ours, const Part& driver);

  private:
    // The driver's time by ours, byte for byte, of the latest samples.
    struct State {
        static constexpr std::size_t kept = 5;
        std::array<double, kept> ratios{};
        std::size_t samples = 0, copies = 0, next_sample = 2;
        std::size_t apart = 0;  // copies between samples while the driver is faster
        bool driver_is_faster = false;
        double our_seconds_per_byte = 0;  // of the copy before
    };
    std::size_t row_of(const Copy& copy);
    void learn(State& state, double ratio) const;

    Ledger& ledger_;
    const std::size_t sample_every_;
    std::mutex mutex_;  // guards what follows, and the rows of the ledger
    std::array<State, Ledger::most_rows> states_{};
};

}  // namespace isthmus::accelerator
