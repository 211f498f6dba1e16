// How a transfer is cut: chunks that cross the link one after another, each of parts that threads pack side by side.
#include "transfer/pieces/chunks.hpp"

#include <algorithm>

namespace isthmus {
namespace {

// Units of kernels never cross the end of a part, pages rarely do.
constexpr std::size_t multiple = 4096;
constexpr std::size_t parts_each_thread = 4;

}  // namespace

Chunks Chunks::cut(std::size_t bytes, std::size_t threads, std::size_t most_chunk_bytes, std::size_t most_part) {
    const std::size_t part = std::clamp(divided(bytes / (parts_each_thread * threads), multiple) * multiple, multiple,
                                        std::min(most_part, most_chunk_bytes / multiple * multiple));
    return {bytes, most_chunk_bytes / part * part, part};
}

std::size_t Chunks::parts_of(std::size_t chunk) const {
    const Range whole = this->chunk(chunk);
    return divided(whole.end - whole.begin, part_bytes);
}

Chunks::Range Chunks::range(std::size_t index, std::size_t each) const {
    return {index * each, std::min(bytes, (index + 1) * each)};
}

}  // namespace isthmus
