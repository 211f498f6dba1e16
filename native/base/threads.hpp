// Starts a thread that takes no signal of the program's, or says that there is no room for one.
#pragma once

#include <pthread.h>

#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/status.hpp"

namespace isthmus {

// What a thread that is not the program's blocks: all signals but those of its own faults, which cannot wait.
inline sigset_t all_but_faults() noexcept {
    sigset_t signals;
    sigfillset(&signals);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&signals, fault);
    return signals;
}

// Blocks all signals for the calling thread but those of its own faults, until this is destroyed.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept {
        const sigset_t signals = all_but_faults();
        pthread_sigmask(SIG_SETMASK, &signals, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_{};
};

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

// The only place that starts threads. Nothing when the system refuses: containers limit the number of threads, and that
// must not end the process. Signals are blocked before the thread exists, so that it never takes one that the program
// waits for. `name` has 15 characters at most. Precondition: whoever waits for the work learns of its failure from the
// work itself; an exception that leaves it only ends the thread.
template <typename Work>
std::optional<std::jthread> start_thread(const char* name, Work work) {
    try {
        const SignalsBlocked blocked;
        return std::jthread([name, work = std::move(work)](const std::stop_token& stop) mutable noexcept {
            pthread_setname_np(pthread_self(), name);
            try {
                if constexpr (std::is_invocable_v<Work&, const std::stop_token&>) {
                    work(stop);
                } else {
                    work();
                }
            } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is there to be told
            }
        });
    } catch (const std::system_error&) {
        return std::nullopt;
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

}  // namespace isthmus
