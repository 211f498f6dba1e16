// Memory and streams that a caller owns: what the CUDA driver knows of them, and views of them.
#include "backend/cuda/memory.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "backend/borrowed.hpp"
#include "backend/cuda/cuda_device.hpp"
#include "backend/cuda/stream.hpp"

namespace isthmus::cuda {
namespace {

bool is_legacy(cuda::Stream stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= 1;
}

class BorrowedMemory final : public CudaAllocation {
  public:
    // `device_address` is 0 where kernels do not reach the memory.
    BorrowedMemory(std::shared_ptr<PrimaryContext> context, MemoryKind kind, std::uintptr_t address,
                   DevicePointer device_address, std::size_t bytes)
        : CudaAllocation(std::move(context), kind, bytes) {
        if (!is_on_device(kind)) set_host(reinterpret_cast<std::byte*>(address));  // NOLINT(performance-no-int-to-ptr)
        set_address(device_address);
    }
    Status acquire() override { return not_ours(); }
    Status release() override { return not_ours(); }
};

// Unlike cuPointerGetAttribute, the plural succeeds for what the driver does not know, and leaves zeros: no error that
// the caller's own calls could find later. Zeros are what is asked into, too, since some attributes are written as
// bytes.
Result<KnownMemory> known_memory(const Api& cu, std::uintptr_t address) {
    unsigned type = 0;
    unsigned is_managed = 0;
    int ordinal = -1;
    DevicePointer begin = 0;
    std::size_t bytes = 0;
    DevicePointer on_device = 0;
    Context owner = nullptr;
    std::array attributes{pointer_attribute_context,          pointer_attribute_memory_type,
                          pointer_attribute_is_managed,       pointer_attribute_device_ordinal,
                          pointer_attribute_range_start_addr, pointer_attribute_range_size,
                          pointer_attribute_device_pointer};
    std::array<void*, attributes.size()> values{&owner, &type, &is_managed, &ordinal, &begin, &bytes, &on_device};
    ISTHMUS_TRY(cu.call(cu.cuPointerGetAttributes, static_cast<unsigned>(attributes.size()), attributes.data(),
                        values.data(), DevicePointer{address}));
    KnownMemory known;
    known.context = reinterpret_cast<std::uintptr_t>(owner);
    if (is_managed != 0) {
        known.kind = MemoryKind::managed;
    } else if (type == memory_type_device) {
        known.kind = MemoryKind::device;
    } else if (type == memory_type_host) {
        known.kind = MemoryKind::pinned;
    } else {
        return known;
    }
    // For what is mapped (cuMemMap), which belongs to no context, the attributes tell the range that was reserved,
    // empty parts included: measured on an H200, driver 580.
    if (type == memory_type_device && owner == nullptr) {
        (void)cu.call(cu.cuMemGetAddressRange, &begin, &bytes, DevicePointer{address});
    }
    known.kernel_address = on_device;
    if (known.kind != MemoryKind::pinned) known.device = ordinal;
    // Of registered pages the driver may say where the device has them, which need not be here.
    if (begin <= address && address - begin < bytes) {
        known.begin = begin;
        known.end = begin + bytes;
    }
    return known;
}

// What a copy waits for, and gives back when it has ended, no graph can repeat.
Status check_not_capturing(const Api& cu, cuda::Stream stream) {
    // The legacy stream records nothing; whether it can be used changes from copy to copy (check_usable).
    if (!cu.cuStreamIsCapturing || is_legacy(stream)) return {};
    int capturing = stream_capture_status_none;
    ISTHMUS_TRY(cu.call(cu.cuStreamIsCapturing, stream, &capturing));
    if (capturing == stream_capture_status_none) return {};
    return unsupported(
        "the stream is recording a CUDA graph, which cannot repeat this copy: copy before the capture begins or "
        "after it has ended, and inside a graph by the driver (cudaMemcpyAsync, or torch's copy_)");
}

// Where kernels find memory of the host: pages that were registered need not be where the host has them. Unlike
// cuMemHostGetDevicePointer, attributes also know of pools and mappings that lie in the host's memory.
Result<DevicePointer> device_address(const PrimaryContext& context, MemoryKind kind, std::uintptr_t address) {
    if (kind == MemoryKind::pageable && !context.reaches_pageable()) return DevicePointer{0};
    if (kind != MemoryKind::pinned) return DevicePointer{address};
    ISTHMUS_TRY_ASSIGN(known, known_memory(context.api(), address));
    if (known.kernel_address != 0) return DevicePointer{known.kernel_address};
    return invalid("the driver does not know this memory as page-locked");
}

}  // namespace

// Asking is all that the driver allows then, and it does not harm what is being recorded.
Status CudaStream::check_usable() const {
    const auto& asks = context_->api().cuStreamIsCapturing;
    if (!is_legacy(stream_) || !asks) return {};
    int capturing = stream_capture_status_none;
    if (asks(stream_, &capturing) != error_stream_capture_implicit) return {};
    return unsupported(
        "a stream that waits for the default stream is recording a CUDA graph, which would be lost if anything "
        "were put on the default stream now, and this copy is ordered by that: pass a stream of your own, copy "
        "before the capture begins, or record on a stream made with cudaStreamNonBlocking");
}

Result<KnownMemory> identify(const PrimaryContext& context, std::uintptr_t address) {
    return known_memory(context.api(), address);
}

// Only what is mapped has a handle of its own.
bool is_mapped(const PrimaryContext& context, std::uintptr_t address) {
    const Api& cu = context.api();
    unsigned long long handle = 0;
    auto* const memory = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    if (!cu.call(cu.cuMemRetainAllocationHandle, &handle, memory).ok()) return false;
    (void)cu.call(cu.cuMemRelease, handle);
    return true;
}

Result<int> device_of(std::uintptr_t address) {
    ISTHMUS_TRY_ASSIGN(driver, Driver::get());
    static const int devices = [](const Api& cu) {
        int count = 0;
        return cu.call(cu.cuDeviceGetCount, &count).ok() ? count : 0;
    }(driver->api);
    if (devices == 1) return 0;
    ISTHMUS_TRY_ASSIGN(known, known_memory(driver->api, address));
    // Page-locked memory is no device's; of the device that is asked for first, in doubt.
    return std::max(known.device, 0);
}

Result<std::unique_ptr<Allocation>> borrow(const std::shared_ptr<PrimaryContext>& context, MemoryKind kind,
                                           std::uintptr_t address, std::size_t bytes, std::uintptr_t kernel_address) {
    ISTHMUS_TRY(check_borrowed(kind, address));
    DevicePointer on_device = kernel_address;
    if (kind != MemoryKind::pinned || on_device == 0) {
        ISTHMUS_TRY(assign(on_device, device_address(*context, kind, address)));
    }
    return std::unique_ptr<Allocation>(std::make_unique<BorrowedMemory>(context, kind, address, on_device, bytes));
}

Result<std::unique_ptr<isthmus::Stream>> borrow_stream(const std::shared_ptr<PrimaryContext>& context,
                                                       std::uintptr_t handle) {
    // 0, 1 and 2 stand for the default streams of whichever context is current.
    constexpr std::uintptr_t last_special = 2;
    auto* const stream = reinterpret_cast<cuda::Stream>(handle);  // NOLINT(performance-no-int-to-ptr)
    const Api& cu = context->api();
    if (handle > last_special) {
        Context owner = nullptr;
        Status status = cu.call(cu.cuStreamGetCtx, stream, &owner);
        if (!status.ok()) return invalid("not a CUDA stream: " + status.message());
        if (owner != context->get()) {
            return invalid(
                "the stream belongs to another device, or to a context that is not its device's primary one");
        }
    }
    ISTHMUS_TRY(check_not_capturing(cu, stream));
    return std::unique_ptr<isthmus::Stream>(std::make_unique<CudaStream>(context, stream, CudaStream::Owner::caller));
}

}  // namespace isthmus::cuda
