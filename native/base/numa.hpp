// Binds the calling thread, and every thread it starts, to one NUMA node's processors and memory.
#pragma once

#include <vector>

#include "base/status.hpp"

namespace isthmus {

// `processors` are the logical processors of the node that this process may use; not empty. Memory is
// preferred there and not forced: on a full node a strict policy calls the out-of-memory killer, while the check of the
// placement (nodes_of_pages) reports pages that landed elsewhere. Fails with call_failed where a container forbids it,
// leaving the thread unbound.
Status bind_to_node(int node, const std::vector<int>& processors);

}  // namespace isthmus
