// Copies of CUDA programs.
#pragma once

#include <cstdint>

#include "accelerator/copy.hpp"
#include "driver/cuda_api.hpp"

namespace isthmus::accelerator {

// What programs get in place of each copy that is large enough to be looked at, as next_part() has it made.
cuda::ReturnCode accelerated(const Copy& copy, const Plain& plain);

// After a call that may have destroyed a context: gives back what the library has in contexts that are there no more.
void forget_lost_contexts() noexcept;

// Handles, or 0 where the driver does not say: the context of a stream that is not captured, and the primary context of
// a device while there is one.
std::uintptr_t context_of_stream(std::uintptr_t stream) noexcept;
std::uintptr_t primary_context(int device) noexcept;

}  // namespace isthmus::accelerator
