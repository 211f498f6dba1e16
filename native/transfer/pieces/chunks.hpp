// How a transfer is cut: chunks that cross the link one after another, each of parts that threads pack side by side.
#pragma once

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
                      std::size_t most_part = most_part_bytes);

    struct Range {
        std::size_t begin, end;
    };
    std::size_t count() const { return divided(bytes, chunk_bytes); }
    std::size_t parts() const { return divided(bytes, part_bytes); }
    std::size_t chunk_of(std::size_t part) const { return part * part_bytes / chunk_bytes; }
    std::size_t parts_of(std::size_t chunk) const;
    Range chunk(std::size_t index) const { return range(index, chunk_bytes); }
    Range part(std::size_t index) const { return range(index, part_bytes); }

  private:
    // The last one may be smaller.
    static std::size_t divided(std::size_t bytes, std::size_t each) { return (bytes + each - 1) / each; }
    Range range(std::size_t index, std::size_t each) const;
};

}  // namespace isthmus
