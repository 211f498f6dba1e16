// Binds the calling thread, and every thread it starts, to one NUMA node's processors and memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace isthmus {

// `processors` are the logical processors of the node that this process may use; not empty. Memory is
// preferred there and not forced: on a full node a strict policy calls the out-of-memory killer, while the check of the
// placement (nodes_of_pages) reports pages that landed elsewhere. Fails with call_failed where a container forbids it,
// leaving the thread unbound.
Status bind_to_node(int node, const std::vector<int>& processors);

// A node, and the logical processors of it that this process may use; not empty.
struct NumaNode {
    int index = 0;
    std::vector<int> processors;
};

// The same where a container forbids to say where memory is preferred, which is then on the node that the thread is on.
void bind_as_allowed(const NumaNode& node) noexcept;

// The node that the calling thread runs on. Nothing where there is one node alone, or where the thread has a memory
// policy of its own, which the threads that it starts have, too.
std::optional<NumaNode> node_of_thread();
// The node that a device on the PCI bus ("0000:3b:00.0") is attached to. Nothing where there is one node alone, the
// system does not tell, or the process may use none of the node's processors.
std::optional<NumaNode> node_of_pci_device(const std::string& address);

}  // namespace isthmus
