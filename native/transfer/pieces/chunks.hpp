// How a transfer is cut: chunks that cross the link one after another, each of parts that threads pack side by side.
#pragma once

#include <algorithm>
#include <cstddef>

namespace isthmus {

struct Chunks {
    std::size_t bytes = 0;  // of the transfer
    std::size_t chunk_bytes = 0, part_bytes = 0;

    static constexpr std::size_t most_part_bytes = std::size_t{64} << 10;
    // The same of a file, each of which takes calls of the system.
    static constexpr std::size_t most_file_part_bytes = std::size_t{128} << 10;

    // For so many bytes, at least one, and threads: chunks of whole parts, as large as that allows within
    // `most_chunk_bytes` (at least 4096), which the plan of the ring says.
    static Chunks cut(std::size_t bytes, std::size_t threads, std::size_t most_chunk_bytes,
                      std::size_t most_part = most_part_bytes) {
        const std::size_t part = std::clamp(divided(bytes / (parts_each_thread * threads), multiple) * multiple,
                                            multiple, std::min(most_part, most_chunk_bytes / multiple * multiple));
        return {bytes, most_chunk_bytes / part * part, part};
    }

    struct Range {
        std::size_t begin, end;
    };
    std::size_t count() const { return divided(bytes, chunk_bytes); }
    std::size_t parts() const { return divided(bytes, part_bytes); }
    std::size_t chunk_of(std::size_t part) const { return part * part_bytes / chunk_bytes; }
    std::size_t parts_of(std::size_t chunk) const {
        const Range whole = this->chunk(chunk);
        return divided(whole.end - whole.begin, part_bytes);
    }
    Range chunk(std::size_t index) const { return range(index, chunk_bytes); }
    Range part(std::size_t index) const { return range(index, part_bytes); }

  private:
    // Units of kernels never cross the end of a part, pages rarely do.
    static constexpr std::size_t multiple = 4096, parts_each_thread = 4;

    // The last one may be smaller.
    static std::size_t divided(std::size_t bytes, std::size_t each) { return (bytes + each - 1) / each; }
    Range range(std::size_t index, std::size_t each) const {
        return {index * each, std::min(bytes, (index + 1) * each)};
    }
};

}  // namespace isthmus
