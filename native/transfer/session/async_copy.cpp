// A copy that was begun and not waited for, as its caller and its session see it.
#include "transfer/session/async_copy.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "backend/device.hpp"
#include "base/clock.hpp"
#include "base/fork.hpp"

namespace isthmus {
namespace {

// Small copies end while the caller that waits is still awake.
constexpr double awake_seconds = 200e-6;
constexpr std::chrono::microseconds last_nap{200};

}  // namespace

AsyncCopy::AsyncCopy(std::shared_ptr<Device> device, std::shared_ptr<Device> other, std::size_t bytes,
                     std::shared_ptr<const void> keep)
    : device_(std::move(device)),
      other_(std::move(other)),
      bytes_(bytes),
      generation_(fork_generation()),
      forked_{
          {Code::call_failed, "the copy was begun before this process was forked; its parent may know how it ended"},
          0},
      keep_(std::move(keep)) {}

AsyncCopy::~AsyncCopy() {
    if (generation_ == fork_generation()) return;
    // The driver must not be called in the child of a fork, so these are never freed.
    static_cast<void>(event_.release());
    keep_for_good(std::move(held_));
}

void AsyncCopy::end(Outcome outcome) {
    std::shared_ptr<const void> keep;
    std::shared_ptr<HeldCopy> held;
    {
        const std::lock_guard lock(mutex_);
        if (ended_) return;
        ended_ = true;
        outcome_ = std::move(outcome);
        keep.swap(keep_);
        held.swap(held_);
    }
    held.reset();
    keep.reset();  // without the mutex: it may wait for locks of the caller's
    done_.store(true, std::memory_order_release);
    done_.notify_all();
    std::vector<std::shared_ptr<CopyListener>> listeners;
    {
        const std::lock_guard lock(mutex_);
        listeners.swap(listeners_);
    }
    for (const auto& listener : listeners) listener->copy_ended();
}

bool AsyncCopy::poll() noexcept {
    if (done_ || event_ == nullptr) return done_;
    try {
        return look();
    } catch (...) {
        return false;  // for want of memory, it is not known yet
    }
}

bool AsyncCopy::look() {
    Binding binding(*device_);
    Status status = binding.status();
    if (status.ok()) {
        auto passed = device_->has_passed(*event_);
        if (passed.ok() && !passed.value()) return false;
        if (!passed.ok()) status = passed.take_status();
    }
    if (status.ok()) {
        const std::lock_guard lock(mutex_);
        if (held_ != nullptr) status = held_->status();
    } else {
        abandon();
    }
    const std::size_t bytes = status.ok() ? bytes_ : 0;
    // A caller that else ends it at this moment may have to wait for what it kept.
    end({std::move(status), bytes});
    return true;
}

void AsyncCopy::abandon() {
    std::shared_ptr<HeldCopy> held;
    {
        const std::lock_guard lock(mutex_);
        held = held_;
    }
    if (held != nullptr) held->abandon();
}

bool AsyncCopy::done() {
    return generation_ != fork_generation() || poll();
}

const Outcome& AsyncCopy::wait() {
    if (generation_ != fork_generation()) return forked_;
    const TimePoint begin = now();
    std::chrono::microseconds nap{10};
    while (!poll()) {
        if (seconds_between(begin, now()) < awake_seconds) {
            std::this_thread::yield();
        } else if (event_ == nullptr) {
            done_.wait(false);
        } else {
            std::this_thread::sleep_for(nap);
            nap = std::min(2 * nap, last_nap);
        }
    }
    seen_ = true;
    const std::lock_guard lock(mutex_);  // the caller that ended it has written what is read
    return outcome_;
}

Status AsyncCopy::hold(std::uintptr_t stream) {
    if (generation_ != fork_generation()) return forked_.status.copy();
    if (poll()) return {};
    Status status = hold_on(*device_, stream);
    if (other_ == nullptr) return status;
    // Both have default streams of these names; any other stream is one device's.
    const bool is_others = status.code() == Code::invalid_argument;
    if (stream > last_default_stream ? !is_others : !status.ok()) return status;
    return hold_on(*other_, stream);
}

Status AsyncCopy::hold_on(Device& device, std::uintptr_t stream) {
    Binding binding(device);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(borrowed, device.borrow_stream(stream));
    ISTHMUS_TRY(borrowed->check_usable());
    return device.wait(*borrowed, *event_);
}

void AsyncCopy::tell(std::shared_ptr<CopyListener> listener) {
    if (generation_ == fork_generation()) {
        const std::lock_guard lock(mutex_);
        if (!done_) {
            listeners_.push_back(std::move(listener));
            return;
        }
    }
    listener->copy_ended();
}

Status AsyncCopy::unseen_failure() {
    const std::lock_guard lock(mutex_);
    if (!done_ || seen_ || outcome_.status.ok()) return {};
    return outcome_.status.copy();
}

}  // namespace isthmus
