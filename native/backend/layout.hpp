// Pieces of equal size, and where they lie in memory: rows of a 2-D or 3-D section, or scattered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace isthmus {

class Allocation;

// `slices` times `rows` pieces of `width_bytes` each.
struct Extent {
    std::size_t width_bytes = 0, rows = 0, slices = 1;

    std::size_t pieces() const { return rows * slices; }
    std::size_t bytes() const { return width_bytes * pieces(); }
};

// So many steps, and the bytes from one to the next.
struct Steps {
    std::size_t count = 1;
    std::ptrdiff_t stride_bytes = 0;
};

// Where the pieces of an extent lie; a view that owns nothing.
struct Layout {
    Allocation* allocation = nullptr;
    std::size_t offset = 0;             // of the first piece; of the place that `offsets` count from
    std::size_t pitch_bytes = 0;        // from one row to the next
    std::size_t slice_pitch_bytes = 0;  // from one slice to the next
    // Scattered: where each piece begins, in place of the pitches.
    std::span<const std::uint64_t> offsets;
    // Repeated: steps from the outermost to the innermost, in place of offsets, some of them of 0 bytes. Of a source
    // that threads of the host pack: nothing else here reads it.
    std::span<const Steps> steps{};

    bool is_scattered() const { return !offsets.empty() || !steps.empty(); }
    bool is_contiguous(const Extent& extent) const {
        return !is_scattered() && pitch_bytes == extent.width_bytes &&
               (extent.slices == 1 || slice_pitch_bytes == extent.rows * extent.width_bytes);
    }
    // Where a piece begins within the allocation. Precondition: has no steps.
    std::size_t at(std::size_t piece, const Extent& extent) const {
        if (!offsets.empty()) return offset + offsets[piece];
        return offset + piece / extent.rows * slice_pitch_bytes + piece % extent.rows * pitch_bytes;
    }
    // Bytes from `offset` to the end of the last piece. Precondition: checked.
    std::size_t span_bytes(const Extent& extent) const;
};

// Rows that follow one another without gaps.
Layout contiguous(Allocation& allocation, std::size_t offset, const Extent& extent);

// Fails with invalid_argument, saying which number is wrong, unless there is something to copy, nothing overflows 64
// bits, no row is wider than its pitch and no slice longer than its own, there is an offset for each piece, and all of
// it is within the allocation.
Status check(const Layout& layout, const Extent& extent);

// The same for where pieces are written to, which must not overlap either.
Status check_destination(const Layout& layout, const Extent& extent);

// Whether no two pieces of this width overlap that begin at these places.
bool are_disjoint(std::span<const std::uint64_t> offsets, std::size_t width_bytes);

// Both sides of pieces as 2-D and 3-D copies of drivers want them.
struct Section {
    Layout destination, source;
    Extent extent;
};

// Fails with unsupported unless both layouts are regular and slice pitches are multiples of pitches. Slices of one row
// become rows; no pitch is less than the width.
Result<Section> section_of(const Layout& destination, const Layout& source, const Extent& extent);

// The largest power of two, at most 16, that divides the width, the address of the first piece and all distances
// between pieces on both sides: what kernels move at a time. A side without an allocation begins at an aligned address.
std::size_t common_unit_bytes(const Layout& one, const Layout& other, const Extent& extent);

// A part of the pieces of a transfer, taken in order, as a kernel sees them: units of 1, 2, 4, 8 or 16 bytes.
struct Units {
    std::size_t bytes = 1;  // of one unit
    std::size_t first = 0;
    std::size_t count = 0;
};

}  // namespace isthmus
