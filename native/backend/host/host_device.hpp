// The host backend: device memory is host memory, copies are real and asynchronous, and a model adds what is missing.
#pragma once

#include <memory>
#include <string>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "backend/host/model.hpp"

namespace isthmus::host {

BackendListing list_devices();

std::shared_ptr<Device> open_device(Model model);

}  // namespace isthmus::host
