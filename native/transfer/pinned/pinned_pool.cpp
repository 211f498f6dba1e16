// Page-locked memory for callers, in blocks of exactly what they ask for.
#include "transfer/pinned/pinned_pool.hpp"

#include <algorithm>
#include <string>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/fork.hpp"
#include "base/pages.hpp"
#include "base/threads.hpp"
#include "transfer/pinned/page_locked.hpp"

namespace isthmus {
namespace {

// How much larger than asked for a kept block may be: one part in so many.
constexpr std::size_t share_unused = 8;

}  // namespace

PinnedBlock::~PinnedBlock() {
    if (pool_ == nullptr) return;
    if (pool_->generation_ == fork_generation()) {
        pool_->give_back(*this);
    } else {
        keep_for_good(std::move(pool_));
    }
}

PinnedPool::PinnedPool(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      node_(node_of_pci_device(device_->info().pci_address)),
      generation_(fork_generation()) {}

PinnedPool::~PinnedPool() {
    // No block is left, and no other thread is here.
    const Binding binding(*device_);
    kept_.clear();
    small_.take_unused().clear();
}

Result<PinnedBlock> PinnedPool::allocate(std::size_t bytes) {
    return bytes <= SmallBlocks::most_bytes ? allocate_small(bytes) : allocate_large(bytes);
}

Result<PinnedBlock> PinnedPool::allocate_small(std::size_t bytes) {
    while (true) {
        std::size_t slab_bytes = 0;
        {
            const std::lock_guard lock(mutex_);
            if (const auto small = small_.take(bytes)) {
                return PinnedBlock(shared_from_this(), small->data, bytes, *small);
            }
            slab_bytes = small_.next_slab_bytes();
        }
        ISTHMUS_TRY_ASSIGN(memory, get(slab_bytes));
        const std::lock_guard lock(mutex_);
        small_.add(std::move(memory));
    }
}

Result<PinnedBlock> PinnedPool::allocate_large(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2) return invalid(std::to_string(bytes) + " bytes exceed the address space");
    if (auto block = reuse(bytes)) return std::move(*block);
    ISTHMUS_TRY_ASSIGN(memory, get(in_pages(bytes)));
    std::byte* const data = memory->host();
    const std::size_t held = memory->bytes();
    const std::lock_guard lock(mutex_);
    kept_.reserve(kept_.size() + large_.size() + 1);
    large_.push_back(std::move(memory));
    large_bytes_ += held;
    return PinnedBlock(shared_from_this(), data, bytes, {});
}

// The smallest that is large enough and not much larger.
std::optional<PinnedBlock> PinnedPool::reuse(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto best = kept_.end();
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
        const std::size_t size = (*kept)->bytes();
        if (size < bytes || size - bytes > least_page + bytes / share_unused) continue;
        if (best == kept_.end() || size < (*best)->bytes()) best = kept;
    }
    if (best == kept_.end()) return std::nullopt;
    std::byte* const data = (*best)->host();
    large_.push_back(std::move(*best));
    kept_.erase(best);
    return PinnedBlock(shared_from_this(), data, bytes, {});
}

Result<PinnedPool::Memory> PinnedPool::get(std::size_t bytes) {
    auto made = page_locked(*device_, node_, bytes, AfterFork::both);
    if (made.ok()) return made;
    Status status = made.take_status();
    if (status.code() != Code::out_of_memory) return status;
    {
        const std::vector<Memory> unused = take_unused();
        if (unused.empty()) return status;
    }
    return page_locked(*device_, node_, bytes, AfterFork::both);
}

void PinnedPool::give_back(const PinnedBlock& block) noexcept {
    Memory freed;
    {
        const std::lock_guard lock(mutex_);
        if (block.small_.slab != nullptr) {
            small_.give_back(block.small_);
            if (!closed_) return;
        } else {
            const auto place = std::find_if(large_.begin(), large_.end(),
                                            [&](const Memory& each) { return each->host() == block.data_; });
            std::swap(*place, large_.back());
            if (!closed_) {
                kept_.push_back(std::move(large_.back()));
            } else {
                large_bytes_ -= large_.back()->bytes();
                freed = std::move(large_.back());
            }
            large_.pop_back();
            if (!closed_) return;
        }
    }
    const Binding binding(*device_);
    freed.reset();
    (void)caught([&]() -> Status {
        take_unused().clear();
        return {};
    });
}

std::vector<PinnedPool::Memory> PinnedPool::take_unused() {
    const std::lock_guard lock(mutex_);
    std::vector<Memory> unused = small_.take_unused();
    unused.reserve(unused.size() + kept_.size());
    for (Memory& kept : kept_) {
        large_bytes_ -= kept->bytes();
        unused.push_back(std::move(kept));
    }
    kept_.clear();
    return unused;
}

std::size_t PinnedPool::held_bytes() const {
    const std::lock_guard lock(mutex_);
    return large_bytes_ + small_.held_bytes();
}

void PinnedPool::trim() {
    take_unused().clear();
}

void PinnedPool::close() {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    trim();
}

}  // namespace isthmus
