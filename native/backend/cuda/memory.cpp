// Allocations of the CUDA backend, one class a way to get memory.
#include "backend/cuda/memory.hpp"

#include <string>
#include <utility>

#include "backend/lockable_pages.hpp"
#include "base/pages.hpp"
#include "base/threads.hpp"

namespace isthmus::cuda {
namespace {

using ContextPointer = std::shared_ptr<PrimaryContext>;

// The rest of a class's destructor: gives back what is still held, from whatever thread.
template <typename Memory>
void let_go(Memory& memory, PrimaryContext& context) noexcept {
    if (!memory.held()) return;
    (void)caught([&]() -> Status {
        const Current current(context);
        if (current.ok()) return memory.release();
        if constexpr (requires { memory.leave(); }) memory.leave();
        return {};
    });
}

class PageableMemory final : public CudaAllocation {
  public:
    PageableMemory(ContextPointer context, MemoryKind kind, std::size_t bytes)
        : CudaAllocation(std::move(context), kind, bytes), block_(source_of(kind), bytes) {}

    Status acquire() override {
        ISTHMUS_TRY(block_.acquire());
        set_host(block_.data());
        if (context_->reaches_pageable()) set_address(reinterpret_cast<DevicePointer>(block_.data()));
        return {};
    }
    Status release() override {
        set_host(nullptr);
        set_address(0);
        block_.release();
        return {};
    }

  private:
    HostBlock block_;
};

class PinnedMemory final : public CudaAllocation {
  public:
    using CudaAllocation::CudaAllocation;
    ~PinnedMemory() override { let_go(*this, *context_); }
    bool held() const { return host() != nullptr; }

    Status acquire() override {
        void* memory = nullptr;
        ISTHMUS_TRY(cu().call(cu().cuMemHostAlloc, &memory, bytes(), flags()));
        set_host(static_cast<std::byte*>(memory));
        DevicePointer address = 0;
        Status status = cu().call(cu().cuMemHostGetDevicePointer, &address, memory, 0U);
        if (!status.ok()) (void)release();
        set_address(address);
        return status;
    }
    Status release() override {
        void* memory = host();
        set_host(nullptr);
        set_address(0);
        return cu().call(cu().cuMemFreeHost, memory);
    }

  private:
    unsigned flags() const {
        switch (kind()) {
            case MemoryKind::pinned_portable: return host_alloc_portable;
            case MemoryKind::write_combined: return host_alloc_write_combined;
            case MemoryKind::mapped: return host_alloc_device_map;
            default: return 0;
        }
    }
};

class RegisteredMemory final : public CudaAllocation {
  public:
    RegisteredMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, std::byte* pages)
        : CudaAllocation(std::move(context), kind, bytes), pages_(kind, bytes, pages), is_callers_(pages != nullptr) {}
    ~RegisteredMemory() override { let_go(*this, *context_); }
    bool held() const { return host() != nullptr; }
    // In a context that is gone, whose driver has let go of them, or in the child of a fork.
    void leave() {
        if (is_unknown(host()) && is_unknown(host() + (bytes() - 1))) {
            forget();
        } else {
            pages_.leave();
        }
    }

    Status prepare() override { return pages_.prepare(); }
    Status acquire() override {
        ISTHMUS_TRY(pages_.acquire());
        set_host(pages_.data());
        Status status = lock();
        if (!status.ok()) forget();
        return status;
    }
    Status release() override {
        Status status = cu().call(cu().cuMemHostUnregister, static_cast<void*>(host()));
        // What is mapped there next would be taken for page-locked, and be copied from where these pages were.
        if (!status.ok()) pages_.leave();
        forget();
        return status;
    }

  private:
    Status lock() {
        void* memory = host();
        constexpr unsigned flags = host_register_portable | host_register_device_map;
        Status locked = cu().call(cu().cuMemHostRegister, memory, bytes(), flags);
        // What a caller may only read, as a mapped file, the driver locks when it is told so, from CUDA 11.1 on.
        if (!locked.ok() && locked.code() != Code::out_of_memory && is_callers_ &&
            cu().call(cu().cuMemHostRegister, memory, bytes(), flags | host_register_read_only).ok()) {
            locked = Status();
        }
        ISTHMUS_TRY(std::move(locked));
        DevicePointer address = 0;
        Status status = cu().call(cu().cuMemHostGetDevicePointer, &address, memory, 0U);
        if (!status.ok()) (void)cu().call(cu().cuMemHostUnregister, memory);
        set_address(address);
        return status;
    }
    bool is_unknown(const std::byte* byte) const {
        auto known = identify(*context_, reinterpret_cast<std::uintptr_t>(byte));
        return known.ok() && known.value().kind == MemoryKind::pageable;
    }
    void forget() {
        set_host(nullptr);
        set_address(0);
        pages_.release();
    }

    LockablePages pages_;
    bool is_callers_;
};

// Linear memory of the device, and managed memory.
class DeviceMemory final : public CudaAllocation {
  public:
    using CudaAllocation::CudaAllocation;
    ~DeviceMemory() override { let_go(*this, *context_); }
    bool held() const { return address() != 0; }
    Shape shape() const override {
        if (kind() != MemoryKind::device_pitched) return {};
        Shape shape = square_shape(bytes());
        shape.pitch_bytes = pitch_;
        return shape;
    }

    Status acquire() override {
        DevicePointer memory = 0;
        if (kind() == MemoryKind::managed) {
            ISTHMUS_TRY(cu().call(cu().cuMemAllocManaged, &memory, bytes(), mem_attach_global));
            set_host(reinterpret_cast<std::byte*>(memory));
        } else if (kind() == MemoryKind::device_pitched) {
            const Shape square = square_shape(bytes());
            ISTHMUS_TRY(cu().call(cu().cuMemAllocPitch, &memory, &pitch_, square.width_bytes, square.rows,
                                  unsigned{sizeof(float)}));
        } else {
            ISTHMUS_TRY(cu().call(cu().cuMemAlloc, &memory, bytes()));
        }
        set_address(memory);
        return {};
    }
    Status release() override {
        const DevicePointer memory = address();
        set_host(nullptr);
        set_address(0);
        return cu().call(cu().cuMemFree, memory);
    }

  private:
    std::size_t pitch_ = 0;
};

class ArrayMemory final : public CudaAllocation {
  public:
    using CudaAllocation::CudaAllocation;
    ~ArrayMemory() override { let_go(*this, *context_); }
    bool held() const { return array_ != nullptr; }
    Shape shape() const override { return square_shape(bytes()); }  // Its pitch is the driver's secret.

    Status acquire() override {
        const Shape square = square_shape(bytes());
        const ArrayDescriptor descriptor{square.width_bytes / sizeof(float), square.rows, array_format_float, 1};
        return cu().call(cu().cuArrayCreate, &array_, &descriptor);
    }
    Status release() override { return cu().call(cu().cuArrayDestroy, std::exchange(array_, nullptr)); }

  private:
    Array array_ = nullptr;
};

// From a stream-ordered pool. Both calls return before the device has come so far: what one stream gave back it gets
// again without waiting.
class PoolMemory final : public CudaAllocation {
  public:
    PoolMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, PrimaryContext::Pool pool)
        : CudaAllocation(std::move(context), kind, bytes), pool_(pool) {}
    ~PoolMemory() override {
        let_go(*this, *context_);
        // What the pool keeps would be missing elsewhere.
        if (const Current current(*context_); current.ok()) (void)trim();
    }
    bool held() const { return address() != 0; }

    Status prepare() override { return kind() == MemoryKind::device_pool_cold ? trim() : Status(); }
    Status acquire() override {
        DevicePointer memory = 0;
        ISTHMUS_TRY(cu().call(cu().cuMemAllocFromPoolAsync, &memory, bytes(), pool_.pool, pool_.stream));
        set_address(memory);
        return {};
    }
    Status release() override {
        const DevicePointer memory = address();
        set_address(0);
        return cu().call(cu().cuMemFreeAsync, memory, pool_.stream);
    }

  private:
    Status trim() const {
        ISTHMUS_TRY(cu().call(cu().cuStreamSynchronize, pool_.stream));
        return cu().call(cu().cuMemPoolTrimTo, pool_.pool, std::size_t{0});
    }
    PrimaryContext::Pool pool_;
};

template <typename Memory, typename... Rest>
std::unique_ptr<Allocation> make(const ContextPointer& context, MemoryKind kind, std::size_t bytes, Rest... rest) {
    return std::make_unique<Memory>(context, kind, bytes, rest...);
}

}  // namespace

Result<std::unique_ptr<Allocation>> reserve(const ContextPointer& context, MemoryKind kind, std::size_t bytes,
                                            std::byte* pages) {
    if (is_pageable(kind)) return make<PageableMemory>(context, kind, bytes);
    if (is_registered(kind)) return make<RegisteredMemory>(context, kind, bytes, pages);
    if (traits_of(kind).locked) return make<PinnedMemory>(context, kind, bytes);
    switch (kind) {
        case MemoryKind::managed:
        case MemoryKind::device:
        case MemoryKind::device_pitched: return make<DeviceMemory>(context, kind, bytes);
        case MemoryKind::device_array: {
            ISTHMUS_TRY_ASSIGN(most_columns, context->attribute(attribute_maximum_texture2d_width));
            ISTHMUS_TRY_ASSIGN(most_rows, context->attribute(attribute_maximum_texture2d_height));
            const Shape square = square_shape(bytes);
            if (square.width_bytes / sizeof(float) > static_cast<std::size_t>(most_columns) ||
                square.rows > static_cast<std::size_t>(most_rows)) {
                return unsupported("arrays of the device have at most " + std::to_string(most_columns) +
                                   " columns and " + std::to_string(most_rows) + " rows");
            }
            return make<ArrayMemory>(context, kind, bytes);
        }
        case MemoryKind::device_pool:
        case MemoryKind::device_pool_cold: {
            ISTHMUS_TRY_ASSIGN(pool, context->pool(kind == MemoryKind::device_pool));
            return make<PoolMemory>(context, kind, bytes, pool);
        }
        default: break;
    }
    return invalid("no such memory kind");
}

}  // namespace isthmus::cuda
