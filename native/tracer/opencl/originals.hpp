// The program's own OpenCL, which stands behind the functions that this library puts before it.
#pragma once

#include "driver/opencl_api.hpp"

namespace isthmus::tracer {

// What the program would call without us; absent is what its libOpenCL lacks.
const opencl::Api& originals();

}  // namespace isthmus::tracer
