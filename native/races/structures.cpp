// Hooks the C library's functions that give the kernel names, structures and words of locks, all by one table.
//
// Which of them is read or written, and how much of it, is not looked at: what they touch of a copy is not reported.
#include <cerrno>
#include <cstring>
#include <string_view>

#include "interpose/hooks/hooks.hpp"
#include "races/given.hpp"
#include "races/state.hpp"
#include "races/thread.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::races {
namespace {

// GDRCopy maps memory of devices: kernels and copies may write there what the host waits for.
void note_opened(std::uintptr_t path) {
    const auto* const name = reinterpret_cast<const char*>(path);  // NOLINT(performance-no-int-to-ptr)
    if (name == nullptr || !is_enabled() || std::strncmp(name, "/dev/gdrdrv", std::strlen("/dev/gdrdrv")) != 0) return;
    const Locked state;
    state->kernels_signal = state->maps_device = true;
}

}  // namespace
}  // namespace isthmus::races

// X(name, which of its parameters are pointers: bit 0 is the first). All are integers and pointers, six at most.
// As many as a line has room for.
// clang-format off
#define ISTHMUS_GIVEN(X)                                                                                              \
    /* Names of files. */                                                                                             \
    X(open, 0b1) X(open64, 0b1) X(openat, 0b10) X(openat64, 0b10) X(__open_2, 0b1) X(__open64_2, 0b1)                 \
    X(__openat_2, 0b10) X(__openat64_2, 0b10) X(creat, 0b1) X(creat64, 0b1) X(access, 0b1) X(faccessat, 0b10)         \
    X(euidaccess, 0b1) X(eaccess, 0b1) X(chdir, 0b1) X(chmod, 0b1) X(lchmod, 0b1) X(chown, 0b1) X(lchown, 0b1)        \
    X(fchmodat, 0b10) X(fchownat, 0b10) X(chroot, 0b1) X(acct, 0b1) X(link, 0b11) X(linkat, 0b1010)                   \
    X(symlink, 0b11) X(symlinkat, 0b101) X(rename, 0b11) X(renameat, 0b1010) X(renameat2, 0b1010) X(unlink, 0b1)      \
    X(unlinkat, 0b10) X(rmdir, 0b1) X(remove, 0b1) X(mkdir, 0b1) X(mkdirat, 0b10) X(mkfifo, 0b1) X(mkfifoat, 0b10)    \
    X(mknod, 0b1) X(mknodat, 0b10) X(truncate, 0b1) X(truncate64, 0b1) X(pathconf, 0b1) X(realpath, 0b11)             \
    X(__realpath_chk, 0b11) X(canonicalize_file_name, 0b1) X(readlink, 0b11) X(readlinkat, 0b110)                     \
    X(__readlink_chk, 0b11) X(__readlinkat_chk, 0b110) X(getcwd, 0b1) X(__getcwd_chk, 0b1) X(getwd, 0b1)              \
    X(fopen, 0b11) X(fopen64, 0b11) X(freopen, 0b11) X(freopen64, 0b11) X(opendir, 0b1) X(scandir, 0b1)               \
    X(scandir64, 0b1) X(mkstemp, 0b1) X(mkstemp64, 0b1) X(mkostemp, 0b1) X(mkostemp64, 0b1) X(mkstemps, 0b1)          \
    X(mkostemps, 0b1) X(mkdtemp, 0b1) X(inotify_add_watch, 0b10) X(memfd_create, 0b1) X(shm_open, 0b1)                \
    X(shm_unlink, 0b1) X(mq_open, 0b1001) X(mq_unlink, 0b1) X(name_to_handle_at, 0b1110) X(open_by_handle_at, 0b10)   \
    X(execve, 0b1) X(execv, 0b1) X(execvp, 0b1) X(execvpe, 0b1) X(execveat, 0b10) X(fexecve, 0b10)                    \
    X(posix_spawn, 0b10) X(posix_spawnp, 0b10)                                                                        \
    /* What is known of files and file systems. */                                                                    \
    X(stat, 0b11) X(lstat, 0b11) X(fstat, 0b10) X(stat64, 0b11) X(lstat64, 0b11) X(fstat64, 0b10) X(fstatat, 0b110)   \
    X(fstatat64, 0b110) X(statx, 0b10010) X(__xstat, 0b110) X(__lxstat, 0b110) X(__fxstat, 0b100)                     \
    X(__xstat64, 0b110) X(__lxstat64, 0b110) X(__fxstat64, 0b100) X(__fxstatat, 0b1100) X(__fxstatat64, 0b1100)       \
    X(__xmknod, 0b10) X(__xmknodat, 0b100) X(statfs, 0b11) X(statfs64, 0b11) X(fstatfs, 0b10) X(fstatfs64, 0b10)      \
    X(statvfs, 0b11) X(statvfs64, 0b11) X(fstatvfs, 0b10) X(fstatvfs64, 0b10) X(getdents64, 0b10) X(ustat, 0b10)      \
    X(utime, 0b11) X(utimes, 0b11) X(lutimes, 0b11) X(futimes, 0b10) X(futimesat, 0b110) X(futimens, 0b10)            \
    X(utimensat, 0b110) X(getxattr, 0b111) X(lgetxattr, 0b111) X(fgetxattr, 0b110) X(listxattr, 0b11)                 \
    X(llistxattr, 0b11) X(flistxattr, 0b10) X(setxattr, 0b111) X(lsetxattr, 0b111) X(fsetxattr, 0b110)                \
    X(removexattr, 0b11) X(lremovexattr, 0b11) X(fremovexattr, 0b10) X(mincore, 0b100)                                \
    /* What devices, sockets and pipes are asked and given. */                                                        \
    X(ioctl, 0b100) X(fcntl, 0b100) X(fcntl64, 0b100) X(pipe, 0b1) X(pipe2, 0b1) X(socketpair, 0b1000)                \
    X(bind, 0b10) X(connect, 0b10) X(accept, 0b110) X(accept4, 0b110) X(getsockname, 0b110) X(getpeername, 0b110)     \
    X(getsockopt, 0b11000) X(setsockopt, 0b1000) X(poll, 0b1) X(__poll_chk, 0b1) X(select, 0b11110)                   \
    X(epoll_ctl, 0b1000) X(epoll_wait, 0b10) X(sendfile, 0b100) X(sendfile64, 0b100) X(splice, 0b1010)                \
    X(copy_file_range, 0b1010) X(msgsnd, 0b10) X(msgrcv, 0b10) X(msgctl, 0b100) X(shmctl, 0b100) X(semctl, 0b1000)    \
    X(semop, 0b10) X(semtimedop, 0b1010) X(mq_send, 0b10) X(mq_timedsend, 0b10010) X(mq_receive, 0b10)                \
    X(mq_timedreceive, 0b11010) X(mq_getattr, 0b10) X(mq_setattr, 0b110) X(mq_notify, 0b10)                           \
    /* Times, limits, processes and signals. */                                                                       \
    X(nanosleep, 0b11) X(clock_nanosleep, 0b1100) X(clock_gettime, 0b10) X(clock_getres, 0b10) X(getitimer, 0b10)     \
    X(setitimer, 0b110) X(timer_create, 0b110) X(timer_settime, 0b1100) X(timer_gettime, 0b10)                        \
    X(timerfd_settime, 0b1100) X(timerfd_gettime, 0b10) X(getrlimit, 0b10) X(getrlimit64, 0b10) X(setrlimit, 0b10)    \
    X(setrlimit64, 0b10) X(prlimit, 0b1100) X(prlimit64, 0b1100) X(getrusage, 0b10) X(times, 0b1) X(sysinfo, 0b1)     \
    X(uname, 0b1) X(getgroups, 0b10) X(getresuid, 0b111) X(getresgid, 0b111) X(getcpu, 0b11)                          \
    X(sched_getaffinity, 0b100) X(sched_setaffinity, 0b100) X(pthread_getaffinity_np, 0b100)                          \
    X(pthread_setaffinity_np, 0b100) X(sched_getparam, 0b10) X(sched_setparam, 0b10) X(sched_setscheduler, 0b100)     \
    X(sched_rr_get_interval, 0b10) X(wait, 0b1) X(waitpid, 0b10) X(wait3, 0b101) X(wait4, 0b1010) X(waitid, 0b100)    \
    X(sigpending, 0b1) X(sigtimedwait, 0b111) X(sigwaitinfo, 0b11) X(sigwait, 0b11) X(sigqueue, 0b100)                \
    X(signalfd, 0b10) X(prctl, 0b11110) X(capget, 0b11) X(capset, 0b11) X(getentropy, 0b1)                            \
    /* Words that threads wait by (futex). A mutex tries again, and touches it. */                                    \
    X(sem_wait, 0b1) X(sem_timedwait, 0b11) X(sem_clockwait, 0b101) X(sem_post, 0b1) X(pthread_cond_signal, 0b1)      \
    X(pthread_cond_broadcast, 0b1) X(pthread_rwlock_unlock, 0b1) X(pthread_cond_wait, 0b1)                            \
    X(pthread_cond_timedwait, 0b1) X(pthread_cond_clockwait, 0b1) X(cnd_wait, 0b1) X(cnd_timedwait, 0b1)              \
    X(pthread_barrier_wait, 0b1) X(pthread_rwlock_rdlock, 0b1) X(pthread_rwlock_wrlock, 0b1)                          \
    X(pthread_rwlock_timedrdlock, 0b1) X(pthread_rwlock_timedwrlock, 0b1) X(pthread_rwlock_clockrdlock, 0b1)          \
    X(pthread_rwlock_clockwrlock, 0b1)

// clang-format on
// By another name, for headers declare these as they are.
#define ISTHMUS_HOOK(name, pointers)                                                                      \
    extern "C" __attribute__((visibility("default")))                                                     \
    std::uintptr_t isthmus_##name(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t d, \
                                  std::uintptr_t e, std::uintptr_t f) __asm__(#name);                     \
    std::uintptr_t isthmus_##name(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t d, \
                                  std::uintptr_t e, std::uintptr_t f) {                                   \
        using Next = std::uintptr_t (*)(std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t,   \
                                        std::uintptr_t, std::uintptr_t);                                  \
        static Next known = nullptr;                                                                      \
        const auto next = isthmus::interpose::known_or_found(known, #name);                               \
        if (next == nullptr) return errno = ENOSYS, UINTPTR_MAX;                                          \
        if constexpr (std::string_view(#name).starts_with("open")) {                                      \
            isthmus::races::note_opened(pointers == 1 ? a : b);                                           \
        }                                                                                                 \
        const isthmus::races::Given given({a, b, c, d, e, f}, pointers);                                  \
        return next(a, b, c, d, e, f);                                                                    \
    }
// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): the C library's names.
ISTHMUS_GIVEN(ISTHMUS_HOOK)
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)

#endif
