// Moves what was resolved by the method that was chosen, or by the next one that can, and returns when it has arrived.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "transfer/links/links.hpp"
#include "transfer/links/stream_pool.hpp"
#include "transfer/session/chooser.hpp"
#include "transfer/session/copy_job.hpp"
#include "transfer/session/order.hpp"
#include "transfer/staging/staging_lane.hpp"

namespace isthmus {

// May be used by any number of threads at once; the device is current for each. What it is given outlives it.
class Mover {
  public:
    Mover(Device& device, const SessionOptions& options, const KernelBlocks& blocks, Chooser& chooser,
          StreamPool& streams, std::array<StagingLane, 2>& lanes, std::array<Links, 2>& links)
        : device_(device),
          options_(options),
          blocks_(blocks),
          chooser_(chooser),
          streams_(streams),
          lanes_(lanes),
          links_(links) {}

    // These begin after what `order` holds.
    Outcome perform(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order);
    // One after the other, until one fails.
    Outcome perform(const std::vector<std::shared_ptr<CopyJob>>& jobs, const Order& order);
    // Between the host and the device, of memory that has addresses.
    Outcome by_driver(const BatchPiece& piece, const Ends& ends, Cut cut, const Order& order);
    // What is read from a file: by threads into the ring, by the calling thread to the host, or by that and the driver.
    Outcome read(const std::shared_ptr<CopyJob>& job, const Order& order);

    // By the calling thread, between two places of the host.
    Outcome on_host(CopyJob& job);
    // Puts a part on a stream, by a method that needs no lane, and does not wait.
    Status enqueue(Stream& stream, PieceMethod method, const JobPart& part);
    // What failed, with how much had arrived; what the caller did wrong is left as it is.
    static Outcome with_progress(Outcome outcome, Route route, std::size_t bytes);

  private:
    StagingLane& lane(bool to_device) { return lanes_[to_device ? 0 : 1]; }
    const StagingLane& lane(bool to_device) const { return lanes_[to_device ? 0 : 1]; }
    Outcome move(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order);
    Outcome by_driver(const Region& destination, const Region& source, Cut cut, const Order& order);
    Outcome in_parts(const Region& destination, const Region& source, Cut cut);
    Outcome staged(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order);
    Outcome by_pieces(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order);
    Outcome in_device(CopyJob& job, const Order& order);
    Outcome rows(const std::shared_ptr<CopyJob>& job, const Order& order);
    Outcome read_through_lane(const std::shared_ptr<CopyJob>& job);
    Outcome read_on_host(const CopyJob& job);
    Outcome read_in_parts(const CopyJob& job, const Order& order);
    // Whether the budget has room for the method.
    bool has_room(PieceMethod method, const CopyJob& job) const;
    // Whether pageable memory of the host is to be looked at page by page; fails where it cannot be accessed.
    Result<bool> look_at(Access access, const Layout& host, const Extent& extent) const;
    // Fails where an access would raise a signal, and pages are to be looked at.
    Status check_memory(Access access, const Layout& host, const Extent& extent) const;
    Status check_memory(const CopyJob& job) const;
    // By one method; unsupported and out_of_memory before anything has moved leave it to the next one.
    Outcome through_lane(const std::shared_ptr<CopyJob>& job, PieceMethod method, Packing packing);
    Outcome without_lane(CopyJob& job, PieceMethod method, const Order& order);
    // Scattered pieces, by kernels that follow their offsets.
    Outcome over_link_by_kernels(const CopyJob& job);
    Outcome by_kernels(const CopyJob& job, StagingLane& lane, const KernelBlocks& blocks);
    Status enqueue_scattered(Staging& staging, Stream& stream, const JobPart& part, std::size_t table_byte,
                             const KernelBlocks& blocks);

    Device& device_;
    const SessionOptions& options_;
    const KernelBlocks blocks_;
    Chooser& chooser_;
    StreamPool& streams_;
    std::array<StagingLane, 2>& lanes_;
    std::array<Links, 2>& links_;  // by direction, as the lanes
};

}  // namespace isthmus
