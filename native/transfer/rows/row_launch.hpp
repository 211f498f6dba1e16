// A copy of rows by one kernel, whatever number of layers: the table that it reads, and what is checked on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/kernel_blocks.hpp"
#include "backend/rows.hpp"
#include "transfer/copy/ends.hpp"
#include "transfer/rows/row_copy.hpp"
#include "transfer/rows/row_overlaps.hpp"
#include "transfer/staging/ring_pool.hpp"

namespace isthmus {

class RowLaunch {
  public:
    // Lists of the host were checked, and so were the overlaps of what they name. Every row is whole on both sides, of
    // memory with addresses that kernels reach; `ends` are those of each layer. Fails with out_of_memory where the pool
    // has no room for the table.
    static Result<std::shared_ptr<RowLaunch>> create(Device& device, RingPool& pool, const RowGeometry& geometry,
                                                     const std::vector<Ends>& ends, const RowList& destination_rows,
                                                     const RowList& source_rows, const RowOverlaps& overlaps,
                                                     const KernelBlocks& blocks);
    // For the cheapest use of the link: the largest of 16, 4 and 1 that divides whatever makes up an address.
    RowLaunch(Device& device, RingPool::Loan loan, const RowsExtent& extent, std::uint32_t unit_bytes,
              std::uint32_t most_blocks)
        : device_(device),
          loan_(std::move(loan)),
          extent_(extent),
          unit_bytes_(unit_bytes),
          most_blocks_(most_blocks) {}
    RowLaunch(const RowLaunch&) = delete;
    RowLaunch& operator=(const RowLaunch&) = delete;

    std::size_t bytes() const { return extent_.bytes(); }
    // Once. Commands of one stream, which must have ended before this is destroyed.
    Status enqueue(Stream& stream);
    // Fails with invalid_argument where lists on the device named what must not be copied; then nothing was.
    // Precondition: all that was enqueued has ended.
    Status verdict() const;

  private:
    // A list that is on the device, and what it is looked for there.
    struct Check {
        std::unique_ptr<Allocation> memory;
        RowNumbers numbers;
        std::size_t rows = 0;
        Marks marks = Marks::none;
        bool is_source = false;
        std::size_t checked_at = 0;
    };
    Region on_device(std::size_t at, std::size_t bytes) const {
        return {loan_.on_device(), loan_.offset() + at, bytes};
    }
    Region on_host(std::size_t at, std::size_t bytes) const { return {loan_.host(), loan_.offset() + at, bytes}; }

    Device& device_;
    const RingPool::Loan loan_;
    const RowsExtent extent_;
    const std::uint32_t unit_bytes_, most_blocks_;
    std::vector<std::unique_ptr<Allocation>> memories_;
    std::vector<Check> checks_;  // the destination's before the source's
    std::size_t sent_bytes_ = 0, seen_at_ = 0, seen_bytes_ = 0;
    std::size_t destination_rows_ = 0, source_rows_ = 0;
};

}  // namespace isthmus
