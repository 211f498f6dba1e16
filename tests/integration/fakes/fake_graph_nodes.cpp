// A driver with three graphs: 1 has five nodes, one of which is graph 2; 3 holds a kernel and itself.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/cuda_api.hpp"

using isthmus::cuda::Copy3d;

namespace {

constexpr int kernel = 0, copy = 1, graph = 4;
constexpr std::uint64_t device_memory = 0x7000'0000'0000;

struct Node {
    int type;
    std::uint64_t child = 0, source = 0, destination = 0;
    bool is_known = false;  // which side is the host's
};

const std::vector<Node>& nodes_of(std::uint64_t number) {
    static const std::array<std::vector<Node>, 4> graphs{{
        {},
        {{kernel},
         {copy, 0, 0x1000, device_memory, true},
         {graph, 2},
         {kernel},
         {copy, 0, device_memory, device_memory}},
        {{kernel}, {copy, 0, device_memory, 0x2000}},
        {{kernel}, {graph, 3}},
    }};
    return graphs[number];
}

}  // namespace

extern "C" {

int cuGraphGetNodes(std::uint64_t number, const Node** places, std::size_t* count) {
    const std::vector<Node>& nodes = nodes_of(number);
    for (std::size_t index = 0; places != nullptr && index < nodes.size(); ++index) places[index] = &nodes[index];
    return *count = nodes.size(), 0;
}
int cuGraphNodeGetType(const Node* node, int* type) {
    return *type = node->type, 0;
}
int cuGraphChildGraphNodeGetGraph(const Node* node, std::uint64_t* child) {
    return *child = node->child, 0;
}
int cuGraphMemcpyNodeGetParams(const Node* node, Copy3d* section) {
    *section = {};
    section->source_type = node->is_known ? 1 : 4;
    section->destination_type = node->is_known ? 2 : 4;
    section->source_host = reinterpret_cast<const void*>(node->source);
    section->source_device = node->source;
    section->destination_device = node->destination;
    section->width_bytes = 2048;
    section->height = 2;
    section->depth = 1;
    return 0;
}
int cuPointerGetAttributes(unsigned, int*, void** values, std::uint64_t address) {
    *static_cast<int*>(*values) = address >= device_memory ? 2 : 0;
    return 0;
}
}
