// The kernels of the host backend: one plain function for each row of kernels/table.hpp.
#pragma once

#include <span>

#include "backend/launch.hpp"

namespace isthmus::host {

// Returns when it has ended.
void run_kernel(KernelId kernel, std::span<const KernelArgument> arguments);

}  // namespace isthmus::host
