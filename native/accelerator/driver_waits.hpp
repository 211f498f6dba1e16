// Which copies the driver itself makes when the work in front of them has ended, and not before.
#pragma once

#include "accelerator/copy.hpp"

namespace isthmus::accelerator {

// Whether the driver's own copy, between pageable memory and the device, returns only after all that its stream held:
// as recorded of a real one (tests/integration/drivers/facts). False where it returns before, and where it is not
// known. Precondition: the direction is known.
bool driver_waits(const Copy& copy);

}  // namespace isthmus::accelerator
