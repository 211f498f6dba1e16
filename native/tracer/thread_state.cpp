// What the recorder knows of the thread that calls it.
#include "tracer/thread_state.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

namespace isthmus::tracer {
namespace {

// Not a thread_local with a destructor: those of the program may call CUDA after ours has run.
thread_local ThreadState* current = nullptr;

void give_back(void* state) {
    const std::unique_ptr<ThreadState> owned(static_cast<ThreadState*>(state));
    owned->file->recycle(owned->writer);
    current = nullptr;
}

pthread_key_t key() {
    static const pthread_key_t made = [] {
        pthread_key_t fresh{};
        pthread_key_create(&fresh, give_back);
        return fresh;
    }();
    return made;
}

}  // namespace

ThreadState& ThreadState::of_this_thread(trace::TraceFile& file) {
    if (current == nullptr) {
        auto made = std::make_unique<ThreadState>();
        made->file = &file;
        made->writer = file.writer();
        made->thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
        pthread_setspecific(key(), made.get());
        current = made.release();
    }
    return *current;
}

}  // namespace isthmus::tracer
