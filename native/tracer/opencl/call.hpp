// One call of the program's: passed on, and recorded around that.
#pragma once

#include "tracer/opencl/originals.hpp"
#include "tracer/opencl/recorder.hpp"

// What stands before the function of the same name in the program's OpenCL.
#define ISTHMUS_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace isthmus::tracer {

// Whether a call is the program's own; until this ends, further ones of the thread are ours, or an OpenCL's that calls
// itself.
class Outermost {
  public:
    explicit Outermost(const CommandRecorder* recorder) noexcept;
    ~Outermost() {
        if (thread_ != nullptr) thread_->busy = false;
    }
    Outermost(const Outermost&) = delete;
    Outermost& operator=(const Outermost&) = delete;

    // Null where the process is not traced, or the call is not the program's.
    ThreadState* thread() const { return thread_; }

  private:
    ThreadState* thread_ = nullptr;
};

class Call {
  public:
    // `launches` are many: of them nobody asks where they came from.
    explicit Call(const char* name, bool launches = false) noexcept;

    // False where it is not to be recorded.
    explicit operator bool() const { return outermost_.thread() != nullptr; }
    CommandRecorder& recorder() const { return *recorder_; }

    // It has returned.
    void end() noexcept;
    // Its command, with an event of it, the program's or, where it asked for none, `ours`.
    void add(opencl::Queue queue, bool waited, opencl::Event event, bool ours, const Command& command) const;
    // Memory that it got or gave back.
    void add(const Range& memory, bool released) const;
    // It waited for commands of a queue, or of any.
    void collect(opencl::Queue queue) const;

  private:
    CommandRecorder* recorder_;
    Outermost outermost_;
    std::uint32_t name_ = 0, site_ = 0, correlation_ = 0;
    std::uint64_t start_ns_ = 0, end_ns_ = 0;
};

// The codes of functions that the program's OpenCL lacks.
template <typename... Parameters, typename... Arguments>
opencl::ReturnCode passed_on(const Function<opencl::ReturnCode(Parameters...)>& function, Arguments... arguments) {
    return function ? function(arguments...) : opencl::invalid_operation;
}
template <typename Object, typename... Parameters, typename... Arguments>
Object passed_on_to_make(const Function<Object(Parameters...)>& function, opencl::ReturnCode* code,
                         Arguments... arguments) {
    if (function) return function(arguments..., code);
    if (code != nullptr) *code = opencl::invalid_operation;
    return {};
}

// Passes on a call that puts a command on a queue, by `forward` with where to put an event of it, and records what
// `describe` says that the command does.
template <typename Forward, typename Describe>
opencl::ReturnCode enqueue_by(const char* name, opencl::Queue queue, bool waits, opencl::Event* event,
                              const Forward& forward, const Describe& describe, bool launches = false) {
    Call call(name, launches);
    if (!call) return forward(event);
    opencl::Event ours = nullptr;
    opencl::Event* const made = event != nullptr ? event : &ours;
    const opencl::ReturnCode code = forward(made);
    call.end();
    if (code != opencl::success || *made == nullptr) return code;
    interpose::guarded([&] { call.add(queue, waits, *made, event == nullptr, describe(call.recorder())); });
    return code;
}

// The same of a function that gets the queue first and `event` last, and `arguments` between them.
template <bool launches = false, typename... Parameters, typename Describe, typename... Arguments>
opencl::ReturnCode enqueue(const Function<opencl::ReturnCode(Parameters...)>& original, bool waits,
                           const Describe& describe, opencl::Event* event, opencl::Queue queue,
                           Arguments... arguments) {
    const auto forward = [&](opencl::Event* made) { return passed_on(original, queue, arguments..., made); };
    return enqueue_by(original.name, queue, waits, event, forward, describe, launches);
}

}  // namespace isthmus::tracer
