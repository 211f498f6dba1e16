// A container's limit on threads, to be preloaded: this process gets FEW_THREADS at most, whatever the user may have.
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>

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

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
    if (threads_of_this_process() >= std::atol(std::getenv("FEW_THREADS"))) return EAGAIN;
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, run, argument);
}
