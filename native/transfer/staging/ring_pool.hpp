// Page-locked memory for copies that nothing waits for: each has a part of it to itself until it has ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backend/region.hpp"
#include "base/numa.hpp"

namespace isthmus {

class Device;

// Outlives its loans.
class RingPool : public std::enable_shared_from_this<RingPool> {
  public:
    // Holds so many bytes, which are whole pages, and none until they are first needed.
    RingPool(std::shared_ptr<Device> device, std::size_t pool_bytes);
    RingPool(const RingPool&) = delete;
    RingPool& operator=(const RingPool&) = delete;

    // A part of the memory; goes back when it is destroyed, with nothing in flight. No other copy waits for it.
    class Loan {
      public:
        Loan(std::shared_ptr<RingPool> owner, std::size_t offset, std::size_t bytes)
            : owner_(std::move(owner)),
              host_(owner_->host_.get()),
              on_device_(owner_->on_device_.get()),
              offset_(offset),
              bytes_(bytes) {}
        Loan(Loan&&) = default;
        Loan& operator=(Loan&&) = delete;
        ~Loan() {
            if (owner_ != nullptr) owner_->give_back(offset_, bytes_);
        }
        // All of the memory, which the loan is a part of; and as much on the device, if it was asked for.
        Allocation* host() const { return host_; }
        Allocation* on_device() const { return on_device_; }
        std::size_t offset() const { return offset_; }
        std::size_t bytes() const { return bytes_; }

      private:
        std::shared_ptr<RingPool> owner_;  // null once it was moved on
        Allocation *host_, *on_device_;
        std::size_t offset_, bytes_;
    };
    // Whole pages, at least and at most so many bytes: a part of what is free, so that others get some, too. Fails with
    // out_of_memory.
    Result<Loan> borrow(std::size_t least_bytes, std::size_t most_bytes, bool on_device);

    std::size_t capacity_bytes() const { return capacity_; }
    std::size_t pinned_bytes() const { return pinned_bytes_; }
    // Gives everything back, unless some of it is on loan.
    void trim();
    // In the child of a fork: lets go without calling the driver.
    void forget();

  private:
    struct Range {
        std::size_t offset = 0, bytes = 0;
    };
    Status get(bool on_device);
    void give_back(std::size_t offset, std::size_t bytes) noexcept;
    std::size_t free_bytes() const;

    const std::shared_ptr<Device> device_;
    const std::optional<NumaNode> node_;
    const std::size_t capacity_;
    std::mutex mutex_;  // guards what follows
    std::unique_ptr<Allocation> host_, on_device_;
    std::size_t loans_ = 0;
    std::vector<Range> free_;  // in order, none next to another
    std::atomic<std::size_t> pinned_bytes_ = 0;
};

}  // namespace isthmus
