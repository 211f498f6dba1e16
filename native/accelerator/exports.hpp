// The functions that programs get in place of the driver's. Names and parameters are those of cuda.h, with the suffixes
// that the driver's library has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "accelerator/functions.hpp"
#include "driver/cuda_api.hpp"

namespace isthmus::accelerator {

using cuda::Array;
using cuda::Copy2d;
using cuda::Copy3d;
using cuda::Copy3dOperation;
using cuda::CopyAttributes;
using cuda::DevicePointer;
using cuda::Graph;
using cuda::ReturnCode;
using cuda::Stream;

}  // namespace isthmus::accelerator

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {
using namespace isthmus::accelerator;
#define ISTHMUS_DECLARE(symbol, suffix, name, since, before, parameters)                \
    __attribute__((visibility("default"))) isthmus::cuda::ReturnCode symbol parameters; \
    __attribute__((visibility("default"))) isthmus::cuda::ReturnCode symbol##suffix parameters;
ISTHMUS_HOOKED(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE
}
// NOLINTEND(readability-identifier-naming)
