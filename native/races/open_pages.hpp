// Pages that no copy protects: those that system calls use at the moment, and those with words that threads wait by.
//
// The kernel looks at such a word again whenever a thread that sleeps takes a signal, and when a thread ends that holds
// a lock: so these are open for good.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "races/rows.hpp"

namespace isthmus::races {

class OpenPages {
  public:
    // A call begins whose record is there: whatever other had a part of that memory is over. A jump left it, or another
    // program took the place of the child that made it.
    void begin(const Range& record) {
        for (std::size_t i = 0; i < most_used_; ++i) {
            if (calls_[i].record.overlaps(record)) calls_[i] = {};
        }
    }
    // For a call under way, until they are removed; none where there is no room.
    std::optional<std::uint32_t> add(const Range& pages, const Range& record) {
        auto* const free = std::find_if(calls_.begin(), calls_.end(), [](const Call& call) { return call.is_free(); });
        if (free == calls_.end()) return {};
        *free = {pages, record};
        most_used_ = std::max(most_used_, static_cast<std::size_t>(free - calls_.begin()) + 1);
        return static_cast<std::uint32_t>(free - calls_.begin());
    }
    // All from one to the other, of a call with more parts than it has room for.
    void widen(std::uint32_t number, const Range& pages) {
        Range& known = calls_[number].pages;
        known = {std::min(known.begin, pages.begin), std::max(known.end, pages.end)};
    }
    void remove(std::uint32_t number) {
        calls_[number] = {};
        while (most_used_ != 0 && calls_[most_used_ - 1].is_free()) --most_used_;
    }
    // For good; false where there is no room.
    bool keep(const Range& pages) {
        auto* const end = kept_.begin() + kept_count_;
        if (std::any_of(kept_.begin(), end, [&](const Range& each) { return each.contains(pages); })) return true;
        if (kept_count_ == kept_.size()) return false;
        kept_[kept_count_++] = pages;
        return true;
    }
    // The memory there is gone.
    void forget(const Range& range) {
        for (std::size_t i = kept_count_; i-- > 0;) {
            if (range.contains(kept_[i])) kept_[i] = kept_[--kept_count_];
        }
    }
    // The first part of a range that is open; where none is, what is empty at its end.
    Range first_in(const Range& range) const {
        Range first{range.end, range.end};
        const auto look = [&](const Range& open) {
            if (open.overlaps(range) && open.begin < first.begin)
                first = {std::max(open.begin, range.begin), std::min(open.end, range.end)};
        };
        for (std::size_t i = 0; i < most_used_; ++i) look(calls_[i].pages);
        for (std::size_t i = 0; i < kept_count_; ++i) look(kept_[i]);
        return first;
    }

  private:
    struct Call {
        Range pages, record;
        bool is_free() const { return pages.empty(); }
    };
    std::array<Call, 256> calls_{};
    std::array<Range, 1024> kept_{};
    std::size_t most_used_ = 0, kept_count_ = 0;
};

}  // namespace isthmus::races
