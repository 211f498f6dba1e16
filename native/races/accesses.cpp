// What copies and fills on streams read and write that the host has not waited for.
#include "races/accesses.hpp"

#include <algorithm>

namespace isthmus::races {

void Accesses::add(const Access& access) {
    const Range range = access.rows.range();
    if (range.empty()) return;
    const std::size_t at = next_++ % most;
    count_ = std::max(count_, at + 1);
    ranges_[at] = range;
    all_[at] = access;
}

void Accesses::remove(std::uint64_t work) {
    for (std::size_t i = 0; i < count_; ++i) {
        if (all_[i].work == work) ranges_[i] = {};
    }
}

void Accesses::finish(const Clock& clock) {
    for (std::size_t i = 0; i < count_; ++i) {
        if (clock.covers(all_[i].line, all_[i].work)) ranges_[i] = {};
    }
    while (count_ != 0 && ranges_[count_ - 1].empty()) --count_;
    if (count_ == 0) next_ = 0;
}

void Accesses::forget(const Range& range) {
    for (std::size_t i = 0; i < count_; ++i) {
        if (ranges_[i].overlaps(range)) ranges_[i] = {};
    }
}

}  // namespace isthmus::races
