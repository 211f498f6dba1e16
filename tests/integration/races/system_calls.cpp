// Programs that give the kernel memory on pages of an unfinished copy, in the calls of the C library and without it.
//
//   system_calls CASE
//
// prints what it sees, which is to be the same under `isthmus races`.
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/integration/races/under_way.hpp"

// By a name of its own: the header declares it, too, where a compiler fortifies by default, as Ubuntu's does.
extern "C" ssize_t checked_recvfrom(int, void*, size_t, size_t, int, void*, socklen_t*) __asm__("__recvfrom_chk");

namespace {

// Names, structures and words of locks on a page of a copy, which the kernel uses. What each call says is the same, and
// the copy of the rest of the page is not reported.
void given() {
    UnderWay copy(true);
    std::byte* const begin = copy.host.data();
    char name[] = "/tmp/givenXXXXXX";
    const int file = mkstemp(name);
    int ends[2], sockets[2];
    expect(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
    const int waits = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    // The structure is made while nothing is under way, and used while a copy is.
    const auto with = [&](const char* what, const auto& value, const auto& call) {
        driver->cuStreamSynchronize(copy.stream);
        std::memset(begin, 0, 1024);
        auto* const there = new (begin) std::decay_t<decltype(value)>(value);
        expect(driver->cuMemcpyDtoHAsync(begin + 1024, copy.device.address, 2048, copy.stream) == success);
        errno = 0;
        const long code = static_cast<long>(call(there));
        std::printf("%s %ld %d\n", what, code < 0 ? -1 : code, errno);
    };
    struct Name {
        char text[64];
    } path{};
    std::strncpy(path.text, name, sizeof path.text - 1);
    struct Missing : Name {
    } missing{};
    std::strncpy(missing.text, "/nowhere/x", sizeof missing.text - 1);
    with("open", path, [](Name* at) { return close(open(at->text, O_RDONLY | O_CLOEXEC)); });
    with("access", path, [](Name* at) { return access(at->text, R_OK); });
    with("chmod", path, [](Name* at) { return chmod(at->text, 0600); });
    with("rename", missing, [](Name* at) { return rename(at->text, at->text); });
    with("getcwd", path, [](Name* at) { return getcwd(at->text, sizeof at->text) != nullptr; });
    with("readlink", path, [](Name* at) { return readlink("/proc/self/cwd", at->text, sizeof at->text) > 0; });
    with("fopen", path, [](Name* at) { return std::fclose(std::fopen(at->text, "r")); });
    with("realpath", path, [](Name* at) { return realpath(at->text, nullptr) != nullptr; });
    with("execve", missing, [](Name* at) { return execve(at->text, std::array<char*, 2>{at->text}.data(), environ); });
    with("getxattr", path, [](Name* at) { return getxattr(at->text, "user.none", nullptr, 0); });
    with("stat", Name{}, [](Name* at) { return stat("/", reinterpret_cast<struct stat*>(at)); });
    with("fstatat", path,
         [](Name* at) { return fstatat(AT_FDCWD, at->text, reinterpret_cast<struct stat*>(at->text + 128), 0); });
    with("statvfs", Name{}, [](Name* at) { return statvfs("/", reinterpret_cast<struct statvfs*>(at)); });
    with("poll", pollfd{1, 0, 0}, [](pollfd* at) { return poll(at, 1, 0); });
    with("ppoll", pollfd{1, 0, 0}, [](pollfd* at) {
        sigset_t none;
        sigemptyset(&none);
        const timespec now{};
        return ppoll(at, 1, &now, &none);
    });
    with("select", fd_set{}, [&](fd_set* at) {
        timeval now{};
        FD_SET(ends[1], at);
        return select(ends[1] + 1, nullptr, at, nullptr, &now);
    });
    with("epoll_ctl", epoll_event{EPOLLOUT, {}},
         [&](epoll_event* at) { return epoll_ctl(waits, EPOLL_CTL_ADD, ends[1], at); });
    with("epoll_wait", epoll_event{}, [&](epoll_event* at) { return epoll_wait(waits, at, 1, 0); });
    with("ioctl", 0, [&](int* at) { return ioctl(ends[0], FIONREAD, at); });
    with("fcntl", flock{F_WRLCK, SEEK_SET, 0, 0, 0}, [&](flock* at) { return fcntl(file, F_GETLK, at); });
    with("getsockopt", socklen_t{4},
         [&](socklen_t* at) { return getsockopt(sockets[0], SOL_SOCKET, SO_TYPE, at + 8, at); });
    with("getsockname", socklen_t{64},
         [&](socklen_t* at) { return getsockname(sockets[0], reinterpret_cast<sockaddr*>(at + 8), at); });
    with("pipe", Name{}, [](Name* at) { return pipe(reinterpret_cast<int*>(at)); });
    with("recvmmsg", mmsghdr{}, [&](mmsghdr* at) {
        char text[8];
        iovec part{text, sizeof text};
        at->msg_hdr.msg_iov = &part;
        at->msg_hdr.msg_iovlen = 1;
        expect(send(sockets[1], "hello", 5, 0) == 5);
        return recvmmsg(sockets[0], at, 1, 0, nullptr) + static_cast<int>(at->msg_len);
    });
    with("nanosleep", timespec{0, 1}, [](timespec* at) { return nanosleep(at, nullptr); });
    with("clock_getres", timespec{}, [](timespec* at) { return clock_getres(CLOCK_THREAD_CPUTIME_ID, at); });
    with("timerfd_settime", itimerspec{}, [&](itimerspec* at) { return timerfd_settime(timer, 0, at, at + 1); });
    with("getrusage", Name{}, [](Name* at) { return getrusage(RUSAGE_SELF, reinterpret_cast<rusage*>(at)); });
    with("uname", Name{}, [](Name* at) { return uname(reinterpret_cast<utsname*>(at)); });
    with("sigprocmask", sigset_t{}, [](sigset_t* at) { return sigprocmask(SIG_BLOCK, nullptr, at); });
    with("sigtimedwait", sigset_t{}, [](sigset_t* at) {
        const timespec now{};
        return sigtimedwait(at, nullptr, &now);
    });
    with("waitpid", 0, [](int* at) { return waitpid(-1, at, WNOHANG); });
    with("futex", 0, [](int* at) {
        const timespec soon{0, 1000};
        return syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, 0, &soon);
    });
    with("fputs", Name{}, [](Name* at) {
        FILE* const none = std::fopen("/dev/null", "w");
        std::memset(at, 'x', 1000);
        std::setvbuf(none, nullptr, _IOFBF, 256);
        const int code = std::fputs(at->text, none);
        std::fclose(none);
        return code;
    });
    driver->cuStreamSynchronize(copy.stream);
    unlink(name);
}
// Children that the C library knows nothing of, made while another thread copies.
void raw_child() {
    UnderWay copy(false);
    Half other;
    std::atomic<bool> has_ended = false;
    std::thread copies([&] {
        expect(driver->cuCtxSetCurrent(of_program) == success);
        while (!has_ended) {
            other.begin(false);
            driver->cuStreamSynchronize(other.stream);
        }
    });
    for (int i = 0; i < 30; ++i) {
        std::fflush(stdout);
        const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
        if (child == 0) {
            if (i % 2 != 0) copy.host[5] = std::byte{7};
            const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
            _exit(read(zeros, copy.host.data(), 64) == 64 && copy.host[5] == std::byte{0} ? 3 : 4);
        }
        int status = 0;
        waitpid(static_cast<pid_t>(child), &status, 0);
        expect(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    }
    has_ended = true;
    copies.join();
    driver->cuStreamSynchronize(copy.stream);
    std::printf("children\n");
}
// Threads end within calls that are taken, and one of them has an argument more than fit into registers.
void ended_within() {
    sem_t never;
    sem_init(&never, 0, 0);
    pthread_t thread{};
    const auto waits = [](void* word) -> void* { return sem_wait(static_cast<sem_t*>(word)), nullptr; };
    expect(pthread_create(&thread, nullptr, waits, &never) == 0);
    expect(pthread_cancel(thread) == 0);
    void* how = nullptr;
    expect(pthread_join(thread, &how) == 0 && how == PTHREAD_CANCELED);
    int pair[2];
    expect(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0 && send(pair[0], "five", 5, 0) == 5);
    char text[64], address[128];
    socklen_t bytes = sizeof address;
    expect(checked_recvfrom(pair[1], text, sizeof text, sizeof text, 0, address, &bytes) == 5 && bytes <= 2);
    expect(open(reinterpret_cast<const char*>(8), O_RDONLY) == -1 && errno == EFAULT);
    std::once_flag once;
    int thrown = 0;
    for (int i = 0; i < 2; ++i) {
        try {
            std::call_once(once, [] { throw 1; });
        } catch (int) {
            ++thrown;
        }
    }
    expect(thrown == 2);
    const auto waits_for_ever = [](void*) -> void* {
        static std::mutex mutex;
        static std::condition_variable never_changed;
        std::unique_lock lock(mutex);
        return never_changed.wait(lock, [] { return false; }), nullptr;
    };
    expect(pthread_create(&thread, nullptr, waits_for_ever, nullptr) == 0);
    expect(pthread_cancel(thread) == 0);
    expect(pthread_join(thread, &how) == 0 && how == PTHREAD_CANCELED);
    std::printf("ended within\n");
}
// A call with many parts, after which races are reported as before.
void many_parts() {
    UnderWay copy(true);
    driver->cuStreamSynchronize(copy.stream);
    const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    std::vector<iovec> parts;
    for (std::size_t i = 0; i < 100; ++i) parts.push_back({copy.host.data() + i * 32, 16});
    expect(driver->cuMemcpyDtoHAsync(copy.host.data() + 3400, copy.device.address, bytes - 3400, copy.stream) ==
           success);
    std::printf("many parts %zd\n", readv(zeros, parts.data(), static_cast<int>(parts.size())));
    copy.host[2 * page] = std::byte{1};
    driver->cuStreamSynchronize(copy.stream);
}
// What a program is executed by, also in children that have this one's memory.
void executed() {
    UnderWay copy(true);
    driver->cuStreamSynchronize(copy.stream);
    struct Texts {
        char shell[16] = "/bin/sh", option[8] = "-c", command[64] = "test \"$COPIED\" = yes && exit 5",
             variable[16] = "COPIED=yes";
        char* arguments[4]{shell, option, command, nullptr};
        char* environment[2]{variable, nullptr};
    };
    auto* const all = new (copy.host.data()) Texts;
    expect(putenv(all->variable) == 0);
    const auto with = [&](const char* what, const auto& call) {
        std::fflush(stdout);
        expect(driver->cuMemcpyDtoHAsync(copy.host.data() + 1024, copy.device.address, 2048, copy.stream) == success);
        int status = 0;
        const pid_t child = vfork();
        if (child == 0) {
            call();
            _exit(9);
        }
        waitpid(child, &status, 0);
        std::printf("%s %d\n", what, WEXITSTATUS(status));
        driver->cuStreamSynchronize(copy.stream);
    };
    with("execl", [&] { execl(all->shell, all->shell, all->option, all->command, nullptr); });
    with("execv", [&] { execv(all->shell, all->arguments); });
    with("execve", [&] { execve(all->shell, all->arguments, all->environment); });
    with("execvp", [&] { execvp(all->shell + 5, all->arguments); });
    with("execvpe", [&] { execvpe(all->shell + 5, all->arguments, all->environment); });
    with("execveat", [&] { execveat(AT_FDCWD, all->shell, all->arguments, all->environment, 0); });
    with("execlp", [&] { execlp(all->shell + 5, all->shell, all->option, all->command, nullptr); });
    with("execle", [&] { execle(all->shell, all->shell, all->option, all->command, nullptr, all->environment); });
    with("nowhere", [&] { execl("/nowhere", "a", "b", "c", "d", "e", "f", "g", "h", nullptr); });
    expect(driver->cuMemcpyDtoHAsync(copy.host.data() + 1024, copy.device.address, 2048, copy.stream) == success);
    std::printf("system %d\n", WEXITSTATUS(std::system(all->command)));
    expect(driver->cuMemcpyDtoHAsync(copy.host.data() + 1024, copy.device.address, 2048, copy.stream) == success);
    std::printf("popen %d\n", WEXITSTATUS(pclose(popen(all->command, "r"))));
    driver->cuStreamSynchronize(copy.stream);
    unsetenv("COPIED");
}
// Lists longer than 64 KiB, of which a copy has the last part.
void long_lists() {
    constexpr std::size_t many = 2 * 64 << 10, rest = 1024;
    HostBlock host(many, true);
    const Block device(rest);
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, 1) == success);
    const auto with = [&](const char* what, const auto& call) {
        std::memset(host.data(), 0xFF, many);
        expect(driver->cuMemcpyDtoHAsync(host.data() + many - rest, device.address, rest, stream) == success);
        errno = 0;
        const long code = static_cast<long>(call(host.data()));
        std::printf("%s %ld %d\n", what, code, errno);
        driver->cuStreamSynchronize(stream);
    };
    const std::size_t mapped = (many - rest - 8) * page;
    void* const pages = mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    with("mincore", [&](std::byte* at) { return mincore(pages, mapped, reinterpret_cast<unsigned char*>(at)); });
    munmap(pages, mapped);
    rlimit most{};
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    const std::size_t files = (many - rest) / sizeof(pollfd);
    with("poll", [&](std::byte* at) { return poll(reinterpret_cast<pollfd*>(at), files, 0); });
    with("ppoll", [&](std::byte* at) {
        const timespec now{};
        return ppoll(reinterpret_cast<pollfd*>(at), files, &now, nullptr);
    });
}
// The kernel refuses what is no memory; and it is asked for bytes by more than one call.
void refused() {
    UnderWay copy(true);
    driver->cuStreamSynchronize(copy.stream);
    int sockets[2];
    expect(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
    char text[64] = "text";
    const iovec here{text, sizeof text}, there{copy.host.data(), sizeof text};
    static iovec* volatile no_vectors = reinterpret_cast<iovec*>(8);
    iovec* const nowhere = no_vectors;
    const auto with = [&](const char* what, const auto& call) {
        expect(driver->cuMemcpyDtoHAsync(copy.host.data() + 1024, copy.device.address, 2048, copy.stream) == success);
        errno = 0;
        const long code = static_cast<long>(call());
        std::printf("%s %ld %d\n", what, code, errno);
        driver->cuStreamSynchronize(copy.stream);
    };
    const timespec now{};
    with("ppoll", [&] { return ppoll(nullptr, 0, &now, reinterpret_cast<const sigset_t*>(nowhere)); });
    with("readv", [&] { return readv(sockets[0], nowhere, 1); });
    with("readv of many", [&] { return readv(sockets[0], nowhere, 1 << 20); });
    with("sendmsg", [&] { return sendmsg(sockets[0], reinterpret_cast<msghdr*>(nowhere), 0); });
    with("sendmsg of nowhere", [&] {
        msghdr message{};
        message.msg_iov = nowhere;
        message.msg_iovlen = 1;
        return sendmsg(sockets[0], &message, 0);
    });
    with("sendmmsg", [&] { return sendmmsg(sockets[0], reinterpret_cast<mmsghdr*>(nowhere), 1, 0); });
    with("vmsplice", [&] { return vmsplice(sockets[0], nowhere, 1, 0); });
    with("execve", [&] { return execve("/nowhere", reinterpret_cast<char**>(nowhere), nullptr); });
    with("from nowhere", [&] { return process_vm_readv(getpid(), &here, 1, nowhere, 1, 0); });
    with("process_vm_readv", [&] { return process_vm_readv(getpid(), &here, 1, &there, 1, 0); });
    with("process_vm_writev", [&] { return process_vm_writev(getpid(), &here, 1, &there, 1, 0); });
    using Fills = void (*)(void*, std::size_t);
    if (const auto fill = reinterpret_cast<Fills>(dlsym(RTLD_DEFAULT, "arc4random_buf")))
        with("arc4random_buf", [&] { return fill(copy.host.data(), 64), 0; });
    with("getrandom", [&] { return getrandom(copy.host.data(), 64, 0); });
    with("setbuf", [&] {
        FILE* const none = std::fopen("/dev/zero", "r");
        std::setbuf(none, reinterpret_cast<char*>(copy.host.data()));
        const int got = std::fgetc(none);
        return std::fclose(none), got;
    });
}
void system_calls() {
    char name[] = "/tmp/hostileXXXXXX";
    const int file = mkstemp(name);
    std::vector<char> text(bytes, 'x');
    expect(write(file, text.data(), bytes) == static_cast<ssize_t>(bytes));
    for (const bool into_host : {false, true}) {
        const auto with = [&](const char* what, const std::function<long(std::byte*)>& call) {
            UnderWay copy(into_host);
            const long code = call(copy.host.data());
            expect(driver->cuStreamSynchronize(copy.stream) == success);
            std::printf("%s %ld %d\n", what, code, static_cast<int>(copy.host[9]));
        };
        lseek(file, 0, SEEK_SET);
        with("read", [&](std::byte* to) { return read(file, to, bytes); });
        with("pread", [&](std::byte* to) { return pread(file, to, bytes, 0); });
        with("readv", [&](std::byte* to) {
            const iovec parts[2] = {{to, page}, {to + page, page}};
            lseek(file, 0, SEEK_SET);
            return readv(file, parts, 2);
        });
        with("fread", [&](std::byte* to) {
            FILE* stream = std::fopen(name, "r");
            const auto code = static_cast<long>(std::fread(to, 1, bytes, stream));
            std::fclose(stream);
            return code;
        });
        with("ifstream", [&](std::byte* to) {
            std::ifstream stream(name);
            stream.read(reinterpret_cast<char*>(to), bytes);
            return static_cast<long>(stream.gcount());
        });
        with("pwrite", [&](std::byte* from) { return pwrite(file, from, bytes, 0); });
        with("mprotect", [&](std::byte* at) { return mprotect(at, page, PROT_READ | PROT_WRITE); });
    }
    unlink(name);
}
// A read that waits has its memory on the page, whichever of both begins first; what brings nothing touches nothing.
void short_reads() {
    Half half;
    for (const bool into_host : {true, false}) {
        int ends[2];
        expect(pipe(ends) == 0);
        ssize_t got = 0;
        std::thread reader([&] { got = read(ends[0], half.host.data(), 100); });
        usleep(100'000);
        half.begin(into_host);
        expect(write(ends[1], "hello", 5) == 5);
        reader.join();
        std::printf("%zd %.5s\n", got, reinterpret_cast<const char*>(half.host.data()));
        driver->cuStreamSynchronize(half.stream);
        half.begin(into_host);
        expect(write(ends[1], "abc", 3) == 3);
        std::printf("%zd\n", read(ends[0], half.host.data(), bytes));
        driver->cuStreamSynchronize(half.stream);
    }
}

}  // namespace

int main(int count, char** words) {
    return run_case(count, words,
                    Cases{
                        {"given", given},
                        {"raw_child", raw_child},
                        {"ended_within", ended_within},
                        {"system_calls", system_calls},
                        {"short_reads", short_reads},
                        {"executed", executed},
                        {"many_parts", many_parts},
                        {"long_lists", long_lists},
                        {"refused", refused},
                    });
}
