// Streams of a session's own, each used by one copy at a time, and kept.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/stream.hpp"

namespace isthmus {

class Device;

class StreamPool {
  public:
    explicit StreamPool(std::shared_ptr<Device> device) : device_(std::move(device)) {}
    StreamPool(const StreamPool&) = delete;
    StreamPool& operator=(const StreamPool&) = delete;

    // How many commands of a large copy may be in flight, so that others' get between them.
    static constexpr std::size_t depth = 3;
    struct Track {
        std::unique_ptr<Stream> stream;
        std::array<std::unique_ptr<Event>, depth> events;
    };
    // On loan; goes back when it is destroyed, with nothing in flight.
    class Loan {
      public:
        Loan(StreamPool& owner, std::unique_ptr<Track> track) : owner_(&owner), track_(std::move(track)) {}
        Loan(Loan&&) = default;
        Loan& operator=(Loan&&) = delete;
        ~Loan() {
            if (track_ != nullptr) owner_->give_back(std::move(track_));
        }
        Stream& stream() { return *track_->stream; }
        Event& event(std::size_t index) { return *track_->events[index % depth]; }

      private:
        StreamPool* owner_;
        std::unique_ptr<Track> track_;
    };
    Result<Loan> borrow();
    // Ends those that are idle.
    void trim();
    // In the child of a fork: lets go without calling the driver.
    void forget();

  private:
    void give_back(std::unique_ptr<Track> track) noexcept;

    const std::shared_ptr<Device> device_;
    std::mutex mutex_;  // guards what follows
    std::vector<std::unique_ptr<Track>> idle_;
    std::size_t loans_ = 0;
};

}  // namespace isthmus
