// Allocations of the OpenCL backend, one class a way to get memory.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/opencl/context.hpp"

namespace isthmus::opencl {

class ClAllocation : public Allocation {
  public:
    virtual Buffer buffer() const { return nullptr; }
    // The shared virtual address; null for anything but SVM.
    virtual void* svm() const { return nullptr; }
    virtual Status begin_host_access() { return {}; }
    virtual Status end_host_access() { return {}; }

  protected:
    ClAllocation(std::shared_ptr<SharedContext> context, MemoryKind kind, std::size_t bytes, std::byte* host)
        : Allocation(kind, bytes, host), context_(std::move(context)) {}
    const std::shared_ptr<SharedContext> context_;
};

Result<std::unique_ptr<Allocation>> allocate(const std::shared_ptr<SharedContext>& context, MemoryKind kind,
                                             std::size_t bytes);

}  // namespace isthmus::opencl
