// Page-locked memory for copies that nothing waits for: each has a part of it to itself until it has ended.
#include "transfer/staging/ring_pool.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/pages.hpp"
#include "transfer/pieces/staging.hpp"
#include "transfer/pinned/page_locked.hpp"

namespace isthmus {

RingPool::RingPool(std::shared_ptr<Device> device, std::size_t pool_bytes)
    : device_(std::move(device)), node_(node_of_pci_device(device_->info().pci_address)), capacity_(pool_bytes) {}

Result<RingPool::Loan> RingPool::borrow(std::size_t least_bytes, std::size_t most_bytes, bool on_device) {
    const std::size_t least = in_pages(least_bytes);
    const std::lock_guard lock(mutex_);
    if (least <= capacity_) ISTHMUS_TRY(get(on_device));
    auto largest = std::max_element(free_.begin(), free_.end(),
                                    [](const Range& one, const Range& other) { return one.bytes < other.bytes; });
    if (least > capacity_ || largest == free_.end() || largest->bytes < least) {
        return Status(Code::out_of_memory,
                      "copies that are under way have " + std::to_string(capacity_ - free_bytes()) + " of the " +
                          std::to_string(capacity_) + " bytes of page-locked memory for asynchronous copies, and " +
                          std::to_string(least) +
                          " are needed: wait for some of them, or give the session a larger pinned_budget");
    }
    // Half of all to one that is alone, and ever smaller parts of what is left to those that come while others are
    // in flight, so that many get some.
    const std::size_t pages = free_bytes() / least_page;
    const std::size_t fair = pages * pages / 2 / (capacity_ / least_page) * least_page;
    const std::size_t wanted = std::clamp(fair, least, std::max(least, in_pages(most_bytes)));
    const std::size_t given = std::min(wanted, largest->bytes);
    const std::size_t offset = largest->offset;
    // What is on loan goes back without taking memory: there are no more free ranges than loans and one, and one more
    // until those that touch are joined.
    const auto index = largest - free_.begin();
    free_.reserve(loans_ + 3);
    largest = free_.begin() + index;
    ++loans_;
    *largest = {offset + given, largest->bytes - given};
    if (largest->bytes == 0) free_.erase(largest);
    return Loan(shared_from_this(), offset, given);
}

Status RingPool::get(bool on_device) {
    if (host_ == nullptr) {
        ISTHMUS_TRY(assign(host_, page_locked(*device_, node_, capacity_, AfterFork::parent)));
        pinned_bytes_ = capacity_;
        free_ = {{0, capacity_}};
    }
    if (!on_device || on_device_ != nullptr) return {};
    return assign(on_device_, device_->hold(MemoryKind::device, capacity_));
}

void RingPool::give_back(std::size_t offset, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    --loans_;
    auto after = std::find_if(free_.begin(), free_.end(), [&](const Range& range) { return range.offset > offset; });
    after = free_.insert(after, {offset, bytes});
    if (const auto next = std::next(after); next != free_.end() && after->offset + after->bytes == next->offset) {
        after->bytes += next->bytes;
        free_.erase(next);
    }
    if (after == free_.begin()) return;
    if (const auto before = std::prev(after); before->offset + before->bytes == after->offset) {
        before->bytes += after->bytes;
        free_.erase(after);
    }
}

std::size_t RingPool::free_bytes() const {
    std::size_t bytes = 0;
    for (const Range& range : free_) bytes += range.bytes;
    return bytes;
}

void RingPool::trim() {
    // End without the mutex: the driver may wait for all that the device does before it takes memory back.
    std::unique_ptr<Allocation> host, on_device;
    const std::lock_guard lock(mutex_);
    if (free_bytes() != capacity_) return;
    host.swap(host_);
    on_device.swap(on_device_);
    free_.clear();
    pinned_bytes_ = 0;
}

void RingPool::forget() {
    // Never freed: their destructors would call the driver.
    static_cast<void>(host_.release());
    static_cast<void>(on_device_.release());
}

}  // namespace isthmus
