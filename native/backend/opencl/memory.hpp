// Allocations of the OpenCL backend, one class a way to get memory.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/opencl/context.hpp"

namespace isthmus::opencl {

class ClAllocation : public Allocation {
  public:
    ClAllocation(std::shared_ptr<SharedContext> context, MemoryKind kind, std::size_t bytes)
        : Allocation(kind, bytes), context_(std::move(context)) {}

    virtual Buffer buffer() const { return nullptr; }
    std::uintptr_t handle() const override {
        return is_on_device(kind()) ? reinterpret_cast<std::uintptr_t>(buffer()) : Allocation::handle();
    }
    // The shared virtual address; null for anything but SVM.
    virtual void* svm() const { return nullptr; }
    virtual Status begin_host_access() { return {}; }
    virtual Status end_host_access() { return {}; }

  protected:
    const Api& cl() const { return context_->api(); }
    // Of shared virtual memory, for the host.
    Status map_svm(void* memory, std::size_t bytes) const;
    Status unmap_svm(void* memory) const;
    const std::shared_ptr<SharedContext> context_;
};

// `pages` as for Device::reserve.
Result<std::unique_ptr<Allocation>> reserve(const std::shared_ptr<SharedContext>& context, MemoryKind kind,
                                            std::size_t bytes, std::byte* pages);

}  // namespace isthmus::opencl
