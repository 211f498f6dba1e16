// Finds out where the library gains: by place in the program, direction and size.
#include "accelerator/learning.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::accelerator {
namespace {

// Each of the first few copies after the very first, which finds nothing in place, is a sample.
constexpr std::size_t first_samples = 3;
// Between these the one that was faster before stays so: they differ by less than copies vary.
constexpr double driver_from = 0.97, ours_from = 1.03;
constexpr std::size_t most_apart = 1024;
// A driver that takes so many times as long is looked at ever more seldom: it will not be faster soon.
constexpr double hopeless_from = 16;
// The first part of a sample, and how many times as large the next one may be.
constexpr std::size_t first_part_bytes = std::size_t{64} << 10, growth = 8;

}  // namespace

std::size_t SampleParts::next() const {
    const std::size_t left = most_bytes_ - bytes_;
    if (last_bytes_ == 0) return std::min(first_part_bytes, left);
    // What is left after this one is too short to say anything.
    const std::size_t bytes = left <= 2 * growth * last_bytes_ ? left : growth * last_bytes_;
    return seconds_ + static_cast<double>(bytes) * seconds_per_byte_ <= most_seconds ? bytes : 0;
}

void SampleParts::add(std::size_t bytes, double seconds) {
    last_bytes_ = bytes;
    bytes_ += bytes;
    seconds_ += seconds;
    seconds_per_byte_ = seconds / static_cast<double>(bytes);
}

std::size_t Learning::row_of(const Copy& copy) {
    const auto site = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(copy.site));
    const auto power = static_cast<std::uint32_t>(std::bit_width(copy.bytes) - 1);
    for (std::size_t i = 0; i < ledger_.rows; ++i) {
        const Ledger::Row& row = ledger_.row[i];
        if (row.site == site && row.way == copy.way && row.power == power) return i;
    }
    // A program with more of them has the last row for all others.
    if (ledger_.rows == Ledger::most_rows) return Ledger::most_rows - 1;
    Ledger::Row& made = ledger_.row[ledger_.rows];
    made.site = site;
    made.way = copy.way;
    made.power = power;
    return ledger_.rows++;
}

Learning::Choice Learning::next(const Copy& copy) {
    const std::lock_guard lock(mutex_);
    const std::size_t row = row_of(copy);
    State& state = states_[row];
    if (++state.copies >= state.next_sample) {
        // Should this one tell nothing, the next will.
        state.next_sample = state.copies + 1;
        return {row, Maker::sample};
    }
    return {row, state.driver_is_faster ? Maker::driver : Maker::ours};
}

double Learning::driver_seconds_per_byte(Way way) const {
    const std::lock_guard lock(mutex_);
    return driver_seconds_per_byte_[static_cast<std::size_t>(way)];
}

void Learning::record(std::size_t row, const Part& ours, const Part& driver, double driver_seconds_per_byte) {
    const std::lock_guard lock(mutex_);
    Ledger::Row& counts = ledger_.row[row];
    State& state = states_[row];
    if (ours.bytes != 0) {
        ++counts.copies;
        counts.bytes += ours.bytes;
        counts.seconds += ours.seconds;
        state.our_seconds_per_byte = ours.seconds / static_cast<double>(ours.bytes);
    }
    if (driver.bytes == 0) return;
    ++counts.samples;
    counts.sampled_bytes += driver.bytes;
    counts.sampled_seconds += driver.seconds;
    if (driver_seconds_per_byte == 0) driver_seconds_per_byte = driver.seconds / static_cast<double>(driver.bytes);
    driver_seconds_per_byte_[static_cast<std::size_t>(counts.way)] = driver_seconds_per_byte;
    if (state.our_seconds_per_byte > 0) learn(state, driver_seconds_per_byte / state.our_seconds_per_byte);
}

void Learning::learn(State& state, double ratio) const {
    state.ratios[state.samples++ % State::kept] = ratio;
    if (state.samples < first_samples) return;
    const std::size_t count = std::min(state.samples, State::kept);
    std::array<double, State::kept> sorted = state.ratios;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
    const double middle = sorted[count / 2];
    if (middle < driver_from) state.driver_is_faster = true;
    if (middle > ours_from) state.driver_is_faster = false;
    // Where nothing is gained, looking again costs something each time.
    const bool is_rare = state.driver_is_faster || middle > hopeless_from;
    state.apart = is_rare ? std::min(std::max(2 * state.apart, sample_every_), most_apart) : 0;
    state.next_sample = state.copies + std::max(state.apart, sample_every_);
}

}  // namespace isthmus::accelerator
