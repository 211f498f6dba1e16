// Signals that wait while a library works on a thread of the program's.
#include "interpose/deferred_signals.hpp"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

namespace isthmus::interpose {
namespace {

using Handler = void (*)(int, siginfo_t*, void*);

// What the program set for a signal. Its handler takes what it knows of, whether one argument or three.
struct Action {
    std::atomic<Handler> handler = nullptr;
    std::atomic<int> flags = 0;
    std::atomic<SignalMask> mask = 0;  // blocked while its handler runs, with the signal itself
};
constexpr int last_signal = 64;
constinit std::array<Action, last_signal + 1> actions;
constinit std::atomic<SignalAction> next_action = nullptr;
constinit std::atomic<bool> is_deferring = false;
constinit std::atomic<SignalMask> wrapped = 0;  // signals whose handlers ours comes before

enum class Stage : char { none, deferring, delivering };
// The library is preloaded, so that there is room for these next to the program's own.
#define ISTHMUS_OF_THREAD thread_local __attribute__((tls_model("initial-exec")))
ISTHMUS_OF_THREAD constinit volatile Stage stage = Stage::none;
ISTHMUS_OF_THREAD constinit volatile SignalMask mask_before = 0, held = 0;
#undef ISTHMUS_OF_THREAD

// Not of faults, which belong where they happen, nor of the limit on files, which this library's own writing meets.
bool may_wrap(int signal) {
    const bool is_fault = std::find(faults.begin(), faults.end(), signal) != faults.end();
    const bool is_of_c_library = signal >= 32 && signal < SIGRTMIN;
    return signal >= 1 && signal <= last_signal && !is_fault && !is_of_c_library && signal != SIGXFSZ;
}

void before_programs(int signal, siginfo_t* info, void* context);

bool is_handler(const struct sigaction& action) {
    return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}
bool is_ours(const struct sigaction& action) {
    return action.sa_sigaction == &before_programs;
}
SignalMask bits_of(const sigset_t& set) {
    SignalMask bits = 0;
    for (int signal = 1; signal <= last_signal; ++signal) {
        if (sigismember(&set, signal) == 1) bits |= bit_of(signal);
    }
    return bits;
}

struct sigaction wrap(int signal, struct sigaction action) {
    Action& known = actions[static_cast<std::size_t>(signal)];
    known.handler = action.sa_sigaction;
    known.flags = action.sa_flags;
    known.mask = bits_of(action.sa_mask);
    wrapped |= bit_of(signal);
    action.sa_sigaction = &before_programs;
    action.sa_flags |= SA_SIGINFO;
    return action;
}

// Puts ours before the handler that the program has set. Another thread may set one meanwhile: it stays.
void wrap_known(SignalAction next, int signal) {
    struct sigaction now {};
    if (next(signal, nullptr, &now) != 0) return;
    while (is_handler(now) && !is_ours(now)) {
        const struct sigaction ours = wrap(signal, now);
        struct sigaction replaced {};
        if (next(signal, &ours, &replaced) != 0) return;
        if (is_ours(replaced) || replaced.sa_sigaction == now.sa_sigaction) return;
        now = replaced;
        if (!is_handler(now)) next(signal, &now, nullptr);
    }
}

// Comes again on this thread, when it is not blocked any more.
void hold(int signal, siginfo_t* info, void* context) {
    const int reason = errno;
    sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
    held = held | bit_of(signal);
    block_signals(bit_of(signal));
    // A handler that runs once only: it is still to come.
    const SignalAction next = next_action;
    struct sigaction now {};
    const auto flags = static_cast<unsigned>(actions[static_cast<std::size_t>(signal)].flags.load());
    if ((flags & SA_RESETHAND) != 0 && next(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
        now.sa_sigaction = &before_programs;
        next(signal, &now, nullptr);
    }
    const auto thread = syscall(SYS_gettid);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, info) != 0) {
        syscall(SYS_tgkill, getpid(), thread, signal);
    }
    errno = reason;
}

// Not noexcept: the program's handler may leave by a jump, or throw.
void before_programs(int signal, siginfo_t* info, void* context) {
    const Action& known = actions[static_cast<std::size_t>(signal)];
    if (stage == Stage::deferring) return hold(signal, info, context);
    if (stage == Stage::delivering) {
        // If it jumps, nothing of ours stays blocked.
        stage = Stage::none;
        const SignalMask own = (known.flags & SA_NODEFER) != 0 ? 0 : bit_of(signal);
        change_signals(mask_before | known.mask | own);
    }
    known.handler.load()(signal, info, context);
}

}  // namespace

SignalMask defer_signals() noexcept {
    if (const SignalAction next = next_action; next != nullptr && !is_deferring.exchange(true)) {
        for (int signal = 1; signal <= last_signal; ++signal) {
            if (may_wrap(signal)) wrap_known(next, signal);
        }
    }
    held = 0;
    stage = Stage::deferring;
    // What was held until here is not what the program had blocked.
    SignalMask before = block_signals(all_signals_but_faults() & ~wrapped);
    before &= ~held;
    mask_before = before;
    return before;
}

void deliver_signals(SignalMask before) {
    stage = Stage::delivering;
    change_signals(before);
    stage = Stage::none;
}

void hook_signals(SignalAction next) noexcept {
    next_action = next;
}

int set_action(SignalAction next, int signal, const struct sigaction* action, struct sigaction* before) {
    if (!is_deferring || !may_wrap(signal)) return next(signal, action, before);
    Action& known = actions[static_cast<std::size_t>(signal)];
    const Handler handler = known.handler;
    const int flags = known.flags;
    const SignalMask mask = known.mask;
    struct sigaction ours {};
    if (action != nullptr && is_handler(*action) && !is_ours(*action)) {
        ours = wrap(signal, *action);
        action = &ours;
    }
    const int code = next(signal, action, before);
    if (code == 0 && before != nullptr && is_ours(*before)) {
        before->sa_sigaction = handler;
        before->sa_flags = (before->sa_flags & ~SA_SIGINFO) | (flags & SA_SIGINFO);
    }
    if (code != 0 && action == &ours) {
        known.handler = handler;
        known.flags = flags;
        known.mask = mask;
    }
    return code;
}

SignalHandler set_handler(SignalHandler (*next)(int, SignalHandler), int signal, SignalHandler handler) {
    const bool is_wrapped = is_deferring && may_wrap(signal);
    const Handler was = is_wrapped ? actions[static_cast<std::size_t>(signal)].handler.load() : nullptr;
    const SignalHandler before = next(signal, handler);
    if (!is_wrapped || before == SIG_ERR) return before;
    wrap_known(next_action, signal);
    struct sigaction given {};
    given.sa_handler = before;
    if (!is_ours(given)) return before;
    given.sa_sigaction = was;
    return given.sa_handler;
}

}  // namespace isthmus::interpose
