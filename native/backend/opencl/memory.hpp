// Allocations of the OpenCL backend, one class for each kind, and views of memory that a caller owns.
#pragma once

#include <memory>

#include "backend/opencl/context.hpp"
#include "backend/region.hpp"

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
    virtual Status begin_host_access();
    virtual Status end_host_access();
    // Enqueues a command that uses these bytes by their host address.
    template <typename Enqueue>
    Status with_host_address(Queue queue, std::size_t offset, std::size_t bytes, const Enqueue& enqueue) const {
        ISTHMUS_TRY(map_svm(queue, offset, bytes, false));
        Status status = enqueue(host() + offset);
        Status unmapped = unmap_svm(queue, offset);
        if (!status.ok()) return status;
        return unmapped;
    }

  protected:
    const Api& cl() const { return context_->api(); }
    const std::shared_ptr<SharedContext> context_;

  private:
    // Shared virtual memory belongs to devices except between these commands: what is written to it otherwise NVIDIA's
    // driver loses. Of other memory nothing is done.
    Status map_svm(Queue queue, std::size_t offset, std::size_t bytes, bool waits) const;
    Status unmap_svm(Queue queue, std::size_t offset) const;
};

// `pages` as for Device::reserve.
Result<std::unique_ptr<Allocation>> reserve(const std::shared_ptr<SharedContext>& context, MemoryKind kind,
                                            std::size_t bytes, std::byte* pages);

// As Device::borrow.
Result<std::unique_ptr<Allocation>> borrow(const std::shared_ptr<SharedContext>& context, MemoryKind kind,
                                           std::uintptr_t handle, std::size_t bytes);

}  // namespace isthmus::opencl
