// Copies of CUDA programs.
#pragma once

#include "accelerator/copy.hpp"
#include "driver/cuda_api.hpp"

namespace isthmus::accelerator {

// What programs get in place of each copy that is large enough to be looked at, as accelerated(Request&).
cuda::ReturnCode accelerated(const Copy& copy, const Plain& plain) noexcept;

}  // namespace isthmus::accelerator
