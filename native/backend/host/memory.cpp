// Allocations of the host backend.
#include "backend/host/memory.hpp"

#include <string>
#include <utility>

#include "backend/borrowed.hpp"
#include "backend/host/directory.hpp"
#include "base/pages.hpp"

namespace isthmus::host {
namespace {

class HostAllocation final : public Allocation {
  public:
    HostAllocation(std::shared_ptr<Core> core, MemoryKind kind, std::size_t bytes, std::byte* pages)
        : Allocation(kind, bytes), core_(std::move(core)), block_(source_of(kind), bytes), pages_(pages) {}
    ~HostAllocation() override {
        if (host() != nullptr) (void)release();
    }

    Status prepare() override {
        if (pages_ != nullptr || !is_registered(kind()) || is_touched(kind())) return {};
        ISTHMUS_TRY(block_.acquire());
        pages_ = block_.data();
        touch_pages(pages_, bytes());
        return {};
    }
    Status acquire() override {
        if (const auto fault = core_->meet("allocate"); fails(fault)) return injected(*fault, "allocate", bytes());
        ISTHMUS_TRY(take());
        if (pages_ == nullptr) {
            if (Status status = block_.acquire(); !status.ok()) {
                give_back();
                return status;
            }
        }
        set_host(pages_ != nullptr ? pages_ : block_.data());
        if (is_touched(kind())) touch_pages(host(), bytes());
        if (is_known()) Directory::get().add(handle(), bytes(), kind());
        return {};
    }
    Status release() override {
        if (is_known()) Directory::get().remove(handle());
        set_host(nullptr);
        if (pages_ == nullptr) block_.release();
        give_back();
        return {};
    }

  private:
    // Whether a driver would have got it, or locked it, and so know of it.
    bool is_known() const { return !is_pageable(kind()); }
    // What the bytes count towards: the device's memory, locked memory or nothing.
    std::atomic<std::size_t>* used() const {
        if (is_on_device(kind())) return &core_->device_bytes_used;
        return is_pageable(kind()) || kind() == MemoryKind::managed ? nullptr : &core_->locked_bytes_used;
    }
    Status take() {
        if (used() == nullptr) return {};
        const std::size_t most = is_on_device(kind()) ? core_->model.device_bytes : core_->model.locked_bytes;
        const std::size_t in_use = *used() += bytes();
        if (in_use <= most) return {};
        *used() -= bytes();
        const std::string what = is_on_device(kind()) ? "the modelled device has " : "the modelled limit leaves ";
        return {Code::out_of_memory, what + std::to_string(most - (in_use - bytes())) +
                                         (is_on_device(kind()) ? " bytes free" : " bytes to be locked") + "; " +
                                         std::to_string(bytes()) + " were asked for"};
    }
    void give_back() const {
        if (used() != nullptr) *used() -= bytes();
    }

    std::shared_ptr<Core> core_;
    HostBlock block_;
    std::byte* pages_;  // of the caller, or in block_ for good
};

class BorrowedMemory final : public Allocation {
  public:
    BorrowedMemory(MemoryKind kind, std::uintptr_t address, std::size_t bytes) : Allocation(kind, bytes) {
        set_host(reinterpret_cast<std::byte*>(address));  // NOLINT(performance-no-int-to-ptr)
    }
    Status acquire() override { return not_ours(); }
    Status release() override { return not_ours(); }
};

}  // namespace

std::unique_ptr<Allocation> borrow(MemoryKind kind, std::uintptr_t address, std::size_t bytes) {
    return std::make_unique<BorrowedMemory>(kind, address, bytes);
}

std::unique_ptr<Allocation> reserve(std::shared_ptr<Core> core, MemoryKind kind, std::size_t bytes, std::byte* pages) {
    return std::make_unique<HostAllocation>(std::move(core), kind, bytes, pages);
}

}  // namespace isthmus::host
