// A container's limit on threads, to be preloaded: this process gets FEW_THREADS at most, whatever the user may have.
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {

long threads_of_this_process() {
    DIR* tasks = opendir("/proc/self/task");
    long count = -2;  // . and ..
    while (readdir(tasks) != nullptr) ++count;
    closedir(tasks);
    return count;
}

// Threads that were joined are listed until the kernel has cleaned up behind them, which takes a busy machine a while.
bool has_room() {
    constexpr int tries = 200;
    const long most = std::atol(std::getenv("FEW_THREADS"));
    for (int i = 0; i < tries; ++i) {
        if (threads_of_this_process() < most) return true;
        usleep(1000);
    }
    return false;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
    if (!has_room()) return EAGAIN;
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, run, argument);
}
