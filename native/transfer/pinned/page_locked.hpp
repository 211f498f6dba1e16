// Gets page-locked memory by the fastest method of a device for its size.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "backend/region.hpp"
#include "base/numa.hpp"

namespace isthmus {

class Device;

// Who reads the memory after a fork.
enum class AfterFork {
    both,    // the child has a copy, as of other memory
    parent,  // the child has no such memory
};

// Held, on the node, and addressable by the host for as long as it is held; the pages are there. A driver clears and
// locks a page at a time: 482 ms for 1 GiB on an H100. Huge pages that threads touch and the driver then locks take 58
// ms, so this is used from 1 MiB on. One registration holds all of it: drivers refuse a copy that reaches from one
// into another. Precondition: the device is current for the thread. Fails with out_of_memory before a page is touched
// where the process cannot have so much, and where the driver or the system does not lock it; nothing is held then.
Result<std::unique_ptr<Allocation>> page_locked(Device& device, const std::optional<NumaNode>& node, std::size_t bytes,
                                                AfterFork after_fork);

// The failure of page-locked memory that could not be had: with the limits that there are, and what to do. Any other
// status as it is.
Status with_limits(Status status, std::size_t bytes);

}  // namespace isthmus
