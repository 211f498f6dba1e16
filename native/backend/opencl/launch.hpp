// One launch of a kernel: its arguments in order, then the start.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/opencl/memory.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::opencl {

// A kernel object of its own for each launch: setting the arguments of one object from two threads is a race, and
// NVIDIA's driver (seen with 580.159) keeps refusing a cl_mem for an argument that was an SVM pointer once.
class Launch {
  public:
    static Result<Launch> create(std::shared_ptr<SharedContext> context, const char* kernel_name) {
        ISTHMUS_TRY_ASSIGN(kernel, context->create_kernel(kernel_name));
        return Launch(std::move(context), kernel);
    }
    Launch(Launch&& other) noexcept
        : context_(std::move(other.context_)), kernel_(std::exchange(other.kernel_, nullptr)), index_(other.index_) {}
    Launch& operator=(Launch&&) = delete;
    Launch(const Launch&) = delete;
    Launch& operator=(const Launch&) = delete;
    ~Launch() {
        if (kernel_ != nullptr) (void)context_->api().call(context_->api().clReleaseKernel, kernel_);
    }

    Status add(std::uint64_t value) { return set(value); }
    Status add(std::uint32_t value) { return set(value); }
    Status add(double value) { return set(value); }
    Status add(Buffer buffer) { return set(buffer); }
    // Takes two arguments, the memory and the offset in it.
    Status add(const Region& region) {
        const ClAllocation& memory = static_cast<const ClAllocation&>(*region.allocation);
        const Api& cl = context_->api();
        if (const void* svm = memory.svm()) {
            ISTHMUS_TRY(cl.call(cl.clSetKernelArgSVMPointer, kernel_, index_++, svm));
        } else {
            ISTHMUS_TRY(set(memory.buffer()));
        }
        return set(std::uint64_t{region.offset});
    }

    // For a kernel that works on `bytes`. A GPU wants many work-items a group; a CPU one for each core.
    Status start(Queue queue, std::uint64_t bytes, std::uint32_t compute_units) const {
        return start_blocks(queue, block_count(bytes, compute_units), compute_units);
    }
    // So many groups on a GPU.
    Status start_blocks(Queue queue, std::uint32_t blocks, std::uint32_t compute_units) const {
        if (context_->entry().is_cpu) return start_items(queue, compute_units, 1);
        return start_items(queue, std::size_t{block_threads} * blocks, block_threads);
    }
    Status start_items(Queue queue, std::size_t global, std::size_t local) const {
        const Api& cl = context_->api();
        return cl.call(cl.clEnqueueNDRangeKernel, queue, kernel_, 1U, static_cast<const std::size_t*>(nullptr), &global,
                       &local, 0U, static_cast<const Event*>(nullptr), static_cast<Event*>(nullptr));
    }

  private:
    Launch(std::shared_ptr<SharedContext> context, Kernel kernel) : context_(std::move(context)), kernel_(kernel) {}

    template <typename T>
    Status set(const T& value) {
        const Api& cl = context_->api();
        return cl.call(cl.clSetKernelArg, kernel_, index_++, sizeof value, static_cast<const void*>(&value));
    }

    std::shared_ptr<SharedContext> context_;
    Kernel kernel_;
    std::uint32_t index_ = 0;
};

}  // namespace isthmus::opencl
