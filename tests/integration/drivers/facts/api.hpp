// The CUDA driver API as this program sees it: opened by name, nothing of Isthmus and nothing of the toolkit.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace facts {

using Handle = void*;
using Address = unsigned long long;

struct Copy2d {
    std::size_t source_x, source_y;
    int source_type;
    const void* source_host;
    Address source_device;
    Handle source_array;
    std::size_t source_pitch, x, y;
    int type;
    void* host;
    Address device;
    Handle array;
    std::size_t pitch, width, height;
};

struct Copy3d {
    std::size_t source_x, source_y, source_z, source_level;
    int source_type;
    const void* source_host;
    Address source_device;
    Handle source_array, source_reserved;
    std::size_t source_pitch, source_height, x, y, z, level;
    int type;
    void* host;
    Address device;
    Handle array, reserved;
    std::size_t pitch, slice_height, width, height, depth;
};

struct Attributes {
    int order;
    int source_location[2], location[2];
    unsigned flags;
};

constexpr int host_type = 1, device_type = 2, unified_type = 4;
constexpr int order_of_stream = 1, during_call = 2, any_order = 3;
// What a function that the driver lacks returns here.
constexpr int absent = -1;

inline Handle library() {
    static Handle opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    return opened;
}

template <typename... Parameters>
using Function = int (*)(Parameters...);

// Calls a function of the driver by its exported name.
template <typename... Parameters>
int call(const std::string& symbol, Parameters... parameters) {
    const auto function = reinterpret_cast<Function<Parameters...>>(dlsym(library(), symbol.c_str()));
    return function == nullptr ? absent : function(parameters...);
}

// What has to succeed for a fact to be one.
template <typename... Parameters>
void must(const std::string& symbol, Parameters... parameters) {
    const int code = call(symbol, parameters...);
    if (code == 0) return;
    std::printf("cannot go on: %s returned %d\n", symbol.c_str(), code);
    std::fflush(stdout);
    std::_Exit(1);
}

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::size_t most_bytes = 16 * MiB;

// The streams and the memory that the facts are about.
struct World {
    Handle context = nullptr;
    Handle held = nullptr, other = nullptr, blocking = nullptr;
    Address device = 0, second = 0;
    std::uint8_t *pageable = nullptr, *pinned = nullptr, *registered = nullptr, *managed = nullptr, *scratch = nullptr;

    World() {
        must("cuInit", 0U);
        make();
        pageable = touched();
        registered = touched();
        must("cuMemHostRegister_v2", static_cast<void*>(registered), 2 * most_bytes, 0U);
    }
    // The context went with all that was in it, as after an error that stays.
    void make_again() {
        (void)call("cuMemHostUnregister", static_cast<void*>(registered));
        (void)call("cuDevicePrimaryCtxReset_v2", 0);
        make();
        (void)call("cuMemHostRegister_v2", static_cast<void*>(registered), 2 * most_bytes, 0U);
    }
    int synchronize() const { return call("cuCtxSynchronize"); }

  private:
    static std::uint8_t* touched() {
        // With room behind it, for calls that go beyond its end.
        auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(4096, 3 * most_bytes));
        for (std::size_t i = 0; i < 3 * most_bytes; i += 4096) memory[i] = 1;
        return memory;
    }
    void make() {
        must("cuDevicePrimaryCtxRetain", &context, 0);
        must("cuCtxSetCurrent", context);
        must("cuStreamCreate", &held, 1U);
        must("cuStreamCreate", &other, 1U);
        must("cuStreamCreate", &blocking, 0U);
        must("cuMemAlloc_v2", &device, 2 * most_bytes);
        must("cuMemAlloc_v2", &second, 2 * most_bytes);
        Address memory = 0;
        must("cuMemAllocManaged", &memory, 2 * most_bytes, 1U);
        managed = reinterpret_cast<std::uint8_t*>(memory);
        must("cuMemHostAlloc", reinterpret_cast<void**>(&pinned), 2 * most_bytes, 0U);
        must("cuMemHostAlloc", reinterpret_cast<void**>(&scratch), most_bytes, 0U);
    }
};

}  // namespace facts
