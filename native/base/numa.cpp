// Binds the calling thread, and every thread it starts, to one NUMA node's processors and memory.
#include "base/numa.hpp"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/processors.hpp"
#include "base/text_file.hpp"
#include "base/threads.hpp"

namespace isthmus {
namespace {

// As the kernel writes them: "0-3,8,10-11".
std::vector<int> numbers_of(std::string_view list) {
    std::vector<int> numbers;
    while (!list.empty()) {
        const std::string_view part = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), part.size() + 1));
        int first = 0;
        const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), first);
        if (error != std::errc()) continue;
        int last = first;
        if (rest != part.data() + part.size()) std::from_chars(rest + 1, part.data() + part.size(), last);
        for (int number = first; number <= last; ++number) numbers.push_back(number);
    }
    return numbers;
}

// Nothing where the process may use none of its processors.
std::optional<NumaNode> with_processors(int index) {
    const ProcessorSet allowed = bound_processors();
    NumaNode node{index, {}};
    for (const int processor :
         numbers_of(first_line("/sys/devices/system/node/node" + std::to_string(node.index) + "/cpulist"))) {
        if (contains(allowed, processor)) node.processors.push_back(processor);
    }
    if (node.processors.empty()) return std::nullopt;
    return node;
}

}  // namespace

Status bind_to_node(int node, const std::vector<int>& processors) {
    constexpr std::size_t bits = 8 * sizeof(unsigned long);
    constexpr std::size_t most_nodes = 1024;
    if (node < 0 || static_cast<std::size_t>(node) >= most_nodes || processors.empty()) {
        return invalid("no NUMA node " + std::to_string(node) + " with processors to bind to");
    }
    // Memory first: it is the call that containers refuse, and a refusal must leave nothing half bound.
    unsigned long nodes[most_nodes / bits] = {};
    const auto index = static_cast<std::size_t>(node);
    nodes[index / bits] |= 1UL << (index % bits);
    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, most_nodes + 1) != 0) {
        return {Code::call_failed, std::string("set_mempolicy failed: ") + std::strerror(errno) +
                                       "; in a container allow it with --cap-add SYS_NICE"};
    }
    const ProcessorSet set = set_of(processors);
    if (sched_setaffinity(0, bytes_of(set), set.data()) != 0) {
        const int reason = errno;
        syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
        return {Code::call_failed, std::string("sched_setaffinity failed: ") + std::strerror(reason)};
    }
    return {};
}

void bind_as_allowed(const NumaNode& node) noexcept {
    (void)caught([&]() -> Status {
        if (bind_to_node(node.index, node.processors).ok()) return {};
        const ProcessorSet set = set_of(node.processors);
        (void)sched_setaffinity(0, bytes_of(set), set.data());
        return {};
    });
}

std::optional<NumaNode> node_of_thread() {
    static const bool has_several = numbers_of(first_line("/sys/devices/system/node/has_cpu")).size() >= 2;
    if (!has_several) return std::nullopt;
    int policy = MPOL_DEFAULT;
    unsigned processor = 0, node = 0;
    // Where a container forbids the first question, nothing in it has a policy.
    const bool is_known = syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) == 0;
    if ((is_known && policy != MPOL_DEFAULT) || syscall(SYS_getcpu, &processor, &node, nullptr) != 0) {
        return std::nullopt;
    }
    return with_processors(static_cast<int>(node));
}

std::optional<NumaNode> node_of_pci_device(const std::string& address) {
    if (numbers_of(first_line("/sys/devices/system/node/has_cpu")).size() < 2) return std::nullopt;
    std::string path = "/sys/bus/pci/devices/" + address + "/numa_node";
    std::transform(path.begin(), path.end(), path.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::vector<int> nodes = numbers_of(first_line(path));
    return nodes.size() == 1 ? with_processors(nodes.front()) : std::nullopt;
}

}  // namespace isthmus
