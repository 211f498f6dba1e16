// Where a copy is made, of which its device need not tell: device and stream as CUPTI numbers them.
#pragma once

#include "driver/cupti_api.hpp"
#include "tracer/cuda/functions.hpp"

namespace isthmus::tracer {

struct CopyPlace {
    std::uint32_t device = 0, stream = 0xFFFF'FFFF;  // CUPTI's word for no stream
};

// Of a copy that was called for in this context of the driver.
CopyPlace place_of(const cupti::Api& api, const CopyOperands& copied, void* context);

// Whether the driver knows nothing of the memory at an address of the host; not where it cannot be asked.
bool is_ordinary_memory(std::uint64_t address);
// Whether memory is the host's, page-locked or ordinary.
bool is_host_memory(std::uint64_t address);

}  // namespace isthmus::tracer
