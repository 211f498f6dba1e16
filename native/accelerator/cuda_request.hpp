// Copies of CUDA programs.
#pragma once

#include "accelerator/copy.hpp"
#include "driver/cuda_api.hpp"

namespace isthmus::accelerator {

// What programs get in place of each copy that is large enough to be looked at, as next_part() has it made.
cuda::ReturnCode accelerated(const Copy& copy, const Plain& plain);

// After a call with which a context may have gone: gives back what the library has in contexts that are there no more.
void forget_lost_contexts() noexcept;

}  // namespace isthmus::accelerator
