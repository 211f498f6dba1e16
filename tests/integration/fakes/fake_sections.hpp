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
// One side of either, as a real driver looks at it: a 2-D copy has one layer, of as many rows as are copied.
struct Section {
    int type;
    Address begin;
    std::size_t x, y, z, pitch, height;

    bool is_valid(std::size_t width, std::size_t rows, std::size_t layers) const {
        constexpr int host = 1, device = 2, unified = 4;
        if ((type != host && type != device && type != unified) || begin == 0 || pitch > most_pitch()) return false;
        if (width > pitch || x > pitch - width || rows > height || y > height - rows) return false;
        // What ends beyond all addresses is nowhere.
        std::size_t end = 0;
        return !__builtin_add_overflow(z, layers, &end) && !__builtin_mul_overflow(end, height, &end) &&
               !__builtin_mul_overflow(end, pitch, &end) && end <= PTRDIFF_MAX;
    }
    std::size_t offset(std::size_t layer, std::size_t row) const {
        return ((z + layer) * height + y + row) * pitch + x;
    }
    std::byte* at(std::size_t layer, std::size_t row) const {
        return reinterpret_cast<std::byte*>(begin + offset(layer, row));
    }
};
inline Address address_of(int type, const std::byte* host, Address device) {
    return type == 1 ? reinterpret_cast<Address>(host) : device;
}
inline Section source_of(const Copy2d& copy) {
    return {copy.source_type,
            address_of(copy.source_type, copy.source_host, copy.source_device),
            copy.source_x,
            copy.source_y,
            0,
            copy.source_pitch,
            copy.source_y + copy.height};
}
inline Section destination_of(const Copy2d& copy) {
    return {copy.type,           address_of(copy.type, copy.host, copy.device), copy.x, copy.y, 0, copy.pitch,
            copy.y + copy.height};
}
inline Section source_of(const Copy3d& copy) {
    return {copy.source_type,  address_of(copy.source_type, copy.source_host, copy.source_device),
            copy.source_x,     copy.source_y,
            copy.source_z,     copy.source_pitch,
            copy.source_height};
}
inline Section destination_of(const Copy3d& copy) {
    return {copy.type,
            address_of(copy.type, copy.host, copy.device),
            copy.x,
            copy.y,
            copy.z,
            copy.pitch,
            copy.height_of_slices};
}
inline std::size_t layers(const Copy2d&) {
    return 1;
}
inline std::size_t layers(const Copy3d& copy) {
    return copy.depth;
}
inline bool has_unknown(const Copy2d&) {
    return false;
}
inline bool has_unknown(const Copy3d& copy) {
    return copy.source_level != 0 || copy.level != 0 || copy.source_reserved != nullptr || copy.reserved != nullptr;
}

// Whether the driver takes it. What a side begins in has to hold all of its rows, where the driver knows it (seen on an
// H100, driver 580), and what is named as the device's has to be known.
template <typename Copy>
bool is_valid(const Memory& memory, const Copy& copy) {
    if (has_unknown(copy)) return false;
    for (const Section& side : {source_of(copy), destination_of(copy)}) {
        if (!side.is_valid(copy.width, copy.height, layers(copy))) return false;
        if (copy.width == 0 || copy.height == 0 || layers(copy) == 0) continue;
        const Address first = side.begin + side.offset(0, 0);
        const std::size_t bytes = side.offset(layers(copy) - 1, copy.height - 1) - side.offset(0, 0) + copy.width;
        const auto* block = memory.find(first);
        if (block == nullptr && side.type == 2) return false;
        if (block != nullptr && bytes > block->first + block->second.bytes - first) return false;
    }
    return true;
}
template <typename Copy>
void copy_rows(const Copy& copy) {
    const Section from = source_of(copy);
    const Section to = destination_of(copy);
    for (std::size_t layer = 0; layer < layers(copy); ++layer) {
        for (std::size_t row = 0; row < copy.height; ++row) {
            std::memcpy(to.at(layer, row), from.at(layer, row), copy.width);
        }
    }
}

// Batches.
struct CopyAttributes {
    int order;
    int hints[4];
    unsigned flags;
};
inline bool are_valid(const CopyAttributes* attributes, const std::size_t* begins, std::size_t kinds,
                      std::size_t count) {
    if (attributes == nullptr || begins == nullptr || kinds == 0 || kinds > count || begins[0] != 0) return false;
    for (std::size_t i = 0; i < kinds; ++i) {
        if (attributes[i].order < 1 || attributes[i].order > 3 || attributes[i].flags > 1) return false;
        if (i > 0 && (begins[i] <= begins[i - 1] || begins[i] >= count)) return false;
    }
    return true;
}

}  // namespace fake
