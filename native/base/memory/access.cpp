// Whether an access to memory of a program would raise a signal, asked before it is made.
#include "base/memory/access.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/pages.hpp"

namespace isthmus {
namespace {

#if !defined(MADV_POPULATE_WRITE)
constexpr int MADV_POPULATE_READ = 22;
constexpr int MADV_POPULATE_WRITE = 23;
#endif

// PROCMAP_QUERY of linux/fs.h, which is newer than many systems that this is built on.
struct Query {
    std::uint64_t bytes = sizeof(Query), flags = 0, address = 0;
    std::uint64_t begin = 0, end = 0, vma_flags = 0, page_bytes = 0, offset = 0, inode = 0;
    std::uint32_t device_major = 0, device_minor = 0, name_bytes = 0, build_id_bytes = 0;
    std::uint64_t name = 0, build_id = 0;
};
constexpr unsigned long procmap_query = _IOWR('f', 17, Query);
constexpr std::uint64_t readable = 1, writable = 2;

// The kernel changes the word by an operation that leaves it as it is, without a signal. It wakes no thread: none
// waits for a futex in memory that is about to be written over.
bool is_writable(std::uintptr_t address) {
    std::uint32_t unused = 0;
    const std::uintptr_t word = address / sizeof unused * sizeof unused;
    constexpr unsigned long wake_nobody = 0;
    const long done = syscall(SYS_futex, &unused, FUTEX_WAKE_OP_PRIVATE, 0, wake_nobody, word,
                              FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0));
    return done >= 0 || errno != EFAULT;
}

bool is_accessible(Access access, std::uintptr_t address) {
    return access == Access::read ? is_readable(address) : is_writable(address);
}

// Programs that count on the lowest free numbers, or close what they find there, are left alone.
constexpr int least_number = 512;
constexpr int none = -1, unsupported = -2;

int opened() {
    const int low = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (low < 0) return none;
    const int high = fcntl(low, F_DUPFD_CLOEXEC, least_number);
    close(low);
    return high < 0 ? none : high;
}

// 0, or why not. The program may have closed the file, and opened another one by its number.
int ask(Query& query) {
    static std::atomic<int> known = none;
    int file = known.load(std::memory_order_relaxed);
    if (file == unsupported) return ENOTTY;
    if (file >= 0) {
        const int error = ioctl(file, procmap_query, &query) == 0 ? 0 : errno;
        if (error == 0 || error == ENOENT) return error;
    }
    const int fresh = opened();
    if (fresh < 0) return EBADF;
    const int error = ioctl(fresh, procmap_query, &query) == 0 ? 0 : errno;
    const bool is_supported = error == 0 || error == ENOENT;
    if (!known.compare_exchange_strong(file, is_supported ? fresh : unsupported) || !is_supported) close(fresh);
    return error;
}

}  // namespace

Mappings::Answer Mappings::find(std::uintptr_t address) {
    Query query;
    query.address = address;
    const int error = ask(query);
    if (error != 0) return error == ENOENT ? Answer::no : Answer::unknown;
    begin_ = query.begin;
    end_ = query.end;
    flags_ = query.vma_flags;
    is_of_file_ = query.inode != 0;
    return Answer::yes;
}

Mappings::Answer Mappings::may(Access access, const std::byte* data, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    for (std::uintptr_t at = first; at < first + bytes; at = end_) {
        if (at < begin_ || at >= end_) {
            if (const Answer answer = find(at); answer != Answer::yes) return answer;
        }
        if ((flags_ & (access == Access::read ? readable : writable)) == 0) return Answer::no;
        met_file_ = met_file_ || is_of_file_;
        if (!is_of_file_) continue;
        if (access == Access::write) return Answer::unknown;
        // Files end at one place, up to which all can be read.
        if (!is_readable(std::min(end_, first + bytes) - 1)) return Answer::no;
    }
    return Answer::yes;
}

bool is_there(Access access, std::uintptr_t first, std::size_t bytes) {
    Mappings mappings;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const Mappings::Answer answer = mappings.may(access, reinterpret_cast<const std::byte*>(first), bytes);
    return answer == Mappings::Answer::unknown ? is_mapped(first, bytes) : answer == Mappings::Answer::yes;
}

bool make_accessible(Access access, const std::byte* data, std::size_t bytes) {
    if (bytes == 0) return true;
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const PagesAround pages(data, bytes);
    const int how = access == Access::read ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
    int error = 0;
    do {
        error = madvise(pages.begin, pages.bytes, how) == 0 ? 0 : errno;
    } while (error == EAGAIN || error == EINTR);
    // Before Linux 5.14, and of what a device's driver has mapped.
    if (error != EINVAL) return error == 0;
    for (std::uintptr_t at = begin; at < begin + bytes; at = (at / least_page + 1) * least_page) {
        if (!is_accessible(access, at)) return false;
    }
    return true;
}

bool is_accessible_at_ends(Access access, const std::byte* data, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    return bytes == 0 || (is_accessible(access, begin) && is_accessible(access, begin + bytes - 1));
}

}  // namespace isthmus
