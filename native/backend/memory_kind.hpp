// The one table of memory kinds on this side of the seam: what a transfer can start from or end in, and how it is
// allocated.
#pragma once

#include <array>
#include <cstddef>

#include "base/names.hpp"
#include "base/pages.hpp"

namespace isthmus {

ISTHMUS_ENUM(MemoryKind,
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
             device_pool_cold)  // from one that gives it back to the system

// Python's table (src/isthmus/record/memory_kinds.py) says the same of `huge`, `by_cpu`, `locked` and `on_device`.
struct MemoryTraits {
    MemoryKind kind;
    bool locked = false;      // page-locked
    bool huge = false;        // on transparent huge pages
    bool by_cpu = false;      // ordinary or huge pages that are not locked: drivers copy them with the CPU
    bool on_device = false;   // in the memory of the device
    bool registered = false;  // page-locked after it was allocated as ordinary memory
    bool touched = false;     // getting it includes the touching of its pages
};

// In the order of the enumeration.
inline constexpr std::array memory_kinds{
    MemoryTraits{.kind = MemoryKind::malloc, .by_cpu = true},
    MemoryTraits{.kind = MemoryKind::pageable, .by_cpu = true},
    MemoryTraits{.kind = MemoryKind::pageable_huge, .huge = true, .by_cpu = true},
    MemoryTraits{.kind = MemoryKind::pinned, .locked = true},
    MemoryTraits{.kind = MemoryKind::pinned_portable, .locked = true},
    MemoryTraits{.kind = MemoryKind::write_combined, .locked = true},
    MemoryTraits{.kind = MemoryKind::mapped, .locked = true},
    MemoryTraits{.kind = MemoryKind::registered, .locked = true, .registered = true},
    MemoryTraits{.kind = MemoryKind::registered_huge, .locked = true, .huge = true, .registered = true},
    MemoryTraits{.kind = MemoryKind::touched_registered, .locked = true, .registered = true, .touched = true},
    MemoryTraits{
        .kind = MemoryKind::touched_registered_huge, .locked = true, .huge = true, .registered = true, .touched = true},
    MemoryTraits{.kind = MemoryKind::managed},
    MemoryTraits{.kind = MemoryKind::device, .on_device = true},
    MemoryTraits{.kind = MemoryKind::device_pitched, .on_device = true},
    MemoryTraits{.kind = MemoryKind::device_array, .on_device = true},
    MemoryTraits{.kind = MemoryKind::device_pool, .on_device = true},
    MemoryTraits{.kind = MemoryKind::device_pool_cold, .on_device = true},
};

constexpr const MemoryTraits& traits_of(MemoryKind kind) {
    return memory_kinds[static_cast<std::size_t>(kind)];
}

static_assert([] {
    for (std::size_t i = 0; i < memory_kinds.size(); ++i) {
        if (traits_of(static_cast<MemoryKind>(i)).kind != static_cast<MemoryKind>(i)) return false;
    }
    return true;
}());

constexpr bool is_pageable(MemoryKind kind) {
    return traits_of(kind).by_cpu;
}

constexpr bool is_registered(MemoryKind kind) {
    return traits_of(kind).registered;
}

constexpr bool is_touched(MemoryKind kind) {
    return traits_of(kind).touched;
}

constexpr bool is_on_device(MemoryKind kind) {
    return traits_of(kind).on_device;
}

// Where the pages of host memory come from that the driver does not provide.
constexpr HostBlock::Source source_of(MemoryKind kind) {
    if (kind == MemoryKind::malloc) return HostBlock::Source::malloc;
    return traits_of(kind).huge ? HostBlock::Source::huge : HostBlock::Source::ordinary;
}

}  // namespace isthmus
