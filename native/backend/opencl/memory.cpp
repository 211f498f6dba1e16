// Allocations of the OpenCL backend, one class for each kind.
#include "backend/opencl/memory.hpp"

#include <utility>

#include "backend/lockable_pages.hpp"
#include "base/pages.hpp"

namespace isthmus::opencl {
namespace {

using ContextPointer = std::shared_ptr<SharedContext>;

class PageableMemory final : public ClAllocation {
  public:
    PageableMemory(ContextPointer context, MemoryKind kind, std::size_t bytes)
        : ClAllocation(std::move(context), kind, bytes), block_(source_of(kind), bytes) {}

    Status acquire() override {
        ISTHMUS_TRY(block_.acquire());
        set_host(block_.data());
        return {};
    }
    Status release() override {
        set_host(nullptr);
        block_.release();
        return {};
    }

  private:
    HostBlock block_;
};

// A cl_mem: on the device, or page-locked on the host by the driver (ALLOC_HOST_PTR) or over given pages
// (USE_HOST_PTR): the caller's, its own that prepare() touches, or some that it gets and touches each time. Host-side
// ones are mapped to be used; all but `mapped` stay mapped for good, since copies start from the mapped address, while
// `mapped` is unmapped for the kernels that work on it.
class BufferMemory final : public ClAllocation {
  public:
    BufferMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, std::byte* pages)
        : ClAllocation(std::move(context), kind, bytes), pages_(kind, bytes, pages) {}
    ~BufferMemory() override {
        if (buffer_ != nullptr) (void)release();
    }

    Buffer buffer() const override { return buffer_; }
    Status begin_host_access() override { return kind() == MemoryKind::mapped ? map() : Status(); }
    Status end_host_access() override { return kind() == MemoryKind::mapped ? unmap() : Status(); }

    Status prepare() override { return pages_.prepare(); }
    Status acquire() override {
        ISTHMUS_TRY(pages_.acquire());
        Status status = create();
        if (!status.ok()) forget();
        return status;
    }
    Status release() override {
        Status status = unmap();
        forget();
        return status;
    }

  private:
    Flags flags() const {
        if (is_registered(kind())) return mem_read_write | mem_use_host_ptr;
        return is_on_device(kind()) ? mem_read_write : mem_read_write | mem_alloc_host_ptr;
    }
    Status create() {
        ISTHMUS_TRY(assign(buffer_, cl().make(cl().clCreateBuffer, context_->get(), flags(), bytes(), pages_.data())));
        return is_on_device(kind()) || kind() == MemoryKind::mapped ? Status() : map();
    }
    Status map() {
        ISTHMUS_TRY_ASSIGN(address, cl().make(cl().clEnqueueMapBuffer, context_->service_queue(), buffer_, blocking,
                                              map_read | map_write, std::size_t{0}, bytes(), 0U, no_wait, no_event));
        set_host(static_cast<std::byte*>(address));
        return {};
    }
    Status unmap() {
        if (host() == nullptr) return {};
        ISTHMUS_TRY(cl().call(cl().clEnqueueUnmapMemObject, context_->service_queue(), buffer_,
                              static_cast<void*>(host()), 0U, no_wait, no_event));
        set_host(nullptr);
        return cl().call(cl().clFinish, context_->service_queue());
    }
    void forget() {
        set_host(nullptr);
        if (Buffer buffer = std::exchange(buffer_, nullptr)) (void)cl().call(cl().clReleaseMemObject, buffer);
        pages_.release();
    }

    LockablePages pages_;
    Buffer buffer_ = nullptr;
};

// The counterpart of a CUDA array: about as wide as it is high, one float an element.
class ImageMemory final : public ClAllocation {
  public:
    using ClAllocation::ClAllocation;
    ~ImageMemory() override {
        if (image_ != nullptr) (void)release();
    }
    Shape shape() const override { return square_shape(bytes()); }

    Status acquire() override {
        const ImageFormat format{channel_r, channel_float};
        ImageDescriptor descriptor{};
        descriptor.type = mem_object_image_2d;
        const Shape square = square_shape(bytes());
        descriptor.width = square.width_bytes / sizeof(float);
        descriptor.height = square.rows;
        ISTHMUS_TRY_ASSIGN(
            image, cl().make(cl().clCreateImage, context_->get(), mem_read_write, &format, &descriptor, nullptr));
        image_ = image;
        return {};
    }
    Status release() override { return cl().call(cl().clReleaseMemObject, std::exchange(image_, nullptr)); }

  private:
    Buffer image_ = nullptr;
};

// The memory begins at the first page boundary in what clSVMAlloc returned, since drivers refuse alignments above that
// of their largest type.
class SvmMemory final : public ClAllocation {
  public:
    using ClAllocation::ClAllocation;
    ~SvmMemory() override {
        if (block_ != nullptr) (void)release();
    }

    void* svm() const override { return host(); }

    Status acquire() override {
        ISTHMUS_TRY(usable());
        const std::lock_guard lock(context_->svm_mutex());
        block_ = cl().clSVMAlloc(context_->get(), mem_read_write, bytes() + least_page, 0);
        if (block_ == nullptr) {
            return {Code::out_of_memory, "clSVMAlloc failed for " + std::to_string(bytes()) + " bytes"};
        }
        void* first_page = block_;
        std::size_t space = 2 * least_page;
        set_host(static_cast<std::byte*>(std::align(least_page, least_page, first_page, space)));
        context_->svm_ranges()[handle()] = handle() + bytes();
        return {};
    }
    Status release() override {
        ISTHMUS_TRY(usable());
        const std::lock_guard lock(context_->svm_mutex());
        context_->svm_ranges().erase(handle());
        set_host(nullptr);
        cl().clSVMFree(context_->get(), std::exchange(block_, nullptr));
        return {};
    }

  private:
    void* block_ = nullptr;
};

}  // namespace

Status ClAllocation::map_svm(Queue queue, std::size_t offset, std::size_t bytes, bool waits) const {
    if (svm() == nullptr) return {};
    return cl().call(cl().clEnqueueSVMMap, queue, waits ? blocking : Bool{0}, map_read | map_write,
                     static_cast<void*>(static_cast<std::byte*>(svm()) + offset), bytes, 0U, no_wait, no_event);
}

Status ClAllocation::unmap_svm(Queue queue, std::size_t offset) const {
    if (svm() == nullptr) return {};
    return cl().call(cl().clEnqueueSVMUnmap, queue, static_cast<void*>(static_cast<std::byte*>(svm()) + offset), 0U,
                     no_wait, no_event);
}

Status ClAllocation::begin_host_access() {
    return map_svm(context_->service_queue(), 0, bytes(), true);
}

Status ClAllocation::end_host_access() {
    if (svm() == nullptr) return {};
    ISTHMUS_TRY(unmap_svm(context_->service_queue(), 0));
    return cl().call(cl().clFinish, context_->service_queue());
}

Result<std::unique_ptr<Allocation>> reserve(const ContextPointer& context, MemoryKind kind, std::size_t bytes,
                                            std::byte* pages) {
    std::unique_ptr<Allocation> memory;
    if (is_pageable(kind)) {
        memory = std::make_unique<PageableMemory>(context, kind, bytes);
    } else if (kind == MemoryKind::managed) {
        memory = std::make_unique<SvmMemory>(context, kind, bytes);
    } else if (kind == MemoryKind::device_array) {
        memory = std::make_unique<ImageMemory>(context, kind, bytes);
    } else {
        memory = std::make_unique<BufferMemory>(context, kind, bytes, pages);
    }
    return memory;
}

}  // namespace isthmus::opencl
