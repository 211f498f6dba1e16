// Streams of a session's own, each used by one copy at a time, and kept.
#include "transfer/links/stream_pool.hpp"

#include <utility>

#include "backend/device.hpp"
#include "base/fork.hpp"

namespace isthmus {

Result<StreamPool::Loan> StreamPool::borrow() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<Track> track = std::move(idle_.back());
            idle_.pop_back();
            ++loans_;
            return Loan(*this, std::move(track));
        }
    }
    auto track = std::make_unique<Track>();
    ISTHMUS_TRY(assign(track->stream, device_->create_stream()));
    for (std::unique_ptr<Event>& event : track->events) ISTHMUS_TRY(assign(event, device_->create_untimed_event()));
    const std::lock_guard lock(mutex_);
    idle_.reserve(idle_.size() + loans_ + 1);
    ++loans_;
    return Loan(*this, std::move(track));
}

void StreamPool::give_back(std::unique_ptr<Track> track) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(track));  // within what borrow() has reserved
    --loans_;
}

void StreamPool::trim() {
    while (true) {
        std::unique_ptr<Track> idle;  // ends without the mutex
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return;
        idle = std::move(idle_.back());
        idle_.pop_back();
    }
}

void StreamPool::forget() {
    keep_for_good(std::move(idle_));
}

}  // namespace isthmus
