// The CUDA backend: NVIDIA's driver API, opened at run time.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/device.hpp"
#include "backend/device_info.hpp"

namespace isthmus::cuda {

// Creates no context. Never fails: what is missing is in the listing.
BackendListing list_devices();

// How long the primary context lives: as long as the device is open, too; or as long as the program has it, however
// long that is, and what is made in it is lost with it.
enum class ContextLife { of_device, of_program };
Result<std::shared_ptr<isthmus::Device>> open_device(int index, ContextLife life = ContextLife::of_device);

// The index of the device that memory at this address belongs to; 0 where it is none's. Opens no device.
Result<int> device_of(std::uintptr_t address);

}  // namespace isthmus::cuda
