// Calls of Python when copies have ended.
#include "bindings/callbacks.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/fork.hpp"
#include "base/threads.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/released.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// What Python's objects are kept by, which threads without the interpreter may let go of.
struct Called final : Kept {
    Called(nb::object asked_of, nb::object asked) : future(std::move(asked_of)), function(std::move(asked)) {}
    nb::object future, function;
};

// As concurrent.futures does it: the program learns of it from the log, and the caller that ended the copy does not.
void log(nb::python_error& error, nb::handle future) {
    try {
        const nb::object logger = nb::module_::import_("logging").attr("getLogger")("isthmus");
        logger.attr("error")("exception in a callback of %r", future, nb::arg("exc_info") = error.value());
    } catch (nb::python_error& failure) {
        failure.discard_as_unraisable("isthmus.Future.add_done_callback");
    }
}

void call(const Called& called) {
    or_sleep([&] { called.function(called.future); });
}

// Threads of the core say what is due; a thread of its own takes the interpreter's lock and calls. So none of theirs
// waits for that lock, nor for what a callback does.
class Caller {
  public:
    class Call final : public CopyListener, public std::enable_shared_from_this<Call> {
      public:
        Call(Caller& caller, std::unique_ptr<Called> called)
            : caller_(caller), called_(*called), kept_(keep_until_released(std::move(called))) {}
        void copy_ended() noexcept override { caller_.add(shared_from_this()); }

      private:
        friend class Caller;
        Caller& caller_;
        const Called& called_;
        const std::shared_ptr<const void> kept_;
        std::shared_ptr<Call> next_;  // guarded by the caller's mutex
    };

    // For this process: the thread of its parent, and what that was about to do, are not there after a fork. Never
    // freed: copies may end until the very end. Guarded by the interpreter's lock.
    static Caller& get() {
        static Caller* caller = nullptr;
        if (caller == nullptr || caller->generation_ != fork_generation()) caller = new Caller;
        return *caller;
    }

    Status start() {
        const std::lock_guard lock(mutex_);
        if (thread_) return {};
        thread_ = start_thread("isthmus-calls", [this] { run(); });
        if (thread_) return {};
        return unsupported(
            "no thread for callbacks: the limit on threads is reached (ulimit -u, or pids.max of the container)");
    }

    void stop() {
        std::optional<std::jthread> thread;
        {
            const std::lock_guard lock(mutex_);
            quit_ = true;
            thread.swap(thread_);
        }
        changed_.notify_one();
        // The destructor waits for the thread.
    }

  private:
    void add(std::shared_ptr<Call> call) noexcept {
        {
            const std::lock_guard lock(mutex_);
            Call* const before = std::exchange(last_, call.get());
            (before == nullptr ? first_ : before->next_) = std::move(call);
        }
        changed_.notify_one();
    }

    std::shared_ptr<Call> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return first_ != nullptr || quit_; });
        std::shared_ptr<Call> call = std::move(first_);
        if (call != nullptr) first_ = std::move(call->next_);
        if (first_ == nullptr) last_ = nullptr;
        return call;
    }

    void run() {
        while (std::shared_ptr<Call> due = take()) {
            const GilHeld held;
            try {
                call(due->called_);
            } catch (nb::python_error& error) {
                log(error, due->called_.future);
            }
            due.reset();
            end_kept();
        }
    }

    const unsigned generation_ = fork_generation();
    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::shared_ptr<Call> first_;
    Call* last_ = nullptr;
    bool quit_ = false;
    std::optional<std::jthread> thread_;
};

}  // namespace

void call_when_done(const std::shared_ptr<CopyHandle>& copy, nb::object future, nb::object function) {
    const bool is_done = [&] {
        const GilReleased release;
        return copy == nullptr || copy->done();
    }();
    auto called = std::make_unique<Called>(std::move(future), std::move(function));
    if (is_done) {
        try {
            call(*called);
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_Exception)) throw;
            log(error, called->future);
        }
        return;
    }
    Caller& caller = Caller::get();
    check(caller.start());
    const auto waiting = std::make_shared<Caller::Call>(caller, std::move(called));
    const GilReleased release;
    copy->tell(waiting);
}

void end_callbacks() {
    Caller& caller = Caller::get();
    const GilReleased release;
    caller.stop();
}

}  // namespace isthmus::bindings
