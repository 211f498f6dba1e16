// Lets threads have pages that were never touched put in place before they write to them.
#include "base/fault_ahead.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "base/pages.hpp"

namespace isthmus {
namespace {

// Less is there before the threads are awake.
constexpr std::size_t least_bytes = std::size_t{4} << 20;
constexpr std::size_t samples = 16;

#if !defined(MADV_POPULATE_WRITE)
constexpr int MADV_POPULATE_WRITE = 23;
#endif

// A sample of pages, most of which are missing.
bool is_untouched(std::byte* data, std::size_t bytes) {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < samples; ++i) {
        std::byte* const place = data + bytes / samples * i / least_page * least_page;
        unsigned char resident = 1;
        if (mincore(place, least_page, &resident) == 0 && (resident & 1U) == 0) ++missing;
    }
    return missing > samples / 2;
}

}  // namespace

void FaultAhead::begin(std::byte* data, std::size_t bytes) {
    pages_ = 0;
    next_ = 0;
    if (bytes < least_bytes) return;
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    first_ = (huge_page - address % huge_page) % huge_page;
    data_ = data + first_;
    const std::size_t whole = (bytes - first_) / huge_page;
    if (whole == 0 || !is_untouched(data_, whole * huge_page)) return;
    (void)madvise(data_, whole * huge_page, MADV_HUGEPAGE);
    pages_ = whole;
}

bool FaultAhead::take(std::size_t end) {
    std::size_t next = next_.load(std::memory_order_relaxed);
    do {
        if (next >= pages_ || first_ + next * huge_page >= end) return false;
    } while (!next_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed));
    (void)madvise(data_ + next * huge_page, huge_page, MADV_POPULATE_WRITE);
    return true;
}

}  // namespace isthmus
