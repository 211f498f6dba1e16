// Memory that a caller owns: views of buffers, of shared virtual memory, and of ordinary memory.
#include "backend/opencl/memory.hpp"

#include <string>
#include <utility>

#include "backend/borrowed.hpp"
#include "backend/opencl/query.hpp"

namespace isthmus::opencl {
namespace {

class BorrowedBuffer final : public ClAllocation {
  public:
    // Takes over a reference.
    BorrowedBuffer(std::shared_ptr<SharedContext> context, Buffer buffer, std::size_t bytes)
        : ClAllocation(std::move(context), MemoryKind::device, bytes), buffer_(buffer) {}
    ~BorrowedBuffer() override { (void)cl().call(cl().clReleaseMemObject, buffer_); }
    Buffer buffer() const override { return buffer_; }
    Status acquire() override { return not_ours(); }
    Status release() override { return not_ours(); }

  private:
    Buffer buffer_;
};

// `managed` is shared virtual memory.
class BorrowedMemory final : public ClAllocation {
  public:
    BorrowedMemory(std::shared_ptr<SharedContext> context, MemoryKind kind, std::uintptr_t address, std::size_t bytes)
        : ClAllocation(std::move(context), kind, bytes) {
        set_host(reinterpret_cast<std::byte*>(address));  // NOLINT(performance-no-int-to-ptr)
    }
    void* svm() const override { return kind() == MemoryKind::managed ? host() : nullptr; }
    Status acquire() override { return not_ours(); }
    Status release() override { return not_ours(); }
};

Result<std::unique_ptr<Allocation>> borrow_buffer(const std::shared_ptr<SharedContext>& context, Buffer buffer,
                                                  std::size_t bytes) {
    const Api& cl = context->api();
    ISTHMUS_TRY(context->check_object(buffer, "cl_mem"));
    ISTHMUS_TRY_ASSIGN(owner, property_of<Context>(cl, cl.clGetMemObjectInfo, buffer, mem_context));
    if (owner != context->get()) {
        return Status(
            Code::invalid_argument,
            "the buffer belongs to another context than the one that Isthmus has opened for this device: make "
            "it in that one");
    }
    ISTHMUS_TRY_ASSIGN(type, property_of<std::uint32_t>(cl, cl.clGetMemObjectInfo, buffer, mem_type));
    if (type != mem_object_buffer) return invalid("the cl_mem is an image or a pipe, no buffer");
    ISTHMUS_TRY_ASSIGN(size, property_of<std::size_t>(cl, cl.clGetMemObjectInfo, buffer, mem_size));
    if (bytes > size) {
        return invalid("the buffer has " + std::to_string(size) + " bytes, of which the first " +
                       std::to_string(bytes) + " are to be used");
    }
    ISTHMUS_TRY(cl.call(cl.clRetainMemObject, buffer));
    return std::unique_ptr<Allocation>(std::make_unique<BorrowedBuffer>(context, buffer, bytes));
}

}  // namespace

Result<std::unique_ptr<Allocation>> borrow(const std::shared_ptr<SharedContext>& context, MemoryKind kind,
                                           std::uintptr_t handle, std::size_t bytes) {
    ISTHMUS_TRY(check_borrowed(kind, handle));
    if (kind == MemoryKind::device) {
        return borrow_buffer(context, reinterpret_cast<Buffer>(handle), bytes);  // NOLINT(performance-no-int-to-ptr)
    }
    return std::unique_ptr<Allocation>(std::make_unique<BorrowedMemory>(context, kind, handle, bytes));
}

}  // namespace isthmus::opencl
