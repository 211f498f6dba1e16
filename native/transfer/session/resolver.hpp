// Makes of what callers name what is to be moved: jobs, or one launch for rows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "transfer/links/stream_pool.hpp"
#include "transfer/rows/row_copy.hpp"
#include "transfer/session/chooser.hpp"
#include "transfer/session/copy_job.hpp"
#include "transfer/session/order.hpp"
#include "transfer/staging/ring_pool.hpp"
#include "transfer/staging/spare_offsets.hpp"

namespace isthmus {

class RowLaunch;

// May be used by any number of threads at once; the device is current for each. What it is given outlives it.
class Resolver {
  public:
    Resolver(Device& device, const KernelBlocks& blocks, Chooser& chooser, StreamPool& streams,
             const std::array<StagingLane, 2>& lanes, const std::array<std::shared_ptr<RingPool>, 2>& rings);

    // Null where there is nothing to copy.
    Result<std::shared_ptr<CopyJob>> resolve(const ArrayView& destination, const ArrayView& source);
    // The pieces of a batch, those of one size together. None where there is nothing to copy.
    Result<std::vector<std::shared_ptr<CopyJob>>> resolve(const Batch& batch, Sides sides);
    // What a copy of rows comes to: one kernel, or jobs; neither where there is nothing to copy.
    struct RowTasks {
        std::shared_ptr<RowLaunch> launch;
        std::vector<std::shared_ptr<CopyJob>> jobs;
        Route route = Route::h2h;
    };
    // `to_explain`: as jobs, whatever moves them.
    Result<RowTasks> resolve(const RowCopy& copy, const Order& order, bool to_explain);
    // Gives back what no job uses.
    void trim() { spare_offsets_->clear(); }

  private:
    Result<std::shared_ptr<Device>> other_device(int index);
    // Whether one kernel is to move so many rows of each layer.
    bool can_launch(const RowGeometry& geometry, const std::vector<Ends>& ends, std::size_t count);
    // A list that is on the device, in the order of the stream.
    Result<std::vector<std::int64_t>> fetch(const RowListOnDevice& list, const Order& order);
    // Rows that the lists name, which were checked.
    Result<std::vector<std::shared_ptr<CopyJob>>> jobs_of(const RowGeometry& geometry, const std::vector<Ends>& ends,
                                                          std::span<const std::int64_t> destination_rows,
                                                          std::span<const std::int64_t> source_rows);
    // Whether the pieces of a layer go in one job with those of the first one.
    bool go_together(const RowGeometry& geometry, const std::vector<Ends>& ends, std::size_t first,
                     std::size_t layer) const;

    Device& device_;
    const KernelBlocks blocks_;
    Chooser& chooser_;
    StreamPool& streams_;
    const std::array<StagingLane, 2>& lanes_;
    const std::array<std::shared_ptr<RingPool>, 2>& rings_;
    const bool has_addresses_;
    const std::shared_ptr<SpareOffsets> spare_offsets_ = std::make_shared<SpareOffsets>();
    std::mutex others_mutex_;  // guards what follows
    std::vector<std::shared_ptr<Device>> others_;
};

}  // namespace isthmus
