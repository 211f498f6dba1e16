// 2-D and 3-D copies of the fake CUDA driver: what their structures name, and which of them are refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

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

// A row, or a piece, or all of a copy in one piece.
struct Row {
    Address to, from;
    std::size_t bytes;
};
using Rows = std::vector<Row>;

constexpr int host_type = 1, device_type = 2, unified_type = 4;

// One side of a copy of rows, as its structure says.
struct SideOfRows {
    int type;
    Address begin;
    std::size_t x, y, z, pitch, slice_height;

    // Where its first byte is; nothing for what is refused.
    std::optional<Address> first(std::size_t width, std::size_t height, std::size_t depth) {
        if (type != host_type && type != device_type && type != unified_type) return std::nullopt;
        if (begin == 0 || (type == device_type && memory.find(begin) == nullptr)) return std::nullopt;
        if (pitch == 0) pitch = x + width;
        if (slice_height == 0) slice_height = y + height;
        if (pitch < width || pitch - width < x || slice_height < height || slice_height - height < y) {
            return std::nullopt;
        }
        if (height * depth > 1 && pitch > most_pitch()) return std::nullopt;
        // What ends beyond all addresses is nowhere.
        std::size_t end = 0;
        if (__builtin_add_overflow(z, depth, &end) || __builtin_mul_overflow(end, slice_height, &end) ||
            __builtin_mul_overflow(end, pitch, &end) || end > PTRDIFF_MAX) {
            return std::nullopt;
        }
        const Address at = begin + (z * slice_height + y) * pitch + x;
        // What it begins in has to hold all of it, where the driver knows that; so has what the address is in that
        // was given, before the position.
        const std::size_t span = ((depth - 1) * slice_height + height - 1) * pitch + width;
        return memory.is_cut(begin, at - begin + span) || memory.is_cut(at, span) ? std::nullopt : std::optional(at);
    }
};

inline std::optional<Rows> rows_of(SideOfRows to, SideOfRows from, std::size_t width, std::size_t height,
                                   std::size_t depth) {
    if (width == 0 || height == 0 || depth == 0) return Rows();
    const auto first_to = to.first(width, height, depth);
    const auto first_from = from.first(width, height, depth);
    if (!first_to || !first_from) return std::nullopt;
    Rows rows;
    for (std::size_t z = 0; z < depth; ++z) {
        for (std::size_t y = 0; y < height; ++y) {
            rows.push_back({*first_to + (z * to.slice_height + y) * to.pitch,
                            *first_from + (z * from.slice_height + y) * from.pitch, width});
        }
    }
    return rows;
}
// Both: with `world` held. Nothing for what is refused.
inline std::optional<Rows> rows_of(const Copy2d* copy) {
    if (copy == nullptr) return std::nullopt;
    const auto address = [](int type, const void* host, Address device) {
        return type == host_type ? reinterpret_cast<Address>(host) : device;
    };
    return rows_of({copy->type, address(copy->type, copy->host, copy->device), copy->x, copy->y, 0, copy->pitch, 0},
                   {copy->source_type, address(copy->source_type, copy->source_host, copy->source_device),
                    copy->source_x, copy->source_y, 0, copy->source_pitch, 0},
                   copy->width, copy->height, 1);
}
inline std::optional<Rows> rows_of(const Copy3d* copy) {
    if (copy == nullptr) return std::nullopt;
    const auto address = [](int type, const void* host, Address device) {
        return type == host_type ? reinterpret_cast<Address>(host) : device;
    };
    return rows_of({copy->type, address(copy->type, copy->host, copy->device), copy->x, copy->y, copy->z, copy->pitch,
                    copy->height_of_slices},
                   {copy->source_type, address(copy->source_type, copy->source_host, copy->source_device),
                    copy->source_x, copy->source_y, copy->source_z, copy->source_pitch, copy->source_height},
                   copy->width, copy->height, copy->depth);
}

}  // namespace fake
