// Hooks mmap and madvise, and passes on all calls but those of a driver that gets page-locked memory.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "accelerator/accelerator.hpp"
#include "accelerator/functions.hpp"
#include "accelerator/locked/host_pages.hpp"
#include "interpose/deferred_signals.hpp"

// Sanitizers have hooks of their own there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::accelerator {
namespace {

using Advise = int (*)(void*, std::size_t, int);

// Until the C library's are known: other libraries may begin earlier than this one.
void* map_by_kernel(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
int advise_by_kernel(void* address, std::size_t bytes, int advice) {
    return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

Map next_mmap = &map_by_kernel, next_mmap64 = &map_by_kernel;
Advise next_madvise = &advise_by_kernel;

__attribute__((constructor)) void find_next_maps() {
    if (void* next = next_symbol("mmap")) next_mmap = reinterpret_cast<Map>(next);
    if (void* next = next_symbol("mmap64")) next_mmap64 = reinterpret_cast<Map>(next);
    if (void* next = next_symbol("madvise")) next_madvise = reinterpret_cast<Advise>(next);
}

// What is mapped from it, shared, is memory of its own.
bool is_zero_device(int file) {
    struct stat status {};
    const int reason = errno;
    const bool is_known = fstat(file, &status) == 0;
    errno = reason;
    return is_known && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 5);
}

// Shared memory without a file, of about the size that the program asked for: the driver rounds up.
bool is_of_pages(const HostAllocation& allocation, std::size_t bytes, int protection, int flags, int file) {
    constexpr std::size_t most_more = std::size_t{4} << 20;
    constexpr int kinds = MAP_SHARED | MAP_PRIVATE, others = MAP_HUGETLB | MAP_POPULATE | MAP_GROWSDOWN;
    return bytes >= least_placed_bytes && bytes <= allocation.bytes + most_more &&
           (protection & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE) && (flags & kinds) == MAP_SHARED &&
           (flags & others) == 0 && ((flags & MAP_ANONYMOUS) != 0 || is_zero_device(file));
}

// Nothing is to be cleaned up here, and it is not noexcept: signals that have come meanwhile are taken in the last
// call.
__attribute__((noinline)) void* mapped(Map next, void* address, std::size_t bytes, int protection, int flags, int file,
                                       off_t offset) {
    HostAllocation& allocation = HostAllocation::of_thread();
    if (!allocation.is_under_way(__builtin_frame_address(0)) ||
        !is_of_pages(allocation, bytes, protection, flags, file)) {
        return next(address, bytes, protection, flags, file, offset);
    }
    const SignalMask before = interpose::defer_signals();
    void* const memory = map_host_pages(allocation, next, address, bytes, protection, flags, file, offset);
    if (memory != MAP_FAILED) place_host_pages(allocation, static_cast<std::byte*>(memory), bytes);
    interpose::deliver_signals(before);
    return memory;
}

}  // namespace
}  // namespace isthmus::accelerator

extern "C" {
using namespace isthmus::accelerator;

__attribute__((visibility("default"))) void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                                                  off_t offset) {
    if (__builtin_expect(HostAllocation::of_thread().since == nullptr, 1)) {
        return next_mmap(address, bytes, protection, flags, file, offset);
    }
    return mapped(next_mmap, address, bytes, protection, flags, file, offset);
}
__attribute__((visibility("default"))) void* mmap64(void* address, std::size_t bytes, int protection, int flags,
                                                    int file, off_t offset) {
    if (__builtin_expect(HostAllocation::of_thread().since == nullptr, 1)) {
        return next_mmap64(address, bytes, protection, flags, file, offset);
    }
    return mapped(next_mmap64, address, bytes, protection, flags, file, offset);
}
__attribute__((visibility("default"))) int madvise(void* address, std::size_t bytes, int advice) {
    if (advice == MADV_DONTFORK && bytes >= least_placed_bytes &&
        HostAllocation::of_thread().is_under_way(__builtin_frame_address(0))) {
        record_advice(HostAllocation::of_thread(), static_cast<const std::byte*>(address));
    }
    return next_madvise(address, bytes, advice);
}
}

#endif
