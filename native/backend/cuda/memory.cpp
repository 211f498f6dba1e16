// Allocations of the CUDA backend, one class a way to get memory.
#include "backend/cuda/memory.hpp"

#include <utility>

namespace isthmus::cuda {
namespace {

using ContextPointer = std::shared_ptr<PrimaryContext>;

class DeviceMemory final : public CudaAllocation {
  public:
    DeviceMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, DevicePointer address)
        : CudaAllocation(std::move(context), kind, bytes,
                         kind == MemoryKind::managed ? reinterpret_cast<std::byte*>(address) : nullptr, address) {}
    ~DeviceMemory() override {
        const Api& cu = context_->api();
        if (context_->make_current().ok()) (void)cu.call(cu.cuMemFree, address());
    }
};

class PinnedMemory final : public CudaAllocation {
  public:
    PinnedMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, void* host, DevicePointer address)
        : CudaAllocation(std::move(context), kind, bytes, static_cast<std::byte*>(host), address) {}
    ~PinnedMemory() override {
        const Api& cu = context_->api();
        if (context_->make_current().ok()) (void)cu.call(cu.cuMemFreeHost, static_cast<void*>(host()));
    }
};

class PageableMemory final : public CudaAllocation {
  public:
    PageableMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, PageMemory pages)
        : CudaAllocation(std::move(context), kind, bytes, pages.data(), 0), pages_(std::move(pages)) {}

  private:
    PageMemory pages_;
};

class RegisteredMemory final : public CudaAllocation {
  public:
    RegisteredMemory(ContextPointer context, std::size_t bytes, PageMemory pages, DevicePointer address)
        : CudaAllocation(std::move(context), MemoryKind::registered, bytes, pages.data(), address),
          pages_(std::move(pages)) {}
    ~RegisteredMemory() override {
        const Api& cu = context_->api();
        if (context_->make_current().ok()) (void)cu.call(cu.cuMemHostUnregister, static_cast<void*>(host()));
    }

  private:
    PageMemory pages_;
};

Result<DevicePointer> device_pointer(const Api& cu, void* host) {
    DevicePointer address = 0;
    ISTHMUS_TRY(cu.call(cu.cuMemHostGetDevicePointer, &address, host, 0U));
    return address;
}

Result<std::unique_ptr<Allocation>> allocate_pinned(const ContextPointer& context, MemoryKind kind, std::size_t bytes) {
    const Api& cu = context->api();
    const unsigned flags = host_alloc_portable | host_alloc_device_map |
                           (kind == MemoryKind::write_combined ? host_alloc_write_combined : 0);
    void* host = nullptr;
    ISTHMUS_TRY(cu.call(cu.cuMemHostAlloc, &host, bytes, flags));
    auto address = device_pointer(cu, host);
    if (!address.ok()) {
        (void)cu.call(cu.cuMemFreeHost, host);
        return address.take_status();
    }
    return std::unique_ptr<Allocation>(std::make_unique<PinnedMemory>(context, kind, bytes, host, address.value()));
}

Result<std::unique_ptr<Allocation>> allocate_registered(const ContextPointer& context, std::size_t bytes) {
    const Api& cu = context->api();
    ISTHMUS_TRY_ASSIGN(pages, PageMemory::allocate(bytes, PageSize::ordinary));
    pages.touch();
    ISTHMUS_TRY(cu.call(cu.cuMemHostRegister, static_cast<void*>(pages.data()), bytes,
                        host_register_portable | host_register_device_map));
    auto address = device_pointer(cu, pages.data());
    if (!address.ok()) {
        (void)cu.call(cu.cuMemHostUnregister, static_cast<void*>(pages.data()));
        return address.take_status();
    }
    return std::unique_ptr<Allocation>(
        std::make_unique<RegisteredMemory>(context, bytes, std::move(pages), address.value()));
}

Result<std::unique_ptr<Allocation>> allocate_pageable(const ContextPointer& context, MemoryKind kind,
                                                      std::size_t bytes) {
    const PageSize size = kind == MemoryKind::pageable_huge ? PageSize::huge : PageSize::ordinary;
    ISTHMUS_TRY_ASSIGN(pages, PageMemory::allocate(bytes, size));
    pages.touch();
    return std::unique_ptr<Allocation>(std::make_unique<PageableMemory>(context, kind, bytes, std::move(pages)));
}

}  // namespace

Result<std::unique_ptr<Allocation>> allocate(const ContextPointer& context, MemoryKind kind, std::size_t bytes) {
    const Api& cu = context->api();
    DevicePointer address = 0;
    switch (kind) {
        case MemoryKind::pageable:
        case MemoryKind::pageable_huge: return allocate_pageable(context, kind, bytes);
        case MemoryKind::pinned:
        case MemoryKind::write_combined:
        case MemoryKind::mapped: return allocate_pinned(context, kind, bytes);
        case MemoryKind::registered: return allocate_registered(context, bytes);
        case MemoryKind::managed: ISTHMUS_TRY(cu.call(cu.cuMemAllocManaged, &address, bytes, mem_attach_global)); break;
        case MemoryKind::device: ISTHMUS_TRY(cu.call(cu.cuMemAlloc, &address, bytes)); break;
    }
    return std::unique_ptr<Allocation>(std::make_unique<DeviceMemory>(context, kind, bytes, address));
}

}  // namespace isthmus::cuda
