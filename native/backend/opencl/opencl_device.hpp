// The OpenCL backend: GPUs of any vendor, and the CPU through PoCL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_info.hpp"

namespace isthmus::opencl {

// `drivers`: see find_devices.
BackendListing list_devices(const std::vector<std::string>& drivers);

Result<std::shared_ptr<isthmus::Device>> open_device(int index, const std::vector<std::string>& drivers);

}  // namespace isthmus::opencl
