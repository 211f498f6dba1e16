// Hooks what sets handlers, masks and stacks of signals: SIGSEGV stays open on every thread, and the program sees what
// it set.
//
// Where it blocks SIGSEGV the kernel is given another signal in its place, which nothing sends: so the kernel itself
// remembers it through handlers, jumps out of them and threads that begin.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/threads.hpp"
#include "interpose/environment.hpp"
#include "interpose/hooks/hooks.hpp"
#include "races/given.hpp"
#include "races/state.hpp"
#include "races/thread.hpp"

// Sanitizers have hooks of their own there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::races {
namespace {

using Handler = void (*)(int);
using SetHandler = Handler (*)(int, Handler);
using SetMask = int (*)(int, const sigset_t*, sigset_t*);
using ForkAlone = pid_t (*)();
using SetStack = int (*)(const stack_t*, stack_t*);
using Start = void* (*)(void*);
using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, Start, void*);

#define ISTHMUS_OF_THREAD thread_local __attribute__((tls_model("initial-exec")))
// What the calling thread believes: which stack its handlers have.
ISTHMUS_OF_THREAD constinit bool has_begun = false, has_our_stack = false;
ISTHMUS_OF_THREAD constinit stack_t programs_stack{nullptr, SS_DISABLE, 0};
#undef ISTHMUS_OF_THREAD

// And what the kernel wants at least.
constexpr std::size_t stack_bytes = std::size_t{128} << 10, least_stack_bytes = 2048;
constinit std::atomic<int> enabled = -1;
// By which such a stack is given back as its thread ends.
constinit pthread_key_t key_of_stacks{};
constinit bool has_key = false;

void give_stack_back(void* stack) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    syscall(SYS_sigaltstack, &none, nullptr);
    munmap(stack, stack_bytes);
}

sigset_t as_kernel_has(const sigset_t& programs) {
    sigset_t kernels = programs;
    sigdelset(&kernels, SIGSEGV);
    sigdelset(&kernels, fault_is_blocked);
    if (sigismember(&programs, SIGSEGV) == 1) sigaddset(&kernels, fault_is_blocked);
    return kernels;
}
// Null where there is none: some calls may have none, and of others the compiler believes that there is one.
const sigset_t* as_kernel_has(const sigset_t* programs, sigset_t& kernels) {
    if (programs == nullptr) return nullptr;
    kernels = as_kernel_has(*programs);
    return &kernels;
}
void show(sigset_t& kernels) {
    const bool is_blocked = sigismember(&kernels, fault_is_blocked) == 1;
    sigdelset(&kernels, fault_is_blocked);
    if (is_blocked) sigaddset(&kernels, SIGSEGV);
}

constexpr unsigned all_words = 0b111111;
template <typename... Used>
SystemWords words_of(const Used*... used) {
    return {reinterpret_cast<std::uintptr_t>(used)...};
}

int set_mask(SetMask next, int how, const sigset_t* set, sigset_t* before) {
    if (!is_enabled()) return next(how, set, before);
    // The kernel is given none of the program's memory, which may be on a protected page.
    sigset_t ours, was;
    const int code = next(how, as_kernel_has(set, ours), before == nullptr ? nullptr : &was);
    if (code == 0 && before != nullptr) {
        show(was);
        *before = was;
    }
    return code;
}
// As a thread or a process begins with SIGSEGV blocked.
void open_faults() {
    if ((change_signals(bit_of(SIGSEGV), SIG_UNBLOCK) & bit_of(SIGSEGV)) != 0)
        change_signals(bit_of(fault_is_blocked), SIG_BLOCK);
}

// Handlers that the C library gives an action for by a short name.
Handler set_handler(SetHandler next, int number, Handler handler, unsigned flags) {
    if (!is_enabled() || number != SIGSEGV || handler == SIG_ERR) return next(number, handler);
    struct sigaction action {
    }, before{};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(flags);
    return sigaction(SIGSEGV, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

struct Started {
    Start start;
    void* argument;
    bool is_drivers;
};

void* begin_and_run(void* given) {
    const Started started = *static_cast<Started*>(given);
    std::free(given);
    // By the attributes of a thread it may begin with any signals blocked.
    open_faults();
    if (started.is_drivers) InDriver::always_here();
    begin_thread();
    return started.start(started.argument);
}

}  // namespace

bool is_enabled() noexcept {
    int known = enabled.load(std::memory_order_relaxed);
    if (known >= 0) return known != 0;
    const char* const folder = std::getenv("ISTHMUS_RACES_FOLDER");
    known = folder != nullptr && *folder != '\0' && !interpose::is_switched_off("ISTHMUS_RACES") ? 1 : 0;
    enabled.store(known, std::memory_order_relaxed);
    return known != 0;
}

void begin_thread() noexcept {
    if (has_begun || !has_key) return;
    has_begun = true;
    stack_t now{};
    if (syscall(SYS_sigaltstack, nullptr, &now) != 0 || (now.ss_flags & SS_ONSTACK) != 0) return;
    if ((now.ss_flags & SS_DISABLE) == 0 && now.ss_size >= stack_bytes / 2) return;
    void* const memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t ours{};
    ours.ss_sp = memory;
    ours.ss_size = stack_bytes;
    if (pthread_setspecific(key_of_stacks, memory) != 0 || syscall(SYS_sigaltstack, &ours, nullptr) != 0) {
        munmap(memory, stack_bytes);
        return;
    }
    programs_stack = now;
    has_our_stack = true;
}

namespace {

__attribute__((constructor)) void begin_signals() {
    if (!is_enabled()) return;
    has_key = pthread_key_create(&key_of_stacks, give_stack_back) == 0;
    // Inherited from whatever started the process.
    open_faults();
}

}  // namespace
}  // namespace isthmus::races

extern "C" {
using namespace isthmus::races;
#define ISTHMUS_SHOWN __attribute__((visibility("default")))
ISTHMUS_NEXT(pthread_sigmask, SetMask)
ISTHMUS_NEXT(sigprocmask, SetMask)
ISTHMUS_NEXT(sigaltstack, SetStack)
ISTHMUS_NEXT(pthread_create, CreateThread)
ISTHMUS_NEXT(_Fork, ForkAlone)

ISTHMUS_SHOWN int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
    SetAction const next = next_sigaction();
    if (next == nullptr) return errno = ENOSYS, -1;
    if (!is_enabled() || number < 1 || number > 64) return next(number, action, before);
    if (number == SIGSEGV) return set_fault_action(action, before);
    struct sigaction ours {};
    if (action != nullptr) {
        ours = *action;
        ours.sa_mask = as_kernel_has(action->sa_mask);
    }
    const int code = next(number, action == nullptr ? nullptr : &ours, before);
    if (code == 0 && before != nullptr) show(before->sa_mask);
    return code;
}
ISTHMUS_SHOWN int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
    const auto next = ISTHMUS_NEXT_OF(pthread_sigmask);
    return next == nullptr ? ENOSYS : set_mask(next, how, set, before);
}
ISTHMUS_SHOWN int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
    const auto next = ISTHMUS_NEXT_OF(sigprocmask);
    return next == nullptr ? (errno = ENOSYS, -1) : set_mask(next, how, set, before);
}
ISTHMUS_SHOWN pid_t _Fork() {
    const auto next = ISTHMUS_NEXT_OF(_Fork);
    if (next == nullptr) return errno = ENOSYS, -1;
    if (!is_enabled()) return next();
    before_fork_alone();
    const pid_t child = next();
    const int reason = errno;
    after_fork_alone(child == 0);
    errno = reason;
    return child;
}
// Calls that wait with another mask, in which handlers run. X(name, parameters, arguments, what else the kernel uses,
// bytes of the longest of these)
#define ISTHMUS_WAITS_WITH_MASK(X)                                                                                     \
    X(sigsuspend, (const sigset_t* mask), (mask), (mask), 0)                                                           \
    X(ppoll, (pollfd * files, nfds_t count, const timespec* limit, const sigset_t* mask), (files, count, limit, mask), \
      (files, limit, mask), count * sizeof *files)                                                                     \
    X(__ppoll_chk, (pollfd * files, nfds_t count, const timespec* limit, const sigset_t* mask, std::size_t room),      \
      (files, count, limit, mask, room), (files, limit, mask), count * sizeof *files)                                  \
    X(pselect, (int count, fd_set* read, fd_set* write, fd_set* failed, const timespec* limit, const sigset_t* mask),  \
      (count, read, write, failed, limit, mask), (read, write, failed, limit, mask), static_cast<unsigned>(count) / 8) \
    X(epoll_pwait, (int poll, epoll_event* events, int count, int limit, const sigset_t* mask),                        \
      (poll, events, count, limit, mask), (events, mask), static_cast<unsigned>(count) * sizeof *events)               \
    X(epoll_pwait2, (int poll, epoll_event* events, int count, const timespec* limit, const sigset_t* mask),           \
      (poll, events, count, limit, mask), (events, limit, mask), static_cast<unsigned>(count) * sizeof *events)
#define ISTHMUS_HOOK(name, parameters, arguments, used, bytes)                                             \
    using Next_##name = int(*) parameters;                                                                 \
    ISTHMUS_NEXT(name, Next_##name)                                                                        \
    ISTHMUS_SHOWN int name parameters {                                                                    \
        const auto next = ISTHMUS_NEXT_OF(name);                                                           \
        if (next == nullptr) return errno = ENOSYS, -1;                                                    \
        const Given given(words_of used, all_words, bytes);                                                \
        sigset_t rest;                                                                                     \
        if (is_enabled() && can_read(mask, sizeof(isthmus::SignalMask))) mask = as_kernel_has(mask, rest); \
        return next arguments;                                                                             \
    }
ISTHMUS_WAITS_WITH_MASK(ISTHMUS_HOOK)  // NOLINT(readability-identifier-naming): the C library has it so
#undef ISTHMUS_HOOK
#undef ISTHMUS_WAITS_WITH_MASK
// A stack of the program's that is smaller than ours is only remembered.
ISTHMUS_SHOWN int sigaltstack(const stack_t* stack, stack_t* before) {
    const auto next = ISTHMUS_NEXT_OF(sigaltstack);
    if (next == nullptr) return errno = ENOSYS, -1;
    if (!has_our_stack) return next(stack, before);
    stack_t now{};
    if (next(nullptr, &now) != 0) return -1;
    const bool is_on_it = (now.ss_flags & SS_ONSTACK) != 0;
    if (stack != nullptr && is_on_it) return errno = EPERM, -1;
    stack_t was = programs_stack;
    if (is_on_it) was.ss_flags |= SS_ONSTACK;
    if (stack != nullptr) {
        const bool is_none = (stack->ss_flags & SS_DISABLE) != 0;
        if (!is_none && stack->ss_size < least_stack_bytes) return errno = ENOMEM, -1;
        if (!is_none && stack->ss_size >= stack_bytes / 2) {
            const int code = next(stack, nullptr);
            if (code == 0) has_our_stack = false;
            if (code == 0 && before != nullptr) *before = was;
            return code;
        }
        programs_stack = *stack;
    }
    if (before != nullptr) *before = was;
    return 0;
}
ISTHMUS_SHOWN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Start start, void* argument) {
    const auto next = ISTHMUS_NEXT_OF(pthread_create);
    if (next == nullptr) return EAGAIN;
    if (!is_enabled()) return next(thread, attributes, start, argument);
    auto* const started = static_cast<Started*>(std::malloc(sizeof(Started)));
    if (started == nullptr) return EAGAIN;
    *started = {start, argument, InDriver::is_nested()};
    const int code = next(thread, attributes, &begin_and_run, started);
    if (code != 0) std::free(started);
    return code;
}

// X(name, flags of the action)
#define ISTHMUS_SETS_HANDLER(X)                                      \
    X(signal, SA_RESTART)                                            \
    X(bsd_signal, SA_RESTART)                                        \
    X(ssignal, SA_RESTART)                                           \
    X(sysv_signal, static_cast<unsigned>(SA_RESETHAND) | SA_NODEFER) \
    X(__sysv_signal, static_cast<unsigned>(SA_RESETHAND) | SA_NODEFER)
#define ISTHMUS_HOOK(name, flags)                             \
    ISTHMUS_NEXT(name, SetHandler)                            \
    ISTHMUS_SHOWN Handler name(int number, Handler handler) { \
        const auto next = ISTHMUS_NEXT_OF(name);              \
        if (next == nullptr) return errno = ENOSYS, SIG_ERR;  \
        return set_handler(next, number, handler, flags);     \
    }
ISTHMUS_SETS_HANDLER(ISTHMUS_HOOK)
#undef ISTHMUS_HOOK
#undef ISTHMUS_SETS_HANDLER
#undef ISTHMUS_SHOWN
}

#else

namespace isthmus::races {
bool is_enabled() noexcept {
    return false;
}
void begin_thread() noexcept {}
}  // namespace isthmus::races

#endif
