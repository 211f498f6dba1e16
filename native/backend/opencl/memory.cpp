// Allocations of the OpenCL backend, one class a way to get memory.
#include "backend/opencl/memory.hpp"

#include <optional>
#include <utility>

#include "base/pages.hpp"

namespace isthmus::opencl {
namespace {

using ContextPointer = std::shared_ptr<SharedContext>;

constexpr Bool blocking = 1;
constexpr std::size_t page = 4096;

class PageableMemory final : public ClAllocation {
  public:
    PageableMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, PageMemory pages)
        : ClAllocation(std::move(context), kind, bytes, pages.data()), pages_(std::move(pages)) {}

  private:
    PageMemory pages_;
};

// A cl_mem: on the device, or page-locked on the host by the driver (ALLOC_HOST_PTR) or over given pages
// (USE_HOST_PTR). Host-side ones are mapped to be used; `pinned` and `registered` stay mapped for good, since copies
// start from the mapped address, while `mapped` is unmapped for the kernels that work on it.
class BufferMemory final : public ClAllocation {
  public:
    BufferMemory(ContextPointer context, MemoryKind kind, std::size_t bytes, Buffer buffer,
                 std::optional<PageMemory> pages)
        : ClAllocation(std::move(context), kind, bytes, nullptr), buffer_(buffer), pages_(std::move(pages)) {}
    ~BufferMemory() override {
        const Api& cl = context_->api();
        (void)unmap();
        (void)cl.call(cl.clReleaseMemObject, buffer_);
    }

    Buffer buffer() const override { return buffer_; }
    Status begin_host_access() override { return kind() == MemoryKind::mapped ? map() : Status(); }
    Status end_host_access() override { return kind() == MemoryKind::mapped ? unmap() : Status(); }

    Status map() {
        const Api& cl = context_->api();
        ReturnCode code = success;
        void* address = cl.clEnqueueMapBuffer(context_->service_queue(), buffer_, blocking, map_read | map_write, 0,
                                              bytes(), 0, nullptr, nullptr, &code);
        ISTHMUS_TRY(Api::check("clEnqueueMapBuffer", code));
        set_host(static_cast<std::byte*>(address));
        return {};
    }

  private:
    Status unmap() {
        if (host() == nullptr) return {};
        const Api& cl = context_->api();
        const auto none = static_cast<const Event*>(nullptr);
        ISTHMUS_TRY(cl.call(cl.clEnqueueUnmapMemObject, context_->service_queue(), buffer_, static_cast<void*>(host()),
                            0U, none, static_cast<Event*>(nullptr)));
        set_host(nullptr);
        return cl.call(cl.clFinish, context_->service_queue());
    }

    Buffer buffer_;
    std::optional<PageMemory> pages_;
};

// `block` is what clSVMAlloc returned; the memory begins at the first page boundary in it, since drivers refuse
// alignments above that of their largest type.
class SvmMemory final : public ClAllocation {
  public:
    SvmMemory(ContextPointer context, std::size_t bytes, void* block)
        : ClAllocation(std::move(context), MemoryKind::managed, bytes, first_page(block)), block_(block) {}
    ~SvmMemory() override { context_->api().clSVMFree(context_->get(), block_); }

    void* svm() const override { return host(); }
    Status begin_host_access() override {
        const Api& cl = context_->api();
        return cl.call(cl.clEnqueueSVMMap, context_->service_queue(), blocking, map_read | map_write, svm(), bytes(),
                       0U, static_cast<const Event*>(nullptr), static_cast<Event*>(nullptr));
    }
    Status end_host_access() override {
        const Api& cl = context_->api();
        ISTHMUS_TRY(cl.call(cl.clEnqueueSVMUnmap, context_->service_queue(), svm(), 0U,
                            static_cast<const Event*>(nullptr), static_cast<Event*>(nullptr)));
        return cl.call(cl.clFinish, context_->service_queue());
    }

  private:
    static std::byte* first_page(void* block) {
        std::size_t space = 2 * page;
        return static_cast<std::byte*>(std::align(page, page, block, space));
    }
    void* block_;
};

Result<std::unique_ptr<Allocation>> allocate_buffer(const ContextPointer& context, MemoryKind kind, std::size_t bytes) {
    const Api& cl = context->api();
    Flags flags = mem_read_write;
    std::optional<PageMemory> pages;
    if (kind == MemoryKind::pinned || kind == MemoryKind::mapped) flags |= mem_alloc_host_ptr;
    if (kind == MemoryKind::registered) {
        ISTHMUS_TRY_ASSIGN(memory, PageMemory::allocate(bytes, PageSize::ordinary));
        memory.touch();
        pages = std::move(memory);
        flags |= mem_use_host_ptr;
    }
    ReturnCode code = success;
    Buffer buffer = cl.clCreateBuffer(context->get(), flags, bytes, pages ? pages->data() : nullptr, &code);
    ISTHMUS_TRY(Api::check("clCreateBuffer", code));
    auto memory = std::make_unique<BufferMemory>(context, kind, bytes, buffer, std::move(pages));
    if (kind == MemoryKind::device) {
        // Drivers put off the real allocation until first use; do it now, so that a lack of memory shows here.
        const std::uint8_t zero = 0;
        ISTHMUS_TRY(cl.call(cl.clEnqueueFillBuffer, context->service_queue(), buffer, static_cast<const void*>(&zero),
                            sizeof zero, std::size_t{0}, bytes, 0U, static_cast<const Event*>(nullptr),
                            static_cast<Event*>(nullptr)));
        ISTHMUS_TRY(cl.call(cl.clFinish, context->service_queue()));
    } else if (kind != MemoryKind::mapped) {
        ISTHMUS_TRY(memory->map());
    }
    return std::unique_ptr<Allocation>(std::move(memory));
}

}  // namespace

Result<std::unique_ptr<Allocation>> allocate(const ContextPointer& context, MemoryKind kind, std::size_t bytes) {
    if (kind == MemoryKind::pageable || kind == MemoryKind::pageable_huge) {
        const PageSize size = kind == MemoryKind::pageable_huge ? PageSize::huge : PageSize::ordinary;
        ISTHMUS_TRY_ASSIGN(pages, PageMemory::allocate(bytes, size));
        pages.touch();
        return std::unique_ptr<Allocation>(std::make_unique<PageableMemory>(context, kind, bytes, std::move(pages)));
    }
    if (kind == MemoryKind::managed) {
        const Api& cl = context->api();
        void* block = cl.clSVMAlloc(context->get(), mem_read_write, bytes + page, 0);
        if (block == nullptr) {
            return Status(Code::out_of_memory, "clSVMAlloc failed for " + std::to_string(bytes) + " bytes");
        }
        return std::unique_ptr<Allocation>(std::make_unique<SvmMemory>(context, bytes, block));
    }
    return allocate_buffer(context, kind, bytes);
}

}  // namespace isthmus::opencl
