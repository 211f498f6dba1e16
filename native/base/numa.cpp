// Binds the calling thread, and every thread it starts, to one NUMA node's processors and memory.
#include "base/numa.hpp"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace isthmus {

Status bind_to_node(int node, const std::vector<int>& processors) {
    constexpr std::size_t bits = 8 * sizeof(unsigned long);
    constexpr std::size_t most_nodes = 1024;
    if (node < 0 || static_cast<std::size_t>(node) >= most_nodes || processors.empty()) {
        return {Code::invalid_argument, "no NUMA node " + std::to_string(node) + " with processors to bind to"};
    }
    // Memory first: it is the call that containers refuse, and a refusal must leave nothing half bound.
    unsigned long nodes[most_nodes / bits] = {};
    const auto index = static_cast<std::size_t>(node);
    nodes[index / bits] |= 1UL << (index % bits);
    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, most_nodes + 1) != 0) {
        return {Code::call_failed, std::string("set_mempolicy failed: ") + std::strerror(errno) +
                                       "; in a container allow it with --cap-add SYS_NICE"};
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int processor : processors) CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        const int reason = errno;
        syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
        return {Code::call_failed, std::string("sched_setaffinity failed: ") + std::strerror(reason)};
    }
    return {};
}

}  // namespace isthmus
