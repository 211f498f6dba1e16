// 2-D and 3-D copies of the fake CUDA driver.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fake_memory.hpp"

namespace fake {

struct Copy2d {
    std::size_t source_x, source_y;
    int source_type;
    const std::byte* source_host;
    Address source_device;
    void* source_array;
    std::size_t source_pitch, x, y;
    int type;
    std::byte* host;
    Address device;
    void* array;
    std::size_t pitch, width, height;
};
struct Copy3d {
    std::size_t source_x, source_y, source_z, source_level;
    int source_type;
    const std::byte* source_host;
    Address source_device;
    void *source_array, *source_reserved;
    std::size_t source_pitch, source_height, x, y, z, level;
    int type;
    std::byte* host;
    Address device;
    void *array, *reserved;
    std::size_t pitch, height_of_slices, width, height, depth;
};
inline std::size_t most_pitch() {
    return std::min<std::size_t>(limit("FAKE_CUDA_PITCH"), INT32_MAX);
}
template <typename Copy>
bool has_pitches(const Copy& copy) {
    return std::min(copy.source_pitch, copy.pitch) >= copy.width &&
           std::max(copy.source_pitch, copy.pitch) <= most_pitch();
}
// What a side begins in has to hold all of its rows, where the driver knows it (seen on an H100, driver 580).
template <typename Copy>
bool is_within_blocks(const Memory& memory, const Copy& copy, std::size_t rows) {
    const auto holds = [&](Address begin, std::size_t pitch) {
        const auto* block = memory.find(begin);
        return block == nullptr || (rows - 1) * pitch + copy.width <= block->first + block->second.bytes - begin;
    };
    const auto host = [](const std::byte* address) { return reinterpret_cast<Address>(address); };
    return holds(copy.source_type == 1 ? host(copy.source_host) : copy.source_device, copy.source_pitch) &&
           holds(copy.type == 1 ? host(copy.host) : copy.device, copy.pitch);
}
template <typename Copy>
void copy_rows(const Copy& copy, std::size_t depth, std::size_t source_height, std::size_t height) {
    const auto* from = copy.source_type == 1 ? copy.source_host : reinterpret_cast<std::byte*>(copy.source_device);
    auto* to = copy.type == 1 ? copy.host : reinterpret_cast<std::byte*>(copy.device);
    for (std::size_t z = 0; z < depth; ++z) {
        for (std::size_t y = 0; y < copy.height; ++y) {
            std::memcpy(to + (z * height + y) * copy.pitch, from + (z * source_height + y) * copy.source_pitch,
                        copy.width);
        }
    }
}

}  // namespace fake
