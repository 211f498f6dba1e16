// Gets memory where a device's NUMA node has it.
#pragma once

#include <optional>
#include <utility>

#include "backend/device.hpp"
#include "base/numa.hpp"
#include "base/threads.hpp"

namespace isthmus {

// What `make` returns, with the device current. Pages lie where the thread that gets them wants them: with a node, on a
// thread that is bound to it, so that the caller's keeps its own binding.
template <typename Made, typename Make>
Result<Made> made_on_node(const std::optional<NumaNode>& node, Device& device, Make make) {
    if (!node) return make();
    std::optional<Result<Made>> made;
    auto bound = start_thread("isthmus-node", [&] {
        Status status = caught([&]() -> Status {
            (void)bind_to_node(node->index, node->processors);
            Binding binding(device);
            ISTHMUS_TRY(binding.status());
            made.emplace(make());
            return {};
        });
        if (!status.ok()) made.emplace(std::move(status));
    });
    if (bound) bound->join();
    if (!made) return unsupported("no thread to get page-locked memory");
    return std::move(*made);
}

}  // namespace isthmus
