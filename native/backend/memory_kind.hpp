// The kinds of memory that a transfer can start from or end in, and the ways to get it, by their field names.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/pages.hpp"

namespace isthmus {

enum class MemoryKind {
    malloc,                   // from the C library, which recycles what it was given back
    pageable,                 // ordinary pages, fresh from the system
    pageable_huge,            // transparent huge pages
    pinned,                   // page-locked by the driver
    pinned_portable,          // for every context of the process
    write_combined,           // page-locked, uncached for the CPU
    mapped,                   // page-locked and read or written by kernels over the link
    registered,               // ordinary pages, touched and then page-locked
    registered_huge,          // the same on huge pages
    touched_registered,       // the same, counting the pages and their touching by many threads
    touched_registered_huge,  // likewise on huge pages
    managed,                  // one address, pages migrate
    device,
    device_pitched,    // 2-D, rows padded by the driver
    device_array,      // 2-D in the layout of textures (OpenCL: an image)
    device_pool,       // from a stream-ordered pool that keeps what it was given back
    device_pool_cold,  // from one that gives it back to the system
};

inline constexpr std::array<std::pair<MemoryKind, std::string_view>, 17> memory_kind_names{{
    {MemoryKind::malloc, "malloc"},
    {MemoryKind::pageable, "pageable"},
    {MemoryKind::pageable_huge, "pageable_huge"},
    {MemoryKind::pinned, "pinned"},
    {MemoryKind::pinned_portable, "pinned_portable"},
    {MemoryKind::write_combined, "write_combined"},
    {MemoryKind::mapped, "mapped"},
    {MemoryKind::registered, "registered"},
    {MemoryKind::registered_huge, "registered_huge"},
    {MemoryKind::touched_registered, "touched_registered"},
    {MemoryKind::touched_registered_huge, "touched_registered_huge"},
    {MemoryKind::managed, "managed"},
    {MemoryKind::device, "device"},
    {MemoryKind::device_pitched, "device_pitched"},
    {MemoryKind::device_array, "device_array"},
    {MemoryKind::device_pool, "device_pool"},
    {MemoryKind::device_pool_cold, "device_pool_cold"},
}};

// Ordinary or huge pages that nobody has locked.
constexpr bool is_pageable(MemoryKind kind) {
    return kind == MemoryKind::malloc || kind == MemoryKind::pageable || kind == MemoryKind::pageable_huge;
}

// Page-locked after it was got as ordinary memory.
constexpr bool is_registered(MemoryKind kind) {
    return kind >= MemoryKind::registered && kind <= MemoryKind::touched_registered_huge;
}

// Where getting the memory includes the touching of its pages.
constexpr bool is_touched(MemoryKind kind) {
    return kind == MemoryKind::touched_registered || kind == MemoryKind::touched_registered_huge;
}

constexpr bool is_on_device(MemoryKind kind) {
    return kind >= MemoryKind::device;
}

// Where the pages of host memory come from that the driver does not provide.
constexpr HostBlock::Source source_of(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::malloc: return HostBlock::Source::malloc;
        case MemoryKind::pageable_huge:
        case MemoryKind::registered_huge:
        case MemoryKind::touched_registered_huge: return HostBlock::Source::huge;
        default: return HostBlock::Source::ordinary;
    }
}

constexpr std::string_view name_of(MemoryKind kind) {
    for (const auto& [known, name] : memory_kind_names) {
        if (known == kind) return name;
    }
    return "unknown";
}

constexpr std::optional<MemoryKind> memory_kind_of(std::string_view name) {
    for (const auto& [kind, known] : memory_kind_names) {
        if (known == name) return kind;
    }
    return std::nullopt;
}

}  // namespace isthmus
