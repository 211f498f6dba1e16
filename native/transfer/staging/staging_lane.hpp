// One direction's page-locked memory and threads, used by one transfer at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "base/numa.hpp"
#include "base/turns.hpp"
#include "transfer/staging/staging.hpp"

namespace isthmus {

class StagingLane {
  public:
    // What is of use at most: the largest chunk, and the most pieces at a time.
    struct Needs {
        std::size_t chunk_bytes = 0, pieces = 0;
    };
    // Holds at most so many bytes of page-locked memory, and none until it is first needed.
    StagingLane(std::shared_ptr<Device> device, std::size_t pinned_budget_bytes, std::size_t threads,
                const Needs& needs);
    StagingLane(const StagingLane&) = delete;
    StagingLane& operator=(const StagingLane&) = delete;

    // Whether the budget holds a ring of chunks that are worth sending.
    bool has_room() const { return options_.has_value(); }
    // Of the ring; 0 without room for one.
    std::size_t ring_bytes() const { return has_room() ? options_->bytes : 0; }
    std::size_t threads() const { return has_room() ? options_->threads : 0; }
    // What threads that pack for this direction are started with.
    WorkerGroup::Options group() const { return has_room() ? options_->group : WorkerGroup::Options(); }
    // How many pieces' offsets fit at once, of so many sides.
    std::size_t most_pieces(std::size_t sides) const { return has_room() ? 2 * options_->pieces / sides : 0; }

    // Held by whoever uses the staging memory.
    Turns& turns() { return turns_; }
    const Turns& turns() const { return turns_; }
    // Precondition: has_room(), and the caller holds the turn. Fails with out_of_memory.
    Result<std::shared_ptr<Staging>> staging();

    std::size_t pinned_bytes() const { return pinned_bytes_; }
    // Gives everything back, unless a transfer that has only paused holds it. Waits for whoever has the turn.
    void trim();
    // In the child of a fork, where the threads are not there, and the driver must not be called: lets go without a
    // word.
    void forget();

  private:
    const std::shared_ptr<Device> device_;
    const std::optional<NumaNode> node_;  // that the device is attached to, where there are others
    std::optional<Staging::Options> options_;
    Turns turns_;
    std::shared_ptr<Staging> staging_;  // whoever has the turn
    std::atomic<std::size_t> pinned_bytes_ = 0;
};

}  // namespace isthmus
