// Puts the pages of fresh memory in place by several threads, for a caller that would get them one by one.
#include "base/memory/fresh_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/processors.hpp"
#include "base/text_file.hpp"

namespace isthmus {
namespace {

// So many huge pages that come late in a row, on one thread, are no accident.
constexpr int most_late = 2;

// Writes the zero that is there.
void place(std::byte* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += least_page) *static_cast<volatile std::byte*>(data + at) = std::byte{0};
}

// What the threads of one call share.
class Placing {
  public:
    Placing(std::size_t bytes, const FreshPages& pages) : has_huge_(pages.size == PageSize::huge) {
        const std::size_t most_threads = std::min(pages.most_threads, allowed_processors());
        const std::size_t threads = std::clamp(bytes / huge_page, std::size_t{1}, most_threads);
        // All together should take half of the time that one takes alone.
        const double share = std::max(static_cast<double>(threads) / 2, 1.0);
        most_seconds_ = pages.alone_seconds_per_byte * static_cast<double>(huge_page) * share;
    }

    // The part of one thread, in pieces that end where huge pages do.
    void place_part(std::byte* data, std::size_t bytes) {
        int late = 0;
        bool has_huge = has_huge_;
        for (std::size_t at = 0; at < bytes;) {
            if (has_huge && huge_are_late_) {
                (void)madvise(data + at, bytes - at, MADV_NOHUGEPAGE);
                has_huge = false;
            }
            const std::size_t until_huge = huge_page - reinterpret_cast<std::uintptr_t>(data + at) % huge_page;
            const std::size_t piece = std::min(until_huge, bytes - at);
            const TimePoint begun = now();
            place(data + at, piece);
            at += piece;
            if (!has_huge || most_seconds_ == 0) continue;
            late = seconds_between(begun, now()) > most_seconds_ ? late + 1 : 0;
            if (late == most_late) huge_are_late_ = true;
        }
    }

  private:
    const bool has_huge_;
    double most_seconds_ = 0;
    std::atomic<bool> huge_are_late_ = false;
};

}  // namespace

double seconds_per_byte_alone() {
    void* const memory = mmap(nullptr, tried_alone_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    // The middle of several parts, since others may take the processor meanwhile.
    std::array<double, 9> seconds{};
    constexpr std::size_t part = tried_alone_bytes / seconds.size() / least_page * least_page;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        const TimePoint begun = now();
        place(static_cast<std::byte*>(memory) + i * part, part);
        seconds[i] = seconds_between(begun, now());
    }
    munmap(memory, tried_alone_bytes);
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    return seconds[seconds.size() / 2] / static_cast<double>(part);
}

bool shares_huge_pages() {
    static const bool shares = [] {
        // As "always within_size advise [never] deny force".
        const std::string choice = first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
        return !choice.empty() && choice.find("[never]") == std::string::npos &&
               choice.find("[deny]") == std::string::npos;
    }();
    return shares;
}

void place_fresh_pages(std::byte* data, std::size_t bytes, const FreshPages& pages) {
    // May be refused (a kernel without transparent huge pages); ordinary pages serve as well.
    if (pages.size == PageSize::huge) (void)madvise(data, bytes, MADV_HUGEPAGE);
    Placing placing(bytes, pages);
    const std::thread::id caller = std::this_thread::get_id();
    const auto part = [&](std::byte* begin, std::size_t length) {
        if (pages.node && std::this_thread::get_id() != caller) bind_as_allowed(*pages.node);
        placing.place_part(begin, length);
    };
    if (pages.size == PageSize::huge) return for_each_slice_of_huge_pages(data, bytes, part, pages.most_threads);
    const auto slice = [&](std::size_t begin, std::size_t end) { part(data + begin, end - begin); };
    for_each_slice(bytes, slice, pages.most_threads);
}

}  // namespace isthmus
