// What all backends ask of memory that somebody else owns.
#pragma once

#include <cstdint>
#include <string>

#include "backend/memory_kind.hpp"
#include "base/status.hpp"

namespace isthmus {

// Fails with invalid_argument for kinds that no driver names when it is asked about an address.
inline Status check_borrowed(MemoryKind kind, std::uintptr_t address) {
    if (kind != MemoryKind::pageable && kind != MemoryKind::pinned && kind != MemoryKind::managed &&
        kind != MemoryKind::device) {
        return invalid("memory of a caller is pageable, pinned, managed or device, not " + std::string(name_of(kind)));
    }
    if (address == 0) return invalid("memory of a caller has an address, not 0");
    return {};
}

// What acquiring and releasing memory of a caller end with.
inline Status not_ours() {
    return invalid("borrowed memory is its owner's to get and to give back");
}

}  // namespace isthmus
