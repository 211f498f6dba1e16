// What a filter of system calls (seccomp) leaves of what the library needs.
#include "base/limits/call_filter.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string_view>

namespace isthmus {
namespace {

#if !defined(SYS_clone3)
constexpr long SYS_clone3 = 435;
#endif

struct Thread {
    int filters = 0;  // of the calling thread
    int threads = 1;  // of the process
};

int number_behind(std::string_view text, std::string_view name, int otherwise) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) return otherwise;
    const std::size_t begin = std::min(text.find_first_of("0123456789", at), text.size());
    int number = otherwise;
    std::from_chars(text.data() + begin, text.data() + text.size(), number);
    return number;
}

Thread this_thread() noexcept {
    Thread thread;
    if (prctl(PR_GET_SECCOMP) <= 0) return thread;
    // Linux says how many there are since 5.9.
    thread.filters = 1;
    const int file = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return thread;
    std::array<char, 4096> text{};
    const ssize_t bytes = read(file, text.data(), text.size());
    close(file);
    const std::string_view all(text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    return {number_behind(all, "\nSeccomp_filters:", 1), number_behind(all, "\nThreads:", 1)};
}

const int filters_when_loaded = this_thread().filters;

// In a child of which the program neither hears by a signal nor by waiting for any. It makes system calls alone.
bool child_may_clone() noexcept {
    const long child = syscall(SYS_clone, CLONE_VFORK, nullptr, nullptr, nullptr, nullptr);
    if (child < 0) return false;
    if (child == 0) {
        struct {
            std::uintptr_t handler = 0, flags = 0, restorer = 0;
            std::uint64_t mask = 0;
        } none;
        const rlimit no_core{0, 0};
        syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, nullptr);
        syscall(SYS_rt_sigaction, SIGSYS, &none, nullptr, sizeof none.mask);
        syscall(SYS_clone3, nullptr, 0);
        syscall(SYS_exit_group, 0);
    }
    int status = -1;
    while (syscall(SYS_wait4, child, &status, __WALL, nullptr) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status);
}

}  // namespace

bool may_start_threads() noexcept {
    static std::atomic<int> allowed = 0;  // with so many filters
    const Thread thread = this_thread();
    if (thread.filters <= allowed) return true;
    if (thread.filters > filters_when_loaded) return false;
    if (thread.threads == 1 && !child_may_clone()) return false;
    allowed = thread.filters;
    return true;
}

}  // namespace isthmus
