// What copies and fills on streams read and write that the host has not waited for.
#include "races/accesses.hpp"

#include <algorithm>

namespace isthmus::races {

void Accesses::add(const Access& access) {
    const Range range = access.rows.range();
    if (range.empty()) return;
    auto* const end = ranges_.begin() + count_;
    auto* const free = std::find_if(ranges_.begin(), end, [](const Range& each) { return each.empty(); });
    auto at = static_cast<std::size_t>(free - ranges_.begin());
    if (at == most) at = next_++ % most;
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
}

void Accesses::forget(const Range& range) {
    for (std::size_t i = 0; i < count_; ++i) {
        if (ranges_[i].overlaps(range)) ranges_[i] = {};
    }
}

}  // namespace isthmus::races
