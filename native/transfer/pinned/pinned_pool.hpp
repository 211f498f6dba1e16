// Page-locked memory for callers, in blocks of exactly what they ask for.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/numa.hpp"
#include "transfer/pinned/small_blocks.hpp"

namespace isthmus {

class Device;
class PinnedPool;

// A block of a pool, which has it again once this is destroyed, on any thread. Keeps the pool and its device alive. In
// the child of a fork it is left where it is, since it is the parent's.
class PinnedBlock {
  public:
    PinnedBlock(PinnedBlock&& other) noexcept
        : pool_(std::move(other.pool_)), data_(other.data_), bytes_(other.bytes_), small_(other.small_) {}
    PinnedBlock& operator=(PinnedBlock&&) = delete;
    ~PinnedBlock();

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }  // as many as were asked for

  private:
    friend class PinnedPool;
    PinnedBlock(std::shared_ptr<PinnedPool> pool, std::byte* data, std::size_t bytes, SmallBlocks::Block small)
        : pool_(std::move(pool)), data_(data), bytes_(bytes), small_(small) {}

    std::shared_ptr<PinnedPool> pool_;  // null once it was moved on
    std::byte* data_;
    std::size_t bytes_;
    SmallBlocks::Block small_;  // without a slab: memory of its own
};

// Blocks of more than 1 MiB are memory of their own, whole pages; smaller ones are cut from slabs. What was given back
// is used again, for blocks of about the same size, without a call of the driver that takes or locks memory.
class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
  public:
    explicit PinnedPool(std::shared_ptr<Device> device);
    ~PinnedPool();
    PinnedPool(const PinnedPool&) = delete;
    PinnedPool& operator=(const PinnedPool&) = delete;

    // Fails as page_locked() does, once all that was kept has been given back; with invalid_argument for more bytes
    // than there are addresses. Precondition: not 0, and the device is current for the thread.
    Result<PinnedBlock> allocate(std::size_t bytes);
    // All that is page-locked, in use or kept.
    std::size_t held_bytes() const;
    // Gives back what no block uses. Precondition as above.
    void trim();
    // The same, and from then on each block as soon as it is destroyed.
    void close();

  private:
    friend class PinnedBlock;
    using Memory = std::unique_ptr<Allocation>;
    void give_back(const PinnedBlock& block) noexcept;
    std::optional<PinnedBlock> reuse(std::size_t bytes);
    Result<PinnedBlock> allocate_small(std::size_t bytes);
    Result<PinnedBlock> allocate_large(std::size_t bytes);
    // From the driver, if need be in place of what is kept.
    Result<Memory> get(std::size_t bytes);
    std::vector<Memory> take_unused();

    const std::shared_ptr<Device> device_;
    const std::optional<NumaNode> node_;
    const unsigned generation_;  // of the process: forks so far
    mutable std::mutex mutex_;   // guards what follows
    SmallBlocks small_;
    std::vector<Memory> large_;  // in use; in no order
    std::vector<Memory> kept_;   // with room for all that are in use
    std::size_t large_bytes_ = 0;
    bool closed_ = false;
};

}  // namespace isthmus
