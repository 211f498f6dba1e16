// The processor's caches: their lines, their size, and how to empty them of a range of memory.
#pragma once

#include <cstddef>

namespace isthmus {

inline constexpr std::size_t cache_line = 64;

// Writes back and drops every cache line of the range, so that the next access goes to memory. A copy that the CPU
// takes part in would otherwise be timed from a cache that happens to be hundreds of megabytes large, which a program
// that has just read or received its data does not see. Does nothing on processors without such an instruction.
void evict_from_caches(const std::byte* data, std::size_t bytes);

// Bytes of the last-level cache; where the system does not tell, more than any buffer.
std::size_t last_level_cache_bytes();

}  // namespace isthmus
