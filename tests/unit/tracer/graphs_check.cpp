// Graphs of a driver that tells of their nodes: what is read of them, and that none is read for ever.
#include <cstdlib>

#include "driver/cuda_api.hpp"
#include "driver/cupti_api.hpp"
#include "tracer/cuda/graphs.hpp"

using namespace isthmus;
using namespace isthmus::tracer;

#define EXPECT(condition) \
    if (!(condition)) return std::abort()

namespace {

void what_a_graph_does_is_known_by_its_handle() {
    Graphs graphs;
    // As CUPTI has parameters: where the handle of the executable graph goes to, and the graph.
    std::uint64_t made = 77;
    const std::uint64_t given[2]{reinterpret_cast<std::uint64_t>(&made), 1};
    const std::uint64_t launched[2]{77, 5};
    graphs.returned("cuGraphAddKernelNode_v2", given);
    EXPECT(graphs.of(launched) == nullptr);
    graphs.returned("cuGraphInstantiateWithFlags", given);
    const auto contents = graphs.of(launched);
    EXPECT(contents != nullptr && Graphs::stream_of(launched) == 5);
    // Two of its own, and one of the graph within it.
    EXPECT(contents->kernels == 3 && contents->copies.size() == 3);
    const CopyOperands& sent = contents->copies[0];
    EXPECT(sent.copy_kind == cupti::memcpy_kind_htod && sent.bytes == 4096 && sent.rows == 2);
    EXPECT(sent.source == 0x1000 && sent.destination == 0x7000'0000'0000);
    // Of one that was captured the driver alone knows which side is which; it knows nothing of ordinary memory.
    EXPECT(contents->copies[1].copy_kind == cupti::memcpy_kind_dtoh);
    EXPECT(contents->copies[2].copy_kind == cupti::memcpy_kind_dtod);
    const std::uint64_t other[2]{78, 5};
    EXPECT(graphs.of(other) == nullptr && graphs.of(nullptr) == nullptr);
}

void a_graph_within_itself_ends() {
    Graphs graphs;
    std::uint64_t made = 79;
    const std::uint64_t given[2]{reinterpret_cast<std::uint64_t>(&made), 3}, launched[2]{79, 0};
    graphs.returned("cuGraphInstantiate", given);
    EXPECT(graphs.of(launched)->kernels == 8);
}

void a_graph_that_was_changed_is_read_again_or_forgotten() {
    Graphs graphs;
    std::uint64_t made = 80;
    const std::uint64_t given[2]{reinterpret_cast<std::uint64_t>(&made), 1}, launched[2]{80, 0};
    graphs.returned("cuGraphInstantiate", given);
    const std::uint64_t updated[2]{80, 2};
    graphs.returned("cuGraphExecUpdate_v2", updated);
    EXPECT(graphs.of(launched)->copies.size() == 1);
    // What changes a kernel changes no copy.
    graphs.returned("cuGraphExecKernelNodeSetParams_v2", updated);
    EXPECT(graphs.of(launched)->copies.size() == 1);
    for (const char* function : {"cuGraphExecMemcpyNodeSetParams", "cuGraphNodeSetEnabled", "cuGraphExecDestroy"}) {
        graphs.returned("cuGraphInstantiate", given);
        graphs.returned(function, updated);
        EXPECT(graphs.of(launched) == nullptr);
    }
}

}  // namespace

int main() {
    a_graph_that_was_changed_is_read_again_or_forgotten();
    what_a_graph_does_is_known_by_its_handle();
    a_graph_within_itself_ends();
    return 0;
}
