// Tells a process from the one that it was forked from.
#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace isthmus {
namespace {

std::atomic<unsigned> forks = 0;

}  // namespace

unsigned fork_generation() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
    static_cast<void>(registered);
    return forks.load(std::memory_order_relaxed);
}

}  // namespace isthmus
