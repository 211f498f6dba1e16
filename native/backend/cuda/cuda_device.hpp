// The CUDA backend: NVIDIA's driver API, opened at run time.
#pragma once

#include <memory>

#include "backend/backend.hpp"

namespace isthmus::cuda {

// Creates no context. Never fails: what is missing is in the listing.
BackendListing list_devices();

Result<std::shared_ptr<isthmus::Device>> open_device(int index);

}  // namespace isthmus::cuda
