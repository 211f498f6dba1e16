// How a transfer is cut into chunks for threads that pack them while others are on their way.
#pragma once

#include <cstddef>
#include <vector>

namespace isthmus {

// Units of kernels never cross the end of a chunk, pages rarely do.
inline constexpr std::size_t chunk_multiple = 4096;
inline constexpr std::size_t least_chunk_bytes = std::size_t{64} << 10;
// Large enough that what each chunk costs does not count.
inline constexpr std::size_t most_chunk_bytes = std::size_t{1} << 20;

// Where each chunk ends, in order; the last at `bytes`. Small ones come first, since nothing is on its way until the
// first is packed, and last, so that all threads end together.
std::vector<std::size_t> chunk_ends(std::size_t bytes, std::size_t threads);

}  // namespace isthmus
