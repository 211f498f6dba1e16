// Memory that a caller owns: views of buffers, of shared virtual memory, and of ordinary memory.
#pragma once

#include <memory>

#include "backend/device.hpp"
#include "backend/opencl/context.hpp"

namespace isthmus::opencl {

// As Device::borrow.
Result<std::unique_ptr<Allocation>> borrow(const std::shared_ptr<SharedContext>& context, MemoryKind kind,
                                           std::uintptr_t handle, std::size_t bytes);

}  // namespace isthmus::opencl
