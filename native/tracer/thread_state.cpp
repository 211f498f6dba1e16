// What the recorder knows of the thread that calls it.
#include "tracer/thread_state.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <optional>

namespace isthmus::tracer {
namespace {

// Not a thread_local with a destructor: those of the program may call CUDA after ours has run.
thread_local ThreadState* current = nullptr;

void give_back(void* state) {
    const std::unique_ptr<ThreadState> owned(static_cast<ThreadState*>(state));
    owned->file->recycle(owned->writer);
    current = nullptr;
}

// Nothing where the program has taken all keys: its threads then keep what they have.
std::optional<pthread_key_t> key() {
    static const std::optional<pthread_key_t> made = [] {
        pthread_key_t fresh{};
        return pthread_key_create(&fresh, give_back) == 0 ? std::optional(fresh) : std::nullopt;
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
        if (const auto known = key()) pthread_setspecific(*known, made.get());
        current = made.release();
    }
    return *current;
}

}  // namespace isthmus::tracer
