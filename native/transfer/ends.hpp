// What a copy is between: which way it goes, and what kinds of memory lie on its sides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/backend.hpp"

namespace isthmus {

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

// One side as the caller gives it.
struct End {
    std::uintptr_t address = 0;
    std::optional<Side> side;
};

struct Ends {
    Route route = Route::h2h;
    // As what the memory is to be borrowed: `device` for all that copies and kernels treat as device memory.
    MemoryKind destination = MemoryKind::pageable, source = MemoryKind::pageable;

    MemoryKind host_kind() const { return route == Route::h2d ? source : destination; }
};

// Asks the driver about a side whose caller does not say where it is, and about the host's memory if `kinds` is set:
// without, it counts as pageable. Managed memory counts as the device's, unless the other side is on the device. Fails
// with invalid_argument for memory of another device, and for what is not where the caller says.
Result<Ends> ends_of(Device& device, const End& destination, const End& source, bool kinds);

// Whether the device's memory has addresses, so that these alone say where something is.
bool has_addresses(const Device& device);

// "cuda:0"
std::string name_of(const Device& device);

}  // namespace isthmus
