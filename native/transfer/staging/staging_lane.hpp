// One direction's page-locked memory and threads, used by one transfer at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "base/fair_mutex.hpp"
#include "base/numa.hpp"
#include "transfer/pieces/staging.hpp"

namespace isthmus {

class StagingLane {
  public:
    // Holds no page-locked memory until it is first needed. Without a plan there is no room for a ring.
    StagingLane(std::shared_ptr<Device> device, const std::optional<LanePlan>& plan, std::size_t threads,
                const KernelBlocks& blocks);
    StagingLane(const StagingLane&) = delete;
    StagingLane& operator=(const StagingLane&) = delete;

    // Whether the budget holds a ring of chunks that are worth sending.
    bool has_room() const { return options_.has_value(); }
    // Without room for one it holds no bytes.
    const Ring& ring() const { return ring_; }
    std::size_t threads() const { return has_room() ? options_->threads : 0; }
    // What threads that pack for this direction are started with.
    WorkerGroup::Options group() const { return has_room() ? options_->group : WorkerGroup::Options(); }
    // How many pieces' offsets fit at once, of so many sides.
    std::size_t most_pieces(std::size_t sides) const { return has_room() ? 2 * options_->pieces / sides : 0; }

    // Held by the caller that uses the staging memory.
    FairMutex& mutex() { return mutex_; }
    const FairMutex& mutex() const { return mutex_; }
    // Precondition: has_room(), and the caller holds the mutex. Fails with out_of_memory.
    Result<std::shared_ptr<Staging>> staging();

    std::size_t pinned_bytes() const { return pinned_bytes_; }
    // Gives everything back, unless a transfer that has only paused holds it. Waits for the caller that holds the
    // mutex.
    void trim();
    // In the child of a fork, where the threads are not there, and the driver must not be called: lets go without a
    // word.
    void forget();

  private:
    const std::shared_ptr<Device> device_;
    const std::optional<NumaNode> node_;  // that the device is attached to, where there are others
    const Ring ring_;
    std::optional<Staging::Options> options_;
    FairMutex mutex_;
    std::shared_ptr<Staging> staging_;  // guarded by the mutex
    std::atomic<std::size_t> pinned_bytes_ = 0;
};

}  // namespace isthmus
