// What a copy is between: its direction, and what kinds of memory are on its sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "backend/device.hpp"
#include "backend/region.hpp"

namespace isthmus {

class Device;

enum class Route { h2d, d2h, d2d, h2h };

constexpr const char* name_of(Route route) {
    switch (route) {
        case Route::h2d: return "h2d";
        case Route::d2h: return "d2h";
        case Route::d2d: return "d2d";
        case Route::h2h: return "h2h";
    }
    return "";
}

// One side as the caller gives it, from its lowest byte on.
struct End {
    std::uintptr_t address = 0;
    std::optional<Side> side;
    std::size_t bytes = 1;
};

struct Ends {
    Route route = Route::h2h;
    // As what the memory is to be borrowed: `device` for all that copies and kernels treat as device memory.
    MemoryKind destination = MemoryKind::pageable, source = MemoryKind::pageable;
    // The host's memory is page-locked, but not all of it, or not by one allocation: it counts as pageable, but the
    // driver refuses to copy it, so that threads must.
    bool partly_locked = false;
    // Where kernels find the lowest bytes, as far as the driver was asked and said so.
    std::uintptr_t destination_for_kernels = 0, source_for_kernels = 0;

    // Another device of the backend, where one side is its memory and the other the session's: its index, else -1.
    int other_device = -1;
    bool other_is_destination = false;
    std::uintptr_t other_context = 0;  // of that memory; 0 where the driver does not say

    bool is_between_devices() const { return other_device >= 0; }
    MemoryKind host_kind() const { return route == Route::h2d ? source : destination; }
};

// What the driver last said of each side, of copies that are looked at one after the other: of what is in the same
// allocation it is not asked again.
struct LastKnown {
    struct Answer {
        std::uintptr_t address = 0;  // what it was asked about
        KnownMemory memory;
    };
    Answer destination, source;
};

// Asks the driver about a side whose caller does not say where it is, and about both if `kinds` is set: without, the
// host's memory counts as pageable, and what is said to be on the device is believed. Managed memory counts as the
// device's, unless the other side is on the device. Fails with invalid_argument for memory of another device, unless
// the other side is memory of this one, for what is not where the caller says, and for what reaches beyond its
// allocation.
Result<Ends> ends_of(Device& device, const End& destination, const End& source, bool kinds, LastKnown* last = nullptr);

// Fails with invalid_argument where so many bytes reach beyond the device's or managed memory that `known` is of.
// Mappings that follow one another are one array's where a program maps them one by one.
Status check_span(Device& device, const KnownMemory& known, const End& end, const std::string& name);

// Fails with invalid_argument where a side that counts as the host's, since no driver knows it, is not this process's.
Status check_readable(const End& end, const std::string& name);

// Whether the device's memory has addresses, so that these alone say where something is.
bool has_addresses(const Device& device);

// "cuda:0"
std::string name_of(const Device& device);

}  // namespace isthmus
