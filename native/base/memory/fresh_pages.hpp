// Puts the pages of fresh memory in place by several threads, for a caller that would get them one by one.
#pragma once

#include <cstddef>
#include <optional>

#include "base/numa.hpp"
#include "base/pages.hpp"
#include "base/slices.hpp"

namespace isthmus {

inline constexpr std::size_t tried_alone_bytes = std::size_t{256} << 10;

// The time that the calling thread takes, in seconds a byte, to get ordinary pages of shared memory one after the
// other, as the kernel gets them for a driver that locks them. Measured on tried_alone_bytes of its own; 0 without
// memory.
double seconds_per_byte_alone();

// Whether the system has huge pages for shared memory that asks for them (MADV_HUGEPAGE): by default it has none.
bool shares_huge_pages();

struct FreshPages {
    // Huge ones are given up for ordinary ones where they come later than those would at `alone_seconds_per_byte` (0:
    // not known), since the kernel has to make room for them, and where the system has none.
    PageSize size = PageSize::ordinary;
    double alone_seconds_per_byte = 0;
    std::optional<NumaNode> node;  // where they are to be
    std::size_t most_threads = most_slices;
};
// Has all pages of [data, data + bytes) put in place, by the calling thread and others. Memory stays what it is.
// Precondition: it is fresh, all zeros, writable, begins at a page, and there is room for it (check_memory_room).
void place_fresh_pages(std::byte* data, std::size_t bytes, const FreshPages& pages);

}  // namespace isthmus
