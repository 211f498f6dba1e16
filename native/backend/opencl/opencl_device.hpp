// The OpenCL backend: GPUs of any vendor, and the CPU through PoCL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "driver/opencl_api.hpp"

namespace isthmus::opencl {

// `drivers`: see find_devices.
BackendListing list_devices(const std::vector<std::string>& drivers);

Result<std::shared_ptr<isthmus::Device>> open_device(int index, const std::vector<std::string>& drivers);

// A device in a context that somebody else made, by whose functions it is used: for copies, without kernels. Fails with
// unsupported where objects do not begin with the address of their driver's functions (cl_khr_icd), which is what tells
// them from anything else. The context lives as long as what is made here.
Result<std::shared_ptr<isthmus::Device>> open_device_in(const Api& api, Context context, opencl::Device device);

}  // namespace isthmus::opencl
