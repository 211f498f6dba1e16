// Hooks the C library's functions that give buffers of the program to the kernel: each counts as a touch. Those that
// change what is mapped let it go.
#include <aio.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interpose/hooks/hooks.hpp"
#include "races/given.hpp"
#include "races/state.hpp"
#include "races/thread.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::races {
namespace {

// Calls that this library itself makes with the lock held, and others that are given no buffer.
bool takes_no_buffer(long number) {
    switch (number) {
        case SYS_rt_sigprocmask:
        case SYS_mprotect:
        case SYS_gettid:
        case SYS_tgkill:
        case SYS_rt_tgsigqueueinfo:
        case SYS_sigaltstack: return true;
        default: return false;
    }
}

template <typename Request>
void let_go(const Request* request) {
    if (request != nullptr) races::let_go(const_cast<const void*>(request->aio_buf), request->aio_nbytes);
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
// With flags, which pread and pwrite do without.
ISTHMUS_GIVES(preadv2, (int file, const iovec* parts, int count, off_t at, int flags), (file, parts, count, at, flags),
              parts, count, true)
ISTHMUS_GIVES(preadv64v2, (int file, const iovec* parts, int count, off64_t at, int flags),
              (file, parts, count, at, flags), parts, count, true)
ISTHMUS_GIVES(pwritev2, (int file, const iovec* parts, int count, off_t at, int flags), (file, parts, count, at, flags),
              parts, count, false)
ISTHMUS_GIVES(pwritev64v2, (int file, const iovec* parts, int count, off64_t at, int flags),
              (file, parts, count, at, flags), parts, count, false)
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
ISTHMUS_PASSES(int, recvmmsg, (int socket, mmsghdr* messages, unsigned count, int flags, timespec* limit),
               (socket, messages, count, flags, limit), -1, const Given given(messages, count, true))
ISTHMUS_PASSES(int, sendmmsg, (int socket, mmsghdr* messages, unsigned count, int flags),
               (socket, messages, count, flags), -1, const Given given(messages, count, false))
ISTHMUS_GIVES(process_vm_readv,
              (pid_t process, const iovec* parts, unsigned long count, const iovec* theirs, unsigned long their_count,
               unsigned long flags),
              (process, parts, count, theirs, their_count, flags), parts, static_cast<long>(count), true)
ISTHMUS_GIVES(process_vm_writev,
              (pid_t process, const iovec* parts, unsigned long count, const iovec* theirs, unsigned long their_count,
               unsigned long flags),
              (process, parts, count, theirs, their_count, flags), parts, static_cast<long>(count), false)
ISTHMUS_GIVES(getrandom, (void* to, std::size_t bytes, unsigned flags), (to, bytes, flags), to, bytes, true)
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

ISTHMUS_PASSES(std::size_t, __fread_unlocked_chk,
               (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* file),
               (to, room, size, count, file), 0, const Given given(to, size* count, true))
ISTHMUS_PASSES(int, fputs, (const char* text, FILE* file), (text, file), -1,
               const Given given(text, std::strlen(text), false))
ISTHMUS_PASSES(int, fputs_unlocked, (const char* text, FILE* file), (text, file), -1,
               const Given given(text, std::strlen(text), false))
ISTHMUS_PASSES(int, puts, (const char* text), (text), -1, const Given given(text, std::strlen(text), false))
// What is used later, by the C library's own calls and threads.
ISTHMUS_PASSES(int, setvbuf, (FILE * file, char* memory, int mode, std::size_t bytes), (file, memory, mode, bytes), -1,
               let_go(memory, bytes))
ISTHMUS_PASSES(int, aio_read, (aiocb * request), (request), -1, let_go(request))
ISTHMUS_PASSES(int, aio_write, (aiocb * request), (request), -1, let_go(request))
ISTHMUS_PASSES(int, aio_read64, (aiocb64 * request), (request), -1, let_go(request))
ISTHMUS_PASSES(int, aio_write64, (aiocb64 * request), (request), -1, let_go(request))
ISTHMUS_PASSES(int, lio_listio, (int mode, aiocb* const requests[], int count, sigevent* then),
               (mode, requests, count, then), -1, for (int i = 0; i < count; ++i) let_go(requests[i]))
ISTHMUS_PASSES(int, lio_listio64, (int mode, aiocb64* const requests[], int count, sigevent* then),
               (mode, requests, count, then), -1, for (int i = 0; i < count; ++i) let_go(requests[i]))

ISTHMUS_PASSES(int, mprotect, (void* memory, std::size_t bytes, int protection), (memory, bytes, protection), -1,
               let_go(memory, bytes))
ISTHMUS_PASSES(int, munmap, (void* memory, std::size_t bytes), (memory, bytes), -1, let_go(memory, bytes))
ISTHMUS_PASSES(int, madvise, (void* memory, std::size_t bytes, int advice), (memory, bytes, advice), -1,
               let_go(memory, bytes))
ISTHMUS_PASSES(int, posix_madvise, (void* memory, std::size_t bytes, int advice), (memory, bytes, advice), -1,
               let_go(memory, bytes))
ISTHMUS_PASSES(int, pkey_mprotect, (void* memory, std::size_t bytes, int protection, int key),
               (memory, bytes, protection, key), -1, let_go(memory, bytes))
ISTHMUS_PASSES(int, mlock2, (const void* memory, std::size_t bytes, unsigned flags), (memory, bytes, flags), -1,
               let_go(memory, bytes))
ISTHMUS_PASSES(int, mlock, (const void* memory, std::size_t bytes), (memory, bytes), -1, let_go(memory, bytes))
ISTHMUS_PASSES(ssize_t, vmsplice, (int pipe, const iovec* parts, std::size_t count, unsigned flags),
               (pipe, parts, count, flags), -1,
               for (std::size_t i = 0; i < count; ++i) let_go(parts[i].iov_base, parts[i].iov_len))
// What is put there is other memory, or none.
__attribute__((visibility("default"))) void* mremap(void* memory, std::size_t bytes, std::size_t new_bytes, int flags,
                                                    ...) {
    using Next = void* (*)(void*, std::size_t, std::size_t, int, ...);
    static Next known = nullptr;
    const auto next = isthmus::interpose::known_or_found(known, "mremap");
    if (next == nullptr) return errno = ENOSYS, MAP_FAILED;
    std::va_list list;
    va_start(list, flags);
    void* const place = va_arg(list, void*);
    va_end(list);
    let_go(memory, bytes);
    if ((static_cast<unsigned>(flags) & MREMAP_FIXED) != 0) let_go(place, new_bytes);
    return next(memory, bytes, new_bytes, flags, place);
}

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
    // Words that threads wait by; the third is another one, or a time.
    const Given given({static_cast<std::uintptr_t>(words[0]), static_cast<std::uintptr_t>(words[3]),
                       static_cast<std::uintptr_t>(words[4])},
                      number == SYS_futex ? 0b111U : 0U);
    if (isthmus::races::is_watching() && number != SYS_futex && !takes_no_buffer(number)) {
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
