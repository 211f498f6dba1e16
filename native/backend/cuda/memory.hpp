// Allocations of the CUDA backend, one class for each kind, and views of memory and streams that a caller owns.
#pragma once

#include <memory>

#include "backend/cuda/context.hpp"
#include "backend/device.hpp"

namespace isthmus::cuda {

class CudaAllocation : public Allocation {
  public:
    CudaAllocation(std::shared_ptr<PrimaryContext> context, MemoryKind kind, std::size_t bytes)
        : Allocation(kind, bytes), context_(std::move(context)) {}

    // The device's address; 0 where kernels cannot reach the memory, or while it is not held.
    DevicePointer address() const { return address_; }
    PrimaryContext& context() const { return *context_; }
    std::uintptr_t handle() const override {
        return host() != nullptr ? Allocation::handle() : static_cast<std::uintptr_t>(address_);
    }
    std::uintptr_t kernel_address() const override { return static_cast<std::uintptr_t>(address_); }

  protected:
    void set_address(DevicePointer address) { address_ = address; }
    const Api& cu() const { return context_->api(); }
    const std::shared_ptr<PrimaryContext> context_;

  private:
    DevicePointer address_ = 0;
};

inline DevicePointer address_of(const Region& region) {
    return static_cast<const CudaAllocation&>(*region.allocation).address() + region.offset;
}

// Precondition: the context is current, and the device can have memory of this kind. `pages` as for Device::reserve.
Result<std::unique_ptr<Allocation>> reserve(const std::shared_ptr<PrimaryContext>& context, MemoryKind kind,
                                            std::size_t bytes, std::byte* pages);

// As the functions of Device of the same names. Precondition: the context is current.
Result<KnownMemory> identify(const PrimaryContext& context, std::uintptr_t address);
bool is_mapped(const PrimaryContext& context, std::uintptr_t address);
Result<std::unique_ptr<Allocation>> borrow(const std::shared_ptr<PrimaryContext>& context, MemoryKind kind,
                                           std::uintptr_t address, std::size_t bytes, std::uintptr_t kernel_address);
Result<std::unique_ptr<isthmus::Stream>> borrow_stream(const std::shared_ptr<PrimaryContext>& context,
                                                       std::uintptr_t handle);

}  // namespace isthmus::cuda
