// Hooks the C library's functions that give the kernel memory of the program, all by tables: buffers, which count as
// touched, and names, structures and words of locks. Those that change what is mapped let it go.
#include <aio.h>
#include <alloca.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/pages.hpp"
#include "interpose/hooks/hooks.hpp"
#include "races/given.hpp"
#include "races/state.hpp"
#include "races/thread.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::races {
namespace {

constexpr const char* shared_among_processes =
    "other processes may use this one's memory, and would be refused what is protected";

template <typename Pointed = const void>
Pointed* pointer(std::uintptr_t word) {
    return reinterpret_cast<Pointed*>(word);  // NOLINT(performance-no-int-to-ptr)
}

// GDRCopy maps memory of devices: kernels and copies may write there what the host waits for. By others, processes use
// each other's memory.
void note_opened(const char* path) {
    constexpr std::string_view devices = "/dev/";
    if (path == nullptr || !is_enabled() || std::strncmp(path, devices.data(), devices.size()) != 0) return;
    const std::string_view device = path + devices.size();
    const Locked state;
    if (device.starts_with("gdrdrv")) state->kernels_signal = state->maps_device = true;
    if (device.starts_with("xpmem") || device.starts_with("knem")) state->protect_none(shared_among_processes);
}

// Another process may read or write this one's memory, where it would be refused protected pages.
void note_shared() {
    if (!is_enabled()) return;
    const Locked state;
    state->protect_none(shared_among_processes);
}

// Words that threads wait by, in structures of the kernel's newer calls.
void keep_waiters_open(long waiters, long count) {
    struct Waiter {
        std::uint64_t value;
        std::uintptr_t word;
        std::uint32_t flags, reserved;
    };
    constexpr long most = 128;
    if (!is_watching() || count <= 0 || count > most) return;
    const auto* const all = pointer<const Waiter>(static_cast<std::uintptr_t>(waiters));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof *all;
    keep_open(all, bytes);
    if (!can_read(all, bytes)) return;
    for (long i = 0; i < count; ++i) keep_words_open({all[i].word}, 1);
}

const char* const* texts(std::uintptr_t list) {
    return pointer<const char* const>(list);
}

// The kernel takes 32 bits of these, whatever is above them.
std::size_t count_of(std::uintptr_t word) {
    return static_cast<unsigned>(word);
}

const iovec* of_this_process(std::uintptr_t process, std::uintptr_t parts) {
    if (static_cast<pid_t>(process) == getpid()) return pointer<const iovec>(parts);
    note_shared();
    return nullptr;
}

// Whether a call waits or wakes by words of the program's memory, which are kept open.
bool keep_waited_open(long number, const SystemWords& words) {
    constexpr long futex_waitv = 449, futex_wake = 454, futex_wait = 455, futex_requeue = 456;
    const bool has_waiters = number == futex_waitv || number == futex_requeue;
    if (has_waiters) {
        keep_waiters_open(static_cast<long>(words[0]), number == futex_waitv ? static_cast<long>(words[1]) : 2);
        keep_words_open(words, number == futex_waitv ? 0b1000U : 0U);
    } else if (number == SYS_futex || number == futex_wake || number == futex_wait) {
        // The first one's fourth is another word, or a time.
        keep_words_open(words, number == SYS_futex ? 0b11001U : 0b10001U);
    } else {
        return false;
    }
    return true;
}

// Used later, by threads of the C library's own.
void let_requests_go(const aiocb* const requests[], int count) {
    if (!is_watching()) return;
    for (int i = 0; i < count; ++i) {
        if (requests[i] != nullptr) let_go(const_cast<const void*>(requests[i]->aio_buf), requests[i]->aio_nbytes);
    }
}

// Calls that this library itself makes with the lock held, and others that are given no buffer.
bool takes_no_buffer(long number) {
    switch (number) {
        case SYS_rt_sigprocmask:
        case SYS_mprotect:
        case SYS_gettid:
        case SYS_getpid:
        case SYS_sched_yield:
        case SYS_membarrier:
        case SYS_tgkill:
        case SYS_rt_tgsigqueueinfo:
        case SYS_sigaltstack: return true;
        default: return false;
    }
}

// Whether what a function is given is the name of a file that it opens.
constexpr bool opens_files(std::string_view name) {
    return name == "open" || name == "open64" || name == "openat" || name == "openat64";
}

}  // namespace
}  // namespace isthmus::races

// As many as a line has room for. Parameters are counted from 0.
// clang-format off
// X(name, which one is the buffer, which its length, whether the kernel writes there)
#define ISTHMUS_BUFFERS(X)                                                                                            \
    X(read, 1, 2, true) X(__read_chk, 1, 2, true) X(pread, 1, 2, true) X(pread64, 1, 2, true)                         \
    X(__pread_chk, 1, 2, true) X(__pread64_chk, 1, 2, true) X(recv, 1, 2, true) X(__recv_chk, 1, 2, true)             \
    X(getrandom, 0, 1, true) X(write, 1, 2, false) X(pwrite, 1, 2, false) X(pwrite64, 1, 2, false)                    \
    X(send, 1, 2, false)
// The C library reads and writes large parts of files by itself. X(name, which one is the size of an item, whether ...)
#define ISTHMUS_ITEMS(X)                                                                                              \
    X(fread, 1, true) X(fread_unlocked, 1, true) X(__fread_chk, 2, true) X(__fread_unlocked_chk, 2, true)             \
    X(fwrite, 1, false) X(fwrite_unlocked, 1, false)
#define ISTHMUS_TEXTS(X)                                                                                              \
    X(fputs) X(fputs_unlocked) X(puts)
// X(name, whether the kernel writes there): the vectors are the second, their number is the third.
#define ISTHMUS_VECTORS(X)                                                                                            \
    X(readv, true) X(preadv, true) X(preadv64, true) X(preadv2, true) X(preadv64v2, true)                             \
    X(writev, false) X(pwritev, false) X(pwritev64, false) X(pwritev2, false) X(pwritev64v2, false)
// X(name, which one is the memory, which its length)
#define ISTHMUS_CHANGED(X)                                                                                            \
    X(mprotect, 0, 1) X(pkey_mprotect, 0, 1) X(munmap, 0, 1) X(madvise, 0, 1) X(posix_madvise, 0, 1) X(mlock, 0, 1)   \
    X(mlock2, 0, 1) X(setvbuf, 1, 3) X(setbuffer, 1, 2)
// How much of these is used, and whether it is written, is not looked at: what they touch of a copy is not reported.
// X(name, which ones are pointers: bit 0 is the first)
#define ISTHMUS_SMALL(X)                                                                                              \
    /* Names of files. */                                                                                             \
    X(open, 0b1) X(open64, 0b1) X(openat, 0b10) X(openat64, 0b10) X(__open_2, 0b1) X(__open64_2, 0b1)                 \
    X(__openat_2, 0b10) X(__openat64_2, 0b10) X(creat, 0b1) X(creat64, 0b1) X(access, 0b1) X(faccessat, 0b10)         \
    X(euidaccess, 0b1) X(eaccess, 0b1) X(chdir, 0b1) X(chmod, 0b1) X(lchmod, 0b1) X(chown, 0b1) X(lchown, 0b1)        \
    X(fchmodat, 0b10) X(fchownat, 0b10) X(chroot, 0b1) X(acct, 0b1) X(link, 0b11) X(linkat, 0b1010) X(symlink, 0b11)  \
    X(symlinkat, 0b101) X(rename, 0b11) X(renameat, 0b1010) X(renameat2, 0b1010) X(unlink, 0b1) X(unlinkat, 0b10)     \
    X(rmdir, 0b1) X(remove, 0b1) X(mkdir, 0b1) X(mkdirat, 0b10) X(mkfifo, 0b1) X(mkfifoat, 0b10) X(mknod, 0b1)        \
    X(mknodat, 0b10) X(truncate, 0b1) X(truncate64, 0b1) X(pathconf, 0b1) X(__realpath_chk, 0b11)                     \
    X(canonicalize_file_name, 0b1) X(readlink, 0b11) X(readlinkat, 0b110) X(__readlink_chk, 0b11)                     \
    X(__readlinkat_chk, 0b110) X(getcwd, 0b1) X(__getcwd_chk, 0b1) X(getwd, 0b1) X(fopen, 0b11) X(fopen64, 0b11)      \
    X(freopen, 0b11) X(freopen64, 0b11) X(opendir, 0b1) X(scandir, 0b1) X(scandir64, 0b1) X(mkstemp, 0b1)             \
    X(mkstemp64, 0b1) X(mkostemp, 0b1) X(mkostemp64, 0b1) X(mkstemps, 0b1) X(mkostemps, 0b1) X(mkdtemp, 0b1)          \
    X(inotify_add_watch, 0b10) X(memfd_create, 0b1) X(shm_open, 0b1) X(shm_unlink, 0b1) X(mq_open, 0b1001)            \
    X(mq_unlink, 0b1) X(name_to_handle_at, 0b1110) X(open_by_handle_at, 0b10)                                         \
    /* What is known of files and file systems. */                                                                    \
    X(stat, 0b11) X(lstat, 0b11) X(fstat, 0b10) X(stat64, 0b11) X(lstat64, 0b11) X(fstat64, 0b10) X(fstatat, 0b110)   \
    X(fstatat64, 0b110) X(statx, 0b10010) X(__xstat, 0b110) X(__lxstat, 0b110) X(__fxstat, 0b100)                     \
    X(__xstat64, 0b110) X(__lxstat64, 0b110) X(__fxstat64, 0b100) X(__fxstatat, 0b1100) X(__fxstatat64, 0b1100)       \
    X(__xmknod, 0b10) X(__xmknodat, 0b100) X(statfs, 0b11) X(statfs64, 0b11) X(fstatfs, 0b10) X(fstatfs64, 0b10)      \
    X(statvfs, 0b11) X(statvfs64, 0b11) X(fstatvfs, 0b10) X(fstatvfs64, 0b10) X(utime, 0b11) X(utimes, 0b11)          \
    X(lutimes, 0b11) X(futimes, 0b10) X(futimesat, 0b110) X(futimens, 0b10) X(utimensat, 0b110) X(getxattr, 0b111)    \
    X(lgetxattr, 0b111) X(fgetxattr, 0b110) X(listxattr, 0b11) X(llistxattr, 0b11) X(flistxattr, 0b10)                \
    X(setxattr, 0b111) X(lsetxattr, 0b111) X(fsetxattr, 0b110) X(removexattr, 0b11) X(lremovexattr, 0b11)             \
    X(fremovexattr, 0b10)                                                                                             \
    /* What devices, sockets and pipes are asked and given. */                                                        \
    X(ioctl, 0b100) X(fcntl, 0b100) X(fcntl64, 0b100) X(pipe, 0b1) X(pipe2, 0b1) X(socketpair, 0b1000) X(bind, 0b10)  \
    X(connect, 0b10) X(accept, 0b110) X(accept4, 0b110) X(getsockname, 0b110) X(getpeername, 0b110)                   \
    X(getsockopt, 0b11000) X(epoll_ctl, 0b1000) X(sendfile, 0b100) X(sendfile64, 0b100) X(splice, 0b1010)             \
    X(copy_file_range, 0b1010) X(msgctl, 0b100) X(shmctl, 0b100) X(semctl, 0b1000) X(mq_getattr, 0b10)                \
    X(mq_setattr, 0b110) X(mq_notify, 0b10)                                                                           \
    /* Times, limits, processes and signals. */                                                                       \
    X(nanosleep, 0b11) X(clock_nanosleep, 0b1100) X(clock_gettime, 0b10) X(clock_getres, 0b10) X(getitimer, 0b10)     \
    X(setitimer, 0b110) X(timer_create, 0b110) X(timer_settime, 0b1100) X(timer_gettime, 0b10)                        \
    X(timerfd_settime, 0b1100) X(timerfd_gettime, 0b10) X(getrlimit, 0b10) X(getrlimit64, 0b10) X(setrlimit, 0b10)    \
    X(setrlimit64, 0b10) X(prlimit, 0b1100) X(prlimit64, 0b1100) X(getrusage, 0b10) X(times, 0b1) X(sysinfo, 0b1)     \
    X(uname, 0b1) X(getresuid, 0b111) X(getresgid, 0b111) X(getcpu, 0b11) X(sched_getparam, 0b10)                     \
    X(sched_setparam, 0b10) X(sched_setscheduler, 0b100) X(sched_rr_get_interval, 0b10) X(wait, 0b1)                  \
    X(waitpid, 0b10) X(wait3, 0b101) X(wait4, 0b1010) X(waitid, 0b100) X(sigpending, 0b1) X(sigtimedwait, 0b111)      \
    X(sigwaitinfo, 0b11) X(sigwait, 0b11) X(sigqueue, 0b100) X(signalfd, 0b10) X(capget, 0b11) X(capset, 0b11)        \
    X(getentropy, 0b1)
// The same where one of them may be longer. X(name, which ones are pointers, bytes of the longest)
#define ISTHMUS_LONG(X)                                                                                               \
    X(poll, 0b1, b * sizeof(pollfd)) X(__poll_chk, 0b1, b * sizeof(pollfd)) X(select, 0b11110, count_of(a) / 8)       \
    X(epoll_wait, 0b10, count_of(c) * sizeof(epoll_event)) X(getdents64, 0b10, c)                                     \
    X(getgroups, 0b10, count_of(a) * sizeof(gid_t)) X(mincore, 0b100, b / isthmus::system_page()) X(mq_send, 0b10, c) \
    X(msgsnd, 0b10, c + sizeof(long)) X(msgrcv, 0b10, c + sizeof(long))                                               \
    X(mq_timedsend, 0b10010, c) X(mq_receive, 0b1010, c) X(mq_timedreceive, 0b11010, c)                               \
    X(setsockopt, 0b1000, count_of(e)) X(semop, 0b10, c * sizeof(sembuf)) X(semtimedop, 0b1010, c * sizeof(sembuf))   \
    X(sched_getaffinity, 0b100, b) X(sched_setaffinity, 0b100, b) X(pthread_getaffinity_np, 0b100, b)                 \
    X(pthread_setaffinity_np, 0b100, b)
// Words that threads wait by (futex), and times. X(name, which ones are pointers)
#define ISTHMUS_WORDS_WAITED_FOR(X)                                                                                   \
    X(pthread_mutex_lock, 0b1) X(pthread_mutex_trylock, 0b1) X(pthread_mutex_timedlock, 0b11)                         \
    X(pthread_mutex_clocklock, 0b101) X(pthread_mutex_unlock, 0b1) X(pthread_mutex_setprioceiling, 0b1)               \
    X(mtx_lock, 0b1) X(mtx_trylock, 0b1) X(mtx_timedlock, 0b11) X(mtx_unlock, 0b1) X(pthread_once, 0b1)               \
    X(call_once, 0b1) X(sem_wait, 0b1) X(sem_timedwait, 0b11) X(sem_clockwait, 0b101) X(sem_post, 0b1)                \
    X(pthread_cond_signal, 0b1) X(pthread_cond_broadcast, 0b1) X(pthread_cond_wait, 0b11)                             \
    X(pthread_cond_timedwait, 0b111) X(pthread_cond_clockwait, 0b1011) X(pthread_cond_destroy, 0b1)                   \
    X(cnd_signal, 0b1) X(cnd_broadcast, 0b1) X(cnd_wait, 0b11) X(cnd_timedwait, 0b111) X(cnd_destroy, 0b1)            \
    X(pthread_barrier_wait, 0b1) X(pthread_barrier_destroy, 0b1) X(pthread_rwlock_rdlock, 0b1)                        \
    X(pthread_rwlock_wrlock, 0b1) X(pthread_rwlock_tryrdlock, 0b1) X(pthread_rwlock_trywrlock, 0b1)                   \
    X(pthread_rwlock_timedrdlock, 0b11) X(pthread_rwlock_timedwrlock, 0b11) X(pthread_rwlock_clockrdlock, 0b101)      \
    X(pthread_rwlock_clockwrlock, 0b101) X(pthread_rwlock_unlock, 0b1)
// X(name, the path or command, the list of arguments, that of the environment)
#define ISTHMUS_EXECUTED(X)                                                                                           \
    X(system, a, 0, environ) X(popen, a, 0, environ) X(execv, a, b, environ) X(execvp, a, b, environ)                 \
    X(execve, a, b, texts(c)) X(execvpe, a, b, texts(c)) X(execveat, b, c, texts(d)) X(fexecve, 0, b, texts(c))

// clang-format on

// With integers and pointers, six at most, of the C library's present version; `...` is done before the next one is
// called. By another name, for headers declare these as they are.
#define ISTHMUS_SIX_WORDS \
    std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t d, std::uintptr_t e, std::uintptr_t f
using TakesSixWords = std::uintptr_t (*)(ISTHMUS_SIX_WORDS);
#define ISTHMUS_TAKE(name, ...)                                                                                        \
    ISTHMUS_NEXT(name, TakesSixWords)                                                                                  \
    extern "C" __attribute__((visibility("default"))) std::uintptr_t isthmus_##name(ISTHMUS_SIX_WORDS) __asm__(#name); \
    std::uintptr_t isthmus_##name(ISTHMUS_SIX_WORDS) {                                                                 \
        const auto next = ISTHMUS_NEXT_OF(name);                                                                       \
        if (next == nullptr) return errno = ENOSYS, UINTPTR_MAX;                                                       \
        [[maybe_unused]] const SystemWords words{a, b, c, d, e, f};                                                    \
        __VA_ARGS__;                                                                                                   \
        return next(a, b, c, d, e, f);                                                                                 \
    }
#define ISTHMUS_BUFFER(name, at, length, writes) \
    ISTHMUS_TAKE(name, const Given given(pointer(words[at]), words[length], writes))
#define ISTHMUS_ITEM(name, size, writes) \
    ISTHMUS_TAKE(name, const Given given(pointer(a), words[size] * words[(size) + 1], writes))
#define ISTHMUS_TEXT(name)                       ISTHMUS_TAKE(name, const Given given(pointer(a), std::strlen(pointer<const char>(a)), false))
#define ISTHMUS_VECTOR(name, writes)             ISTHMUS_TAKE(name, const Given given(pointer<const iovec>(b), count_of(c), writes))
#define ISTHMUS_CHANGES(name, at, length)        ISTHMUS_TAKE(name, let_go(pointer(words[at]), words[length]))
#define ISTHMUS_USES_LONG(name, pointers, bytes) ISTHMUS_TAKE(name, const Given given(words, pointers, bytes))
#define ISTHMUS_WAITS(name, pointers)            ISTHMUS_TAKE(name, keep_words_open(words, pointers))
#define ISTHMUS_EXECUTES(name, path, arguments, environment)                                         \
    ISTHMUS_TAKE(name, keep_text_open(pointer<const char>(path)); keep_texts_open(texts(arguments)); \
                 keep_texts_open(environment))
#define ISTHMUS_USES(name, pointers)                                                  \
    ISTHMUS_TAKE(                                                                     \
        name, const Given given(words, pointers); if constexpr (opens_files(#name)) { \
            const std::uintptr_t opened = next(a, b, c, d, e, f);                     \
            if (static_cast<int>(opened) >= 0 || errno != EFAULT)                     \
                note_opened(pointer<const char>((pointers) == 1 ? a : b));            \
            return opened;                                                            \
        })

using namespace isthmus::races;
// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): the C library's names.
ISTHMUS_BUFFERS(ISTHMUS_BUFFER)
ISTHMUS_ITEMS(ISTHMUS_ITEM)
ISTHMUS_TEXTS(ISTHMUS_TEXT)
ISTHMUS_VECTORS(ISTHMUS_VECTOR)
ISTHMUS_CHANGED(ISTHMUS_CHANGES)
ISTHMUS_SMALL(ISTHMUS_USES)
ISTHMUS_LONG(ISTHMUS_USES_LONG)
ISTHMUS_WORDS_WAITED_FOR(ISTHMUS_WAITS)
ISTHMUS_EXECUTED(ISTHMUS_EXECUTES)
ISTHMUS_TAKE(setbuf, let_go(pointer(b), BUFSIZ))
ISTHMUS_TAKE(prctl, const Given given(words, 0b11110); if (static_cast<int>(a) == PR_SET_PTRACER) note_shared())
// The second list is of another process, where that is not this one.
ISTHMUS_TAKE(process_vm_readv, const Given ours(pointer<const iovec>(b), count_of(c), true);
             const Given others(of_this_process(a, d), count_of(e), false))
ISTHMUS_TAKE(process_vm_writev, const Given ours(pointer<const iovec>(b), count_of(c), false);
             const Given others(of_this_process(a, d), count_of(e), true))
ISTHMUS_TAKE(recvmsg, const Given given(pointer<const msghdr>(b), true))
ISTHMUS_TAKE(sendmsg, const Given given(pointer<const msghdr>(b), false))
ISTHMUS_TAKE(recvmmsg, const Given given(pointer<const mmsghdr>(b), static_cast<unsigned>(c), true);
             const Given timeout(words, 0b10000))
ISTHMUS_TAKE(sendmmsg, const Given given(pointer<const mmsghdr>(b), static_cast<unsigned>(c), false))
ISTHMUS_TAKE(recvfrom, const Given given(pointer(b), c, true); const Given sender(words, 0b110000))
ISTHMUS_TAKE(sendto, const Given given(pointer(b), c, false); const Given receiver(words, 0b10000))
ISTHMUS_TAKE(
    vmsplice, for (std::size_t i = 0; is_watching() && i < c; ++i) {
        const auto* part = pointer<const iovec>(b) + i;
        if (!can_read(part, sizeof *part)) break;
        let_go(part->iov_base, part->iov_len);
    })
// What is put at the last one is other memory, or none.
ISTHMUS_TAKE(mremap, let_go(pointer(a), b); if ((d & MREMAP_FIXED) != 0) let_go(pointer(e), c))
// Both are one structure where addresses have 64 bits.
ISTHMUS_TAKE(aio_read, const auto* request = pointer<const aiocb>(a); let_requests_go(&request, 1))
ISTHMUS_TAKE(aio_read64, const auto* request = pointer<const aiocb>(a); let_requests_go(&request, 1))
ISTHMUS_TAKE(aio_write, const auto* request = pointer<const aiocb>(a); let_requests_go(&request, 1))
ISTHMUS_TAKE(aio_write64, const auto* request = pointer<const aiocb>(a); let_requests_go(&request, 1))
ISTHMUS_TAKE(lio_listio, let_requests_go(pointer<const aiocb* const>(b), static_cast<int>(c)))
ISTHMUS_TAKE(lio_listio64, let_requests_go(pointer<const aiocb* const>(b), static_cast<int>(c)))

using ReceivesChecked = ssize_t (*)(int, void*, std::size_t, std::size_t, int, sockaddr*, socklen_t*);
ISTHMUS_NEXT(__recvfrom_chk, ReceivesChecked)
using CallsByNumber = long (*)(long, ...);
using FillsWithRandom = void (*)(void*, std::size_t);
ISTHMUS_NEXT(arc4random_buf, FillsWithRandom)
ISTHMUS_NEXT(syscall, CallsByNumber)

extern "C" {
// The one of more than six: the third is the buffer's size, for a check.
__attribute__((visibility("default"))) ssize_t __recvfrom_chk(int socket, void* buffer, std::size_t bytes,
                                                              std::size_t room, int flags, sockaddr* sender,
                                                              socklen_t* sender_bytes) {
    const auto next = ISTHMUS_NEXT_OF(__recvfrom_chk);
    if (next == nullptr) return errno = ENOSYS, -1;
    const Given given(buffer, bytes, true);
    const Given others({reinterpret_cast<std::uintptr_t>(sender), reinterpret_cast<std::uintptr_t>(sender_bytes)},
                       0b11);
    return next(socket, buffer, bytes, room, flags, sender, sender_bytes);
}

// Some programs take it where it is there, and older C libraries have none.
__attribute__((visibility("default"))) void arc4random_buf(void* memory, std::size_t bytes) {
    const Given given(memory, bytes, true);
    if (const auto next = ISTHMUS_NEXT_OF(arc4random_buf)) return next(memory, bytes);
    for (auto* at = static_cast<std::byte*>(memory); bytes != 0;) {
        const ssize_t more = ::getrandom(at, bytes, 0);
        if (more < 0 && errno != EINTR) std::abort();
        at += std::max(more, ssize_t{0});
        bytes -= static_cast<std::size_t>(std::max(more, ssize_t{0}));
    }
}

// With as many arguments as there are: these go on, as the C library's do, to those that take a list.
#define ISTHMUS_EXECUTES_ALL(name, executes, has_environment)                                      \
    __attribute__((visibility("default"))) int name(const char* path, const char* first, ...) {    \
        std::va_list list;                                                                         \
        va_start(list, first);                                                                     \
        std::size_t count = 1;                                                                     \
        while (va_arg(list, const char*) != nullptr) ++count;                                      \
        va_end(list);                                                                              \
        va_start(list, first);                                                                     \
        auto** const arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*)));         \
        arguments[0] = const_cast<char*>(first);                                                   \
        for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*);               \
        char* const* const environment = (has_environment) ? va_arg(list, char* const*) : environ; \
        va_end(list);                                                                              \
        return executes(path, arguments, environment);                                             \
    }
ISTHMUS_EXECUTES_ALL(execl, execve, false)
ISTHMUS_EXECUTES_ALL(execlp, execvpe, false)
ISTHMUS_EXECUTES_ALL(execle, execve, true)

// By number: whatever memory it names is let go, and its structures are not known.
__attribute__((visibility("default"))) long syscall(long number, ...) {
    const auto next = ISTHMUS_NEXT_OF(syscall);
    if (next == nullptr) return errno = ENOSYS, -1;
    std::va_list list;
    va_start(list, number);
    std::array<long, 6> words{};
    for (long& word : words) word = va_arg(list, long);
    va_end(list);
    constexpr long first_of_io_uring = 425, last_of_io_uring = 427;
    SystemWords given{};
    std::copy(words.begin(), words.end(), given.begin());
    if (isthmus::races::is_watching() && !keep_waited_open(number, given) && !takes_no_buffer(number)) {
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
