// Allocations of the CUDA backend, one class a way to get memory.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/cuda/context.hpp"
#include "base/pages.hpp"

namespace isthmus::cuda {

class CudaAllocation : public Allocation {
  public:
    // The device's address; 0 where kernels cannot reach the memory.
    DevicePointer address() const { return address_; }

  protected:
    CudaAllocation(std::shared_ptr<PrimaryContext> context, MemoryKind kind, std::size_t bytes, std::byte* host,
                   DevicePointer address)
        : Allocation(kind, bytes, host), context_(std::move(context)), address_(address) {}
    const std::shared_ptr<PrimaryContext> context_;

  private:
    DevicePointer address_;
};

// Precondition: the context is current, and the device can have memory of this kind.
Result<std::unique_ptr<Allocation>> allocate(const std::shared_ptr<PrimaryContext>& context, MemoryKind kind,
                                             std::size_t bytes);

}  // namespace isthmus::cuda
