// Hooks the C library's functions that give memory of the program to the kernel, which would refuse a protected page
// where the processor faults: the pages are opened before the call, and it counts as a touch.
//
// A copy is not protected while such a call uses its memory.
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <span>

#include "interpose/hooks/hooks.hpp"
#include "races/state.hpp"
#include "races/thread.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::races {
namespace {

using interpose::known_or_found;

Range range_of(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    return {begin, begin + bytes};
}

// Memory that the kernel uses while it lives. `writes`: the kernel does.
class Given {
  public:
    Given(const void* memory, std::size_t bytes, bool writes) {
        if (memory != nullptr && is_watching()) add(range_of(memory, bytes), writes);
    }
    // The vectors themselves are the program's memory, which the processor reads without the lock.
    Given(const iovec* parts, long count, bool writes) {
        if (parts == nullptr || count < 0 || !is_watching()) return;
        for (long i = 0; i < count; ++i) add(range_of(parts[i].iov_base, parts[i].iov_len), writes);
    }
    ~Given() {
        if (used_ == 0) return;
        const int reason = errno;
        {
            const Locked state;
            for (const std::uint32_t number : std::span(numbers_).first(used_)) state->under_way.remove(number);
        }
        errno = reason;
    }
    Given(const Given&) = delete;
    Given& operator=(const Given&) = delete;

  private:
    void add(const Range& range, bool writes) {
        if (range.empty()) return;
        const int reason = errno;
        bool meets = false;
        {
            const Locked state;
            meets = state->copies.meets_block(range);
        }
        if (meets) open(range, writes);
        errno = reason;
    }
    void open(const Range& range, bool writes) {
        const Frames frames = InDriver::here() ? Frames{} : places().here();
        const Locked state;
        state->copies.open(range, writes, [&](const Copy& copy) {
            // The kernel may use nothing of what comes later.
            const bool is_first = copy.rows.meets(Range{range.begin, range.begin + 1});
            if (frames.native_count != 0 && is_first) state->note(copy, frames, range, writes, true);
        });
        if (used_ == numbers_.size())
            return state->protect_none("a system call with more than 16 parts of pinned memory");
        if (const auto number = state->under_way.add(range)) {
            numbers_[used_++] = *number;
        } else {
            state->protect_none("more than 256 system calls at once with pinned memory");
        }
    }

    std::size_t used_ = 0;
    std::array<std::uint32_t, 16> numbers_{};
};

// Memory whose mapping or protection the program changes: it is its own again, and not followed any more.
void let_go(const void* memory, std::size_t bytes) {
    if (!is_watching() || bytes == 0) return;
    const int reason = errno;
    {
        const Locked state;
        const Range range = range_of(memory, bytes);
        if (state->copies.meets_block(range)) {
            state->copies.forget_blocks(range);
            // Kernels may write there what the host waits for, and it is not looked at any more.
            state->kernels_signal = true;
        }
    }
    errno = reason;
}

// Calls that this library itself makes with the lock held, and others that are given no buffer.
bool takes_no_buffer(long number) {
    switch (number) {
        case SYS_rt_sigprocmask:
        case SYS_mprotect:
        case SYS_gettid:
        case SYS_tgkill:
        case SYS_rt_tgsigqueueinfo:
        case SYS_sigaltstack:
        case SYS_futex: return true;
        default: return false;
    }
}

}  // namespace
}  // namespace isthmus::races

// A function whose answer is the next one's, called with `held` made first.
#define ISTHMUS_PASSES(result, name, parameters, arguments, failed, held)   \
    __attribute__((visibility("default"))) result name parameters {         \
        using Next = result(*) parameters;                                  \
        static Next known = nullptr;                                        \
        const auto next = isthmus::interpose::known_or_found(known, #name); \
        if (next == nullptr) return errno = ENOSYS, failed;                 \
        held;                                                               \
        return next arguments;                                              \
    }

#define ISTHMUS_GIVES(name, parameters, arguments, ...) \
    ISTHMUS_PASSES(ssize_t, name, parameters, arguments, -1, const Given given(__VA_ARGS__))

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): the C library's names.
extern "C" {
using namespace isthmus::races;

ISTHMUS_GIVES(read, (int file, void* to, std::size_t bytes), (file, to, bytes), to, bytes, true)
ISTHMUS_GIVES(__read_chk, (int file, void* to, std::size_t bytes, std::size_t room), (file, to, bytes, room), to, bytes,
              true)
ISTHMUS_GIVES(write, (int file, const void* from, std::size_t bytes), (file, from, bytes), from, bytes, false)
ISTHMUS_GIVES(pread, (int file, void* to, std::size_t bytes, off_t at), (file, to, bytes, at), to, bytes, true)
ISTHMUS_GIVES(pread64, (int file, void* to, std::size_t bytes, off64_t at), (file, to, bytes, at), to, bytes, true)
ISTHMUS_GIVES(__pread_chk, (int file, void* to, std::size_t bytes, off_t at, std::size_t room),
              (file, to, bytes, at, room), to, bytes, true)
ISTHMUS_GIVES(__pread64_chk, (int file, void* to, std::size_t bytes, off64_t at, std::size_t room),
              (file, to, bytes, at, room), to, bytes, true)
ISTHMUS_GIVES(pwrite, (int file, const void* from, std::size_t bytes, off_t at), (file, from, bytes, at), from, bytes,
              false)
ISTHMUS_GIVES(pwrite64, (int file, const void* from, std::size_t bytes, off64_t at), (file, from, bytes, at), from,
              bytes, false)
ISTHMUS_GIVES(readv, (int file, const iovec* parts, int count), (file, parts, count), parts, count, true)
ISTHMUS_GIVES(writev, (int file, const iovec* parts, int count), (file, parts, count), parts, count, false)
ISTHMUS_GIVES(preadv, (int file, const iovec* parts, int count, off_t at), (file, parts, count, at), parts, count, true)
ISTHMUS_GIVES(preadv64, (int file, const iovec* parts, int count, off64_t at), (file, parts, count, at), parts, count,
              true)
ISTHMUS_GIVES(pwritev, (int file, const iovec* parts, int count, off_t at), (file, parts, count, at), parts, count,
              false)
ISTHMUS_GIVES(pwritev64, (int file, const iovec* parts, int count, off64_t at), (file, parts, count, at), parts, count,
              false)
ISTHMUS_GIVES(recv, (int socket, void* to, std::size_t bytes, int flags), (socket, to, bytes, flags), to, bytes, true)
ISTHMUS_GIVES(__recv_chk, (int socket, void* to, std::size_t bytes, std::size_t room, int flags),
              (socket, to, bytes, room, flags), to, bytes, true)
ISTHMUS_GIVES(recvfrom, (int socket, void* to, std::size_t bytes, int flags, sockaddr* from, socklen_t* length),
              (socket, to, bytes, flags, from, length), to, bytes, true)
ISTHMUS_GIVES(recvmsg, (int socket, msghdr* message, int flags), (socket, message, flags),
              message == nullptr ? nullptr : message->msg_iov,
              message == nullptr ? 0 : static_cast<long>(message->msg_iovlen), true)
ISTHMUS_GIVES(send, (int socket, const void* from, std::size_t bytes, int flags), (socket, from, bytes, flags), from,
              bytes, false)
ISTHMUS_GIVES(sendto,
              (int socket, const void* from, std::size_t bytes, int flags, const sockaddr* to, socklen_t length),
              (socket, from, bytes, flags, to, length), from, bytes, false)
ISTHMUS_GIVES(sendmsg, (int socket, const msghdr* message, int flags), (socket, message, flags),
              message == nullptr ? nullptr : message->msg_iov,
              message == nullptr ? 0 : static_cast<long>(message->msg_iovlen), false)
ISTHMUS_GIVES(getrandom, (void* to, std::size_t bytes, unsigned flags), (to, bytes, flags), to, bytes, true)
#define ISTHMUS_GIVES_STATUS(name, status)                                           \
    ISTHMUS_PASSES(int, name, (const char* path, struct status* to), (path, to), -1, \
                   const Given given(to, sizeof *to, true))
ISTHMUS_GIVES_STATUS(stat, stat)
ISTHMUS_GIVES_STATUS(lstat, stat)
ISTHMUS_GIVES_STATUS(stat64, stat64)
ISTHMUS_GIVES_STATUS(lstat64, stat64)
ISTHMUS_PASSES(int, fstat, (int file, struct stat* to), (file, to), -1, const Given given(to, sizeof *to, true))
ISTHMUS_PASSES(int, fstat64, (int file, struct stat64* to), (file, to), -1, const Given given(to, sizeof *to, true))
ISTHMUS_PASSES(int, poll, (pollfd * files, nfds_t count, int limit), (files, count, limit), -1,
               const Given given(files, count * sizeof *files, true))
ISTHMUS_PASSES(int, epoll_wait, (int poll, epoll_event* events, int count, int limit), (poll, events, count, limit), -1,
               const Given given(events, count > 0 ? static_cast<std::size_t>(count) * sizeof *events : 0, true))
// The C library reads large parts of files into the program's memory by itself.
ISTHMUS_PASSES(std::size_t, fread, (void* to, std::size_t size, std::size_t count, FILE* file), (to, size, count, file),
               0, const Given given(to, size* count, true))
ISTHMUS_PASSES(std::size_t, fread_unlocked, (void* to, std::size_t size, std::size_t count, FILE* file),
               (to, size, count, file), 0, const Given given(to, size* count, true))
ISTHMUS_PASSES(std::size_t, __fread_chk, (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* file),
               (to, room, size, count, file), 0, const Given given(to, size* count, true))
ISTHMUS_PASSES(std::size_t, fwrite, (const void* from, std::size_t size, std::size_t count, FILE* file),
               (from, size, count, file), 0, const Given given(from, size* count, false))
ISTHMUS_PASSES(std::size_t, fwrite_unlocked, (const void* from, std::size_t size, std::size_t count, FILE* file),
               (from, size, count, file), 0, const Given given(from, size* count, false))

ISTHMUS_PASSES(int, mprotect, (void* memory, std::size_t bytes, int protection), (memory, bytes, protection), -1,
               let_go(memory, bytes))
ISTHMUS_PASSES(int, munmap, (void* memory, std::size_t bytes), (memory, bytes), -1, let_go(memory, bytes))
ISTHMUS_PASSES(int, madvise, (void* memory, std::size_t bytes, int advice), (memory, bytes, advice), -1,
               let_go(memory, bytes))
ISTHMUS_PASSES(int, mlock, (const void* memory, std::size_t bytes), (memory, bytes), -1, let_go(memory, bytes))
ISTHMUS_PASSES(ssize_t, vmsplice, (int pipe, const iovec* parts, std::size_t count, unsigned flags),
               (pipe, parts, count, flags), -1,
               for (std::size_t i = 0; i < count; ++i) let_go(parts[i].iov_base, parts[i].iov_len))

// By number: whatever memory it names is let go, and its structures are not known.
__attribute__((visibility("default"))) long syscall(long number, ...) {
    using Next = long (*)(long, ...);
    static Next known = nullptr;
    const auto next = isthmus::interpose::known_or_found(known, "syscall");
    if (next == nullptr) return errno = ENOSYS, -1;
    std::va_list list;
    va_start(list, number);
    std::array<long, 6> words{};
    for (long& word : words) word = va_arg(list, long);
    va_end(list);
    constexpr long first_of_io_uring = 425, last_of_io_uring = 427;
    if (isthmus::races::is_watching() && !takes_no_buffer(number)) {
        if (number == SYS_io_submit || (number >= first_of_io_uring && number <= last_of_io_uring)) {
            const Locked state;
            state->protect_none("io_uring or asynchronous I/O of the kernel, which uses memory by itself");
        }
        for (const long word : words) let_go(reinterpret_cast<const void*>(word), 1);  // NOLINT
    }
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
}
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)

#endif
