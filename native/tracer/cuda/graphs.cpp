// What graphs of CUDA do each time they are launched.
#include "tracer/cuda/graphs.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "driver/cuda_api.hpp"
#include "driver/cupti_api.hpp"
#include "tracer/cuda/copy_place.hpp"

namespace isthmus::tracer {
namespace {

// CUgraphNodeType
constexpr int node_kernel = 0, node_copy = 1, node_graph = 4;
// Graphs within graphs.
constexpr int deepest = 8;
// Executable graphs of a program; beyond that all are forgotten.
constexpr std::size_t most_known = 65'536;

// Calls that change what an executable graph copies, in ways that their first parameters do not tell.
constexpr std::array<std::string_view, 5> changing{"cuGraphExecMemcpy", "cuGraphExecChild", "cuGraphExecNodeSetParams",
                                                   "cuGraphExecDestroy", "cuGraphNodeSetEnabled"};

using Node = struct NodeTag*;

// The driver that the program has loaded. It is not called here for the first time.
struct Functions {
    int (*nodes)(cuda::Graph, Node*, std::size_t*) = nullptr;
    int (*type)(Node, int*) = nullptr;
    int (*copy)(Node, cuda::Copy3d*) = nullptr;
    int (*child)(Node, cuda::Graph*) = nullptr;

    Functions() {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        if (driver == nullptr) return;
        const auto get = [driver](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(driver, name));
        };
        get(nodes, "cuGraphGetNodes");
        get(type, "cuGraphNodeGetType");
        get(copy, "cuGraphMemcpyNodeGetParams");
        get(child, "cuGraphChildGraphNodeGetGraph");
    }
    bool usable() const { return nodes != nullptr && type != nullptr && copy != nullptr && child != nullptr; }
};

// Copies that were captured may leave to the driver which side is which.
void complete(CopyOperands& copied) {
    if (copied.copy_kind != 0) return;
    const bool from_host = is_host_memory(copied.source), to_host = is_host_memory(copied.destination);
    copied.copy_kind = from_host && to_host ? cupti::memcpy_kind_htoh
                       : from_host          ? cupti::memcpy_kind_htod
                       : to_host            ? cupti::memcpy_kind_dtoh
                                            : cupti::memcpy_kind_dtod;
}

void read(const Functions& driver, cuda::Graph graph, Graphs::Contents& contents, int depth) {
    std::size_t count = 0;
    if (depth == deepest || driver.nodes(graph, nullptr, &count) != cuda::success || count == 0) return;
    std::vector<Node> nodes(count);
    if (driver.nodes(graph, nodes.data(), &count) != cuda::success) return;
    nodes.resize(std::min(count, nodes.size()));
    for (Node node : nodes) {
        int type = -1;
        if (driver.type(node, &type) != cuda::success) continue;
        cuda::Copy3d section{};
        cuda::Graph child = nullptr;
        if (type == node_kernel) ++contents.kernels;
        if (type == node_graph && driver.child(node, &child) == cuda::success) read(driver, child, contents, depth + 1);
        if (type == node_copy && driver.copy(node, &section) == cuda::success) {
            const cuda::Copy3d* parameter = &section;
            if (auto copied = copy_operands("cuMemcpy3D", &parameter); copied && copied->bytes > 0) {
                complete(*copied);
                contents.copies.push_back(*copied);
            }
        }
    }
}

// Parameters begin with these: of a graph that is instantiated where its handle goes to, and the graph; of one that is
// launched its handle and the stream.
struct Words {
    std::uint64_t first, second;
};
Words words_of(const void* parameters) {
    Words words{};
    std::memcpy(&words, parameters, sizeof words);
    return words;
}

}  // namespace

void Graphs::returned(std::string_view function, const void* parameters) {
    if (parameters == nullptr) return;
    const Words words = words_of(parameters);
    if (function.starts_with("cuGraphInstantiate")) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer that came as parameters' bits.
        if (const auto* made = reinterpret_cast<const std::uint64_t*>(words.first)) read_again(*made, words.second);
    } else if (function.starts_with("cuGraphExecUpdate")) {
        read_again(words.first, words.second);
    } else if (std::any_of(changing.begin(), changing.end(),
                           [&](std::string_view each) { return function.starts_with(each); })) {
        const std::lock_guard lock(mutex_);
        known_.erase(words.first);
    }
}

void Graphs::read_again(std::uint64_t executable, std::uint64_t graph) {
    static const Functions driver;
    if (!driver.usable() || executable == 0 || graph == 0) return;
    auto contents = std::make_shared<Contents>();
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle that came as parameters' bits.
    read(driver, reinterpret_cast<cuda::Graph>(graph), *contents, 0);
    const std::lock_guard lock(mutex_);
    if (known_.size() == most_known) known_.clear();
    known_[executable] = std::move(contents);
}

std::shared_ptr<const Graphs::Contents> Graphs::of(const void* parameters) {
    if (parameters == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto place = known_.find(words_of(parameters).first);
    return place == known_.end() ? nullptr : place->second;
}

std::uint64_t Graphs::stream_of(const void* parameters) {
    return words_of(parameters).second;
}

}  // namespace isthmus::tracer
