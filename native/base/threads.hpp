// Starts a thread that takes no signal of the program's, or says that there is no room for one.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/limits/call_filter.hpp"
#include "base/status.hpp"

namespace isthmus {

// Signals of a thread's own faults: one that is blocked when the fault happens ends the process at once.
inline constexpr std::array faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

// What a thread that is not the program's blocks.
inline sigset_t all_but_faults() noexcept {
    sigset_t signals;
    sigfillset(&signals);
    for (const int fault : faults) sigdelset(&signals, fault);
    return signals;
}

// Signals as the kernel has them, a bit each. The C library's own functions leave out the two that it keeps to itself:
// by one it cancels threads, by the other it has all of them change their user.
using SignalMask = std::uint64_t;

constexpr SignalMask bit_of(int signal) {
    return SignalMask{1} << static_cast<unsigned>(signal - 1);
}
constexpr SignalMask all_signals_but_faults() {
    SignalMask mask = ~SignalMask{0};
    for (const int fault : faults) mask &= ~bit_of(fault);
    return mask;
}

// Changes those of the calling thread, or blocks some more, and returns what they were. No noexcept and nothing to
// clean up here: with signals unblocked, the program's handler may leave by a jump, and the thread may be cancelled.
inline SignalMask change_signals(SignalMask to, int how = SIG_SETMASK) {
    SignalMask before = 0;
    syscall(SYS_rt_sigprocmask, how, &to, &before, sizeof before);
    return before;
}
inline SignalMask block_signals(SignalMask signals = all_signals_but_faults()) {
    return change_signals(signals, SIG_BLOCK);
}

// Blocks all signals for the calling thread but those of its own faults, until this is destroyed.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept : before_(block_signals()) {}
    ~SignalsBlocked() { change_signals(before_); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    SignalMask before_;
};

// Threads begin with what their maker had blocked, which is all. The C library waits for each thread to change its
// user.
inline void unblock_signals_of_library() noexcept {
    constexpr int cancels = 32;
    constexpr int changes_user = 33;
    change_signals(all_signals_but_faults() & ~bit_of(cancels) & ~bit_of(changes_user));
}

// Does what gives a Status: an exception becomes one, which takes no memory; `without_memory` is its code then.
template <typename Work>
Status caught(const Work& work, Code without_memory = Code::out_of_memory) noexcept {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return Status::no_memory(without_memory);
    } catch (const std::exception& error) {
        try {
            return {Code::call_failed, error.what()};
        } catch (...) {
            return Status::no_memory(without_memory);
        }
    } catch (...) {
        return Status::no_memory(without_memory);
    }
}

// The only place that starts threads. Nothing when the system refuses, as containers limit the number of threads, or
// would end the process for it. Signals are blocked before the thread exists, so that it never takes one that the
// program waits for. `name` has 15 characters at most. Precondition: the caller that waits for the work learns of its
// failure from the work itself; an exception that leaves it only ends the thread.
template <typename Work>
std::optional<std::jthread> start_thread(const char* name, Work work) {
    if (!may_start_threads()) return std::nullopt;
    try {
        const SignalsBlocked blocked;
        return std::jthread([name, work = std::move(work)](const std::stop_token& stop) mutable noexcept {
            unblock_signals_of_library();
            pthread_setname_np(pthread_self(), name);
            try {
                if constexpr (std::is_invocable_v<Work&, const std::stop_token&>) {
                    work(stop);
                } else {
                    work();
                }
            } catch (...) {  // NOLINT(bugprone-empty-catch): there is no caller to report to
            }
        });
    } catch (const std::system_error&) {
        return std::nullopt;
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

}  // namespace isthmus
