// Lets threads have pages that were never touched put in place before they write to them.
#include "base/fault_ahead.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/memory/access.hpp"
#include "base/pages.hpp"

namespace isthmus {
namespace {

// Less is there before the threads are awake.
constexpr std::size_t least_bytes = std::size_t{4} << 20;
constexpr std::size_t samples = 16;

// Has the page put in place that a byte is in, and leaves the byte as it is, also while another thread writes it.
// Asking the kernel takes sixteen threads six times as long (benchmarks/bare_pages.cpp).
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread")))
#endif
void touch(std::byte& byte) {
    std::byte zero{0};
    (void)std::atomic_ref(byte).compare_exchange_strong(zero, std::byte{0}, std::memory_order_relaxed);
}

// Where the first huge page begins that is within.
std::size_t before_huge_pages(const std::byte* data) {
    return (huge_page - reinterpret_cast<std::uintptr_t>(data) % huge_page) % huge_page;
}

}  // namespace

bool FaultAhead::is_worthwhile(std::byte* data, std::size_t bytes) {
    if (bytes < least_bytes) return false;
    const std::size_t first = before_huge_pages(data);
    const std::size_t whole = (bytes - first) / huge_page * huge_page;
    // A sample of pages, most of which are missing.
    std::size_t missing = 0;
    for (std::size_t i = 0; i < samples; ++i) {
        const PagesAround page(data + first + whole / samples * i, 1);
        unsigned char resident = 1;
        if (mincore(page.begin, page.bytes, &resident) == 0 && (resident & 1U) == 0) ++missing;
    }
    return missing > samples / 2;
}

void FaultAhead::begin(std::byte* data, std::size_t bytes, bool checks) {
    checks_ = checks;
    pages_ = 0;
    next_ = 0;
    if (!is_worthwhile(data, bytes)) return;
    first_ = before_huge_pages(data);
    data_ = data + first_;
    pages_ = (bytes - first_) / huge_page;
    (void)madvise(data_, pages_ * huge_page, MADV_HUGEPAGE);
}

bool FaultAhead::take(std::size_t end) {
    std::size_t next = next_.load(std::memory_order_relaxed);
    do {
        if (next >= pages_ || first_ + next * huge_page >= end) return false;
    } while (!next_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed));
    std::byte& byte = data_[next * huge_page];
    // The whole huge page, where there is to be one. That memory cannot be written is for its writer to notice.
    if (checks_) {
        (void)make_accessible(Access::write, &byte, 1);
    } else {
        touch(byte);
    }
    return true;
}

}  // namespace isthmus
