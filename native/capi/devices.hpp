// Opens a device by the name that a user gives.
#pragma once

#include <memory>
#include <string_view>

#include "backend/device.hpp"

namespace isthmus::capi {

// "cuda", "cuda:1", "opencl:0", "host", or "host:rate=25GB/s" for a host that pretends. Fails with invalid_argument for
// a name that makes no sense, and with what the backend says where there is no such device.
Result<std::shared_ptr<Device>> open_device(std::string_view name);
// The first CUDA device, else an OpenCL device with memory of its own, else any OpenCL device, else the host: what the
// `isthmus` command takes, too.
Result<std::shared_ptr<Device>> open_best_device();

}  // namespace isthmus::capi
