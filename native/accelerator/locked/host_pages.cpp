// The pages of memory that a driver page-locks for a program, put in place by threads before it takes them.
#include "accelerator/locked/host_pages.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>

#include "accelerator/accelerator.hpp"
#include "accelerator/crowd.hpp"
#include "base/clock.hpp"
#include "base/fork.hpp"
#include "base/limits/memory_room.hpp"
#include "base/memory/fresh_pages.hpp"
#include "base/memory/huge_file.hpp"
#include "base/processors.hpp"
#include "base/threads.hpp"
#include "interpose/foreign_process.hpp"

namespace isthmus::accelerator {
namespace {

// What takes 0.1 ms is not done for blocks that take not many times as long.
constexpr std::size_t least_asked_bytes = std::size_t{64} << 20, least_tried_bytes = std::size_t{16} << 20;

// Whether the driver keeps such memory from children, as seen in an earlier call.
std::atomic<bool> has_no_children = false;
// By the latest trial, in seconds a byte.
std::atomic<double> latest_alone = 0;

bool has_limit(int resource) {
    rlimit limit{};
    return getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

thread_local HostAllocation HostAllocation::current;

bool HostPages::may_be_private() const {
    // Only private memory counts for this limit.
    if (has_limit(RLIMIT_DATA)) return false;
    if (has_no_children) return true;
    return options_.host_pages == HostPageChoice::huge && forks_copy_locked_pages();
}

void HostPages::begin(const void* site, std::size_t bytes, const void* frame) {
    HostAllocation& allocation = HostAllocation::of_thread();
    allocation = {};
    if (options_.host_pages == HostPageChoice::off) return;
    const bool is_alone = !options_.eager && (allowed_processors() == 1 || is_crowded());
    const bool is_private = may_be_private();
    // Without others to help, only huge pages gain.
    if (is_alone && !is_private && !HugeFile::may_be_made()) return;
    const auto [row, maker] = learning_.next({site, Way::locked, bytes});
    if (maker == Learning::Maker::driver && !options_.eager) return;
    // The driver would be refused some of the pages; how, is its own answer. For small blocks asking takes too long.
    if (bytes >= least_asked_bytes && !check_memory_room(bytes, "").ok()) return;
    allocation.row = row;
    allocation.alone_seconds_per_byte = latest_alone;
    const bool is_due = maker == Learning::Maker::sample || allocation.alone_seconds_per_byte == 0;
    allocation.was_tried_alone = is_due && bytes >= least_tried_bytes;
    if (allocation.was_tried_alone) latest_alone = allocation.alone_seconds_per_byte = seconds_per_byte_alone();
    allocation.bytes = bytes;
    allocation.is_private = is_private;
    allocation.is_alone = is_alone;
    allocation.since = frame;
}

void HostPages::end(bool succeeded) {
    HostAllocation& allocation = HostAllocation::of_thread();
    if (succeeded && allocation.placed.bytes != 0) {
        const double alone = allocation.alone_seconds_per_byte * static_cast<double>(tried_alone_bytes);
        const bool is_known = allocation.was_tried_alone && alone > 0;
        learning_.record(allocation.row, allocation.placed,
                         is_known ? Learning::Part{tried_alone_bytes, alone} : Learning::Part{});
    }
    allocation = {};
}

void* map_host_pages(HostAllocation& allocation, Map map, void* address, std::size_t bytes, int protection, int flags,
                     int file, off_t offset) noexcept {
    const NotCancelled not_cancelled;
    allocation.is_huge = true;
    void* memory = MAP_FAILED;
    // Huge pages are where addresses and places in a file are alike.
    const std::size_t shift = (flags & MAP_FIXED) != 0 ? reinterpret_cast<std::uintptr_t>(address) % huge_page : 0;
    const auto map_huge = [&] {
        if (!leave_descriptors()) return;
        if (const auto huge = HugeFile::make(shift + bytes)) {
            memory =
                map(address, bytes, protection, flags & ~MAP_ANONYMOUS, huge->descriptor(), static_cast<off_t>(shift));
        }
    };
    if (HugeFile::may_be_made()) {
        if (auto helper = start_thread("isthmus-file", map_huge)) helper->join();
    }
    if (memory == MAP_FAILED && allocation.is_private) {
        memory = map(address, bytes, protection, (flags & ~MAP_SHARED) | MAP_PRIVATE, file, offset);
    }
    if (memory != MAP_FAILED) return memory;
    allocation.is_huge = shares_huge_pages();
    return map(address, bytes, protection, flags, file, offset);
}

void place_host_pages(HostAllocation& allocation, std::byte* data, std::size_t bytes) noexcept {
    const NotCancelled not_cancelled;
    interpose::guarded([&] {
        const TimePoint begun = now();
        allocation.data = data;
        FreshPages pages;
        if (allocation.is_huge) pages.size = PageSize::huge;
        pages.alone_seconds_per_byte = allocation.alone_seconds_per_byte;
        if (allocation.is_alone) {
            pages.most_threads = 1;
        } else {
            pages.node = node_of_thread();
        }
        place_fresh_pages(data, bytes, pages);
        allocation.placed.bytes += bytes;
        allocation.placed.seconds += seconds_between(begun, now());
    });
}

void record_advice(const HostAllocation& allocation, const std::byte* data) noexcept {
    if (data == allocation.data) has_no_children = true;
}

}  // namespace isthmus::accelerator
