// Contexts of the fake CUDA driver.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "fake_violations.hpp"

namespace fake {

constexpr int context_is_destroyed = 709;

struct Context {
    int device = 0;
    unsigned long long id = 0;
    bool is_primary = false;
    bool is_alive = false;
    unsigned references = 0;
};

inline unsigned long long last_id = 0;

// All functions: with `world` held. A primary context keeps its handle for good.
inline Context& primary(int device) {
    static Context contexts[16];
    contexts[device].device = device;
    contexts[device].is_primary = true;
    return contexts[device];
}
inline Context* retain(int device) {
    Context& context = primary(device);
    if (!std::exchange(context.is_alive, true)) context.id = ++last_id;
    ++context.references;
    return &context;
}
// Those of programs are never freed.
inline Context* create_context(int device) {
    static auto& all = *new std::vector<std::unique_ptr<Context>>;
    all.push_back(std::make_unique<Context>(Context{device, ++last_id, false, true}));
    return all.back().get();
}

}  // namespace fake
