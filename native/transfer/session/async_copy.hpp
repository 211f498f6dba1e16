// A copy that was begun and not waited for, as its caller and its session see it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "transfer/session/session.hpp"
#include "transfer/staging/held_copy.hpp"

namespace isthmus {

// Streams that every device has go by handles of no more than this (Device::borrow_stream); any other is one device's.
inline constexpr std::uintptr_t last_default_stream = 2;

class AsyncCopy final : public CopyHandle {
  public:
    // `other` is the second device of a copy between two; null for none. `keep` is let go when it has ended.
    AsyncCopy(std::shared_ptr<Device> device, std::shared_ptr<Device> other, std::size_t bytes,
              std::shared_ptr<const void> keep);
    ~AsyncCopy() override;

    bool done() override;
    const Outcome& wait() override;
    Status hold(std::uintptr_t stream) override;
    void tell(std::shared_ptr<CopyListener> listener) override;

    // By the caller that begins it, before anybody else sees it: it has ended when the event has passed, and `held` is
    // how.
    void ends_with(std::unique_ptr<Event> event, std::shared_ptr<HeldCopy> held) {
        event_ = std::move(event);
        held_ = std::move(held);
    }
    // It has ended so. Once.
    void end(Outcome outcome);
    // Whether it has ended. Should it have failed, returns when no thread is at work on it any more.
    bool poll() noexcept;
    // The failure, until it is reported once; then success.
    Status unseen_failure();

  private:
    Status hold_on(Device& device, std::uintptr_t stream);
    bool look();
    void abandon();

    const std::shared_ptr<Device> device_, other_;
    const std::size_t bytes_;
    const unsigned generation_;
    const Outcome forked_;
    std::unique_ptr<Event> event_;  // null where there is nothing to wait for
    std::mutex mutex_;              // guards what follows
    bool ended_ = false;
    std::shared_ptr<const void> keep_;
    std::shared_ptr<HeldCopy> held_;  // null where commands do all of it
    Outcome outcome_;
    std::vector<std::shared_ptr<CopyListener>> listeners_;  // empty once it is done
    std::atomic<bool> done_ = false;
    std::atomic<bool> seen_ = false;
};

}  // namespace isthmus
