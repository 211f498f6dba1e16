// Tells a process from the one that it was forked from.
#include "base/fork.hpp"

#include <pthread.h>
#include <sys/utsname.h>

#include <atomic>
#include <cstdio>
#include <vector>

namespace isthmus {
namespace {

std::atomic<unsigned> forks = 0;

struct Held {
    std::mutex mutex;  // guards the list
    std::vector<std::mutex*> list;
};

Held& held() {
    static auto* const held = new Held;
    return *held;
}

void let_go() {
    for (std::mutex* each : held().list) each->unlock();
    held().mutex.unlock();
}

}  // namespace

unsigned fork_generation() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
    static_cast<void>(registered);
    return forks.load(std::memory_order_relaxed);
}

const char* system_release() {
    static const utsname names = [] {
        utsname read{};
        (void)uname(&read);
        return read;
    }();
    return names.release;
}

bool forks_copy_locked_pages() {
    static const bool copies = [] {
        int major = 0;
        int minor = 0;
        return std::sscanf(system_release(), "%d.%d", &major, &minor) == 2 &&  // NOLINT(cert-err34-c)
               (major > 5 || (major == 5 && minor >= 9));
    }();
    return copies;
}

void outlast_forks(std::mutex& mutex) {
    Held& all = held();  // first, so that no fork has to make it
    static const int registered = pthread_atfork(
        [] {
            held().mutex.lock();
            for (std::mutex* each : held().list) each->lock();
        },
        let_go, let_go);
    static_cast<void>(registered);
    const std::lock_guard lock(all.mutex);
    all.list.push_back(&mutex);
}

}  // namespace isthmus
