// Memory and streams that a caller owns: what the CUDA driver knows of them, and views of them.
#pragma once

#include <memory>

#include "backend/cuda/context.hpp"
#include "backend/device.hpp"

namespace isthmus::cuda {

// As the functions of Device of the same names. Precondition: the context is current.
Result<KnownMemory> identify(const PrimaryContext& context, std::uintptr_t address);
bool is_mapped(const PrimaryContext& context, std::uintptr_t address);
Result<std::unique_ptr<Allocation>> borrow(const std::shared_ptr<PrimaryContext>& context, MemoryKind kind,
                                           std::uintptr_t address, std::size_t bytes, std::uintptr_t kernel_address);
Result<std::unique_ptr<isthmus::Stream>> borrow_stream(const std::shared_ptr<PrimaryContext>& context,
                                                       std::uintptr_t handle);

}  // namespace isthmus::cuda
