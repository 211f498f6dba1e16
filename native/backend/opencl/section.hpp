// Copies of regular sections of OpenCL buffers, and what copies need of memory.
#pragma once

#include "backend/device.hpp"
#include "backend/opencl/context.hpp"

namespace isthmus::opencl {

// Fails with unsupported where a side that is not on the device has no host address to copy from or to.
Status check_addresses(const Allocation& one, const Allocation& other);

// As Device::copy_section.
Status copy_section(const SharedContext& context, Queue queue, const Layout& destination, const Layout& source,
                    const Extent& extent);

}  // namespace isthmus::opencl
