// A copy that was begun and not waited for, as its caller and its session see it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "transfer/session.hpp"

namespace isthmus {

class AsyncCopy final : public Transfer {
  public:
    // `keep` is let go when it has ended.
    AsyncCopy(std::shared_ptr<Device> device, std::size_t bytes, std::shared_ptr<const void> keep);
    ~AsyncCopy() override;

    bool done() override;
    const Outcome& wait() override;
    Status hold(std::uintptr_t stream) override;

    // By whoever begins it, before anybody else sees it. Of commands on a stream: that it has ended when the event has
    // passed. Of what a thread does: what keeps a stream until it has ended.
    void ends_with(std::unique_ptr<Event> event) { event_ = std::move(event); }
    void keeps(std::unique_ptr<Latch> latch) { latches_.push_back(std::move(latch)); }
    // Of what a thread does: it has ended so. Once.
    void end(Outcome outcome);
    // Whether it has ended, if that is for an event to say, or failed.
    bool poll();
    // The failure that nobody has asked about; success where somebody has.
    Status unseen_failure();

  private:
    const std::shared_ptr<Device> device_;
    const std::size_t bytes_;
    const unsigned generation_;
    const Outcome forked_;
    std::unique_ptr<Event> event_;  // null where a thread says when it has ended
    std::mutex mutex_;              // guards what follows
    bool ended_ = false;
    std::shared_ptr<const void> keep_;
    std::vector<std::unique_ptr<Latch>> latches_;
    Outcome outcome_;
    std::atomic<bool> done_ = false;
    std::atomic<bool> seen_ = false;
};

}  // namespace isthmus
