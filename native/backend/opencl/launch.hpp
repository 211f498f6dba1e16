// One launch of a kernel: its arguments in order, then the start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backend/launch.hpp"
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

    // A region is two of the kernel's parameters: the memory, and the offset in it.
    Status add(const KernelArgument& argument) {
        switch (argument.type) {
            case KernelArgument::Type::region: return add(argument.region);
            case KernelArgument::Type::u32: return set(argument.as<std::uint32_t>());
            case KernelArgument::Type::u64:
            case KernelArgument::Type::f64: return set(argument.bits);
        }
        return {};
    }

    // A GPU wants many work-items a group, though none of more than block_threads need be possible; a CPU one for each
    // of `cores`.
    Status start(Queue queue, Grid grid, std::uint32_t cores) const {
        const bool on_cpu = context_->entry().is_cpu && grid.threads > 1;
        const std::size_t local = on_cpu ? 1 : std::min(grid.threads, block_threads);
        const std::size_t global = on_cpu ? cores : std::size_t{grid.blocks} * grid.threads;
        const Api& cl = context_->api();
        return cl.call(cl.clEnqueueNDRangeKernel, queue, kernel_, 1U, static_cast<const std::size_t*>(nullptr), &global,
                       &local, 0U, static_cast<const Event*>(nullptr), static_cast<Event*>(nullptr));
    }

  private:
    Launch(std::shared_ptr<SharedContext> context, Kernel kernel) : context_(std::move(context)), kernel_(kernel) {}

    Status add(const Region& region) {
        const auto* const memory = static_cast<const ClAllocation*>(region.allocation);
        const Api& cl = context_->api();
        if (memory == nullptr) {
            ISTHMUS_TRY(set(Buffer{nullptr}));
        } else if (const void* svm = memory->svm()) {
            ISTHMUS_TRY(cl.call(cl.clSetKernelArgSVMPointer, kernel_, index_++, svm));
        } else if (memory->buffer() != nullptr) {
            ISTHMUS_TRY(set(memory->buffer()));
        } else {
            return unsupported("kernels cannot reach " + std::string(name_of(memory->kind())) +
                               " memory on this device");
        }
        return set(std::uint64_t{region.offset});
    }

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
