// The frame of the contiguous and the stride program: the CPU fills an array, the device adds, the CPU sums all of it.
#pragma once

#include "common.hpp"

namespace programs {

constexpr std::int64_t kValues = 3343;

// Ends the first phase of a pass: called where the device has computed, before anything is copied back.
class Phases {
  public:
    void begin() { begin_ = now(); }
    void computed() { computed_ = now(); }
    void summed() {
        const double end = now();
        in_seconds.push_back(computed_ - begin_);
        out_seconds.push_back(end - computed_);
    }
    std::vector<double> in_seconds, out_seconds;

  private:
    double begin_ = 0, computed_ = 0;
};

// Sums are whole numbers below 2^53, exact in any order: so eight at once, which memory and not the adder limits.
inline double sum_of(const double* a, std::int64_t count) {
    double sums[8] = {};
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (int k = 0; k < 8; ++k) sums[k] += a[i + k];
    }
    for (; i < count; ++i) sums[0] += a[i];
    double sum = 0;
    for (const double part : sums) sum += part;
    return sum;
}

// Runs `add(a, count, phases)` so often, after once with a part of the array, and prints a line.
//
// The array is not filled again in between: every pass adds 1 to `touched` elements more, which the sum must show.
template <class Add>
int run_sums(const Options& options, Line line, std::int64_t touched_of_part, std::int64_t touched, std::int64_t part,
             const std::string& device, Add add) {
    const Way way = way_of(options);
    const std::int64_t count = options.whole("bytes", 8, std::int64_t{1} << 40) / 8;
    const std::int64_t repeats = options.whole("repeats", 1, 1000);
    double* a = new_array(way, count);
    double right = 0;
    for (std::int64_t i = 0, value = 0; i < count; ++i) {
        a[i] = static_cast<double>(value);
        right += static_cast<double>(value);
        value = value + 1 == kValues ? 0 : value + 1;
    }
    Phases warm_up, phases;
    add(a, part, warm_up);
    right += static_cast<double>(touched_of_part);
    bool is_right = true;
    double sum = 0;
    for (std::int64_t pass = 0; pass < repeats; ++pass) {
        right += static_cast<double>(touched);
        phases.begin();
        add(a, count, phases);
        sum = sum_of(a, count);
        phases.summed();
        is_right = is_right && sum == right;
    }
    line.add("bytes", count * 8).add("in_seconds", phases.in_seconds).add("out_seconds", phases.out_seconds);
    line.add("sum", sum).add("expected", right).add("right", is_right);
    line.add("device", device).add("compiler", compiler_name()).print();
    return is_right ? kRight : kWrong;
}

}  // namespace programs
