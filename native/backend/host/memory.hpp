// Allocations of the host backend.
#pragma once

#include <memory>

#include "backend/host/core.hpp"
#include "backend/region.hpp"

namespace isthmus::host {

// Every kind is ordinary memory; the model limits how much of it there is on the device, and how much may be locked.
std::unique_ptr<Allocation> reserve(std::shared_ptr<Core> core, MemoryKind kind, std::size_t bytes, std::byte* pages);

// As Device::borrow.
std::unique_ptr<Allocation> borrow(MemoryKind kind, std::uintptr_t address, std::size_t bytes);

}  // namespace isthmus::host
