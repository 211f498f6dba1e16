// What copies and fills on streams read and write that the host has not waited for, and which of them nothing orders.
//
// Two of them race that touch the same bytes, one of them by a write, where the later one's stream is not behind the
// earlier one: also where one of them was long over. Nothing here allocates; the caller holds the lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "races/access.hpp"
#include "races/order.hpp"

namespace isthmus::races {

class Accesses {
  public:
    // Where there is no room for another, an old one is compared no more.
    void add(const Access& access) {
        const Range range = access.rows.range();
        if (range.empty()) return;
        const std::size_t at = next_++ % most;
        count_ = std::max(count_, at + 1);
        ranges_[at] = range;
        all_[at] = access;
    }
    void remove(std::uint64_t work) {
        for (std::size_t i = 0; i < count_; ++i) {
            if (all_[i].work == work) ranges_[i] = {};
        }
    }
    // Calls `meet` with each earlier access that races with one that was added; `before` is what its line was behind
    // then. What it takes the place of is compared no more.
    template <typename Meet>
    void check(const Access& access, const Clock& before, const Meet& meet) {
        const Range all = access.rows.range();
        for (std::size_t i = 0; i < count_; ++i) {
            if (!ranges_[i].overlaps(all) || all_[i].work >= access.work) continue;
            const bool is_ordered = before.covers(all_[i].line, all_[i].work);
            if (!is_ordered && access.conflicts(all_[i])) meet(all_[i]);
            // What is not behind the new one is not behind this one, either.
            const bool is_replaced =
                is_ordered && (access.is_write || !all_[i].is_write) && access.rows.covers(all_[i].rows);
            if (is_replaced) ranges_[i] = {};
        }
    }
    // The host has waited for these.
    void finish(const Clock& clock) {
        for (std::size_t i = 0; i < count_; ++i) {
            if (clock.covers(all_[i].line, all_[i].work)) ranges_[i] = {};
        }
        while (count_ != 0 && ranges_[count_ - 1].empty()) --count_;
        if (count_ == 0) next_ = 0;
    }
    // The memory there is new.
    void forget(const Range& range) {
        for (std::size_t i = 0; i < count_; ++i) {
            if (ranges_[i].overlaps(range)) ranges_[i] = {};
        }
    }
    bool any() const { return count_ != 0; }

  private:
    static constexpr std::size_t most = 4096;
    // The range of each, for the search; empty where there is none.
    std::array<Range, most> ranges_{};
    std::array<Access, most> all_{};
    std::size_t count_ = 0, next_ = 0;
};

}  // namespace isthmus::races
