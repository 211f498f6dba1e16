// Memory of a caller, as it is handed to a copy: an array of any number of dimensions, on either side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/layout.hpp"
#include "backend/region.hpp"

namespace isthmus {

// Elements may lie any distance apart, also backwards or on top of each other (a source alone).
struct ArrayView {
    // Where the first element is; for device memory without addresses (OpenCL), the handle that it belongs to.
    std::uintptr_t address = 0;
    // Where the first element is from there; 0 where memory has addresses.
    std::size_t offset_bytes = 0;
    std::size_t element_bytes = 1;
    std::vector<std::size_t> shape;             // none: one element
    std::vector<std::ptrdiff_t> strides_bytes;  // as many
    // What the caller knows of it; where nothing, the driver is asked.
    std::optional<Side> side;

    // So many bytes that follow one another.
    static ArrayView of_bytes(std::uintptr_t address, std::size_t bytes);

    std::size_t elements() const;
    std::size_t bytes() const { return elements() * element_bytes; }
    bool is_contiguous() const;
    // Strides as if rows followed one another (C order). False where that is larger than any memory.
    [[nodiscard]] bool lay_in_c_order();
};

// Two arrays of one shape as pieces that are as long as they can be: what copies of any kind are about.
struct ArrayPieces {
    Extent extent;
    // Where the pieces of a side are, counted from its first byte in memory: regular ones have pitches, others offsets,
    // and a source that repeats short pieces in a destination without gaps has steps.
    struct Placement {
        std::ptrdiff_t first_bytes = 0;  // of the lowest byte of the array, from its first element
        std::size_t span_bytes = 0;      // from the lowest byte to the highest
        std::size_t pitch_bytes = 0, slice_pitch_bytes = 0;
        std::size_t offset = 0;  // of the first piece, from the lowest byte
        std::vector<std::uint64_t> offsets;
        std::vector<Steps> steps;
    };
    Placement destination, source;

    // Fails with invalid_argument, saying what to change, unless shapes and element sizes agree, nothing overflows, and
    // no two elements of the destination overlap.
    static Result<ArrayPieces> of(const ArrayView& destination, const ArrayView& source);
    // Gives a source that has steps offsets in place of them. Fails with unsupported where they would be too many.
    Status write_offsets();
};

// Where each of so many pieces begins, from the lowest on. Fails with unsupported where that would take too much
// memory.
Result<std::vector<std::uint64_t>> offsets_of(std::span<const Steps> steps, std::size_t pieces);

}  // namespace isthmus
