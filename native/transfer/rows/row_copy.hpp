// Rows of arrays that one call copies: what a caller passes, and where these rows lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transfer/copy/array_view.hpp"

namespace isthmus {

// Integers with a sign, of 4 or 8 bytes, in the device's memory.
struct RowListOnDevice {
    std::uintptr_t address = 0;
    std::size_t offset_bytes = 0;  // within memory without addresses (OpenCL), else 0
    std::size_t count = 0, index_bytes = 8;
    std::size_t stride_bytes = 8;  // from one to the next

    std::size_t span_bytes() const { return count == 0 ? 0 : (count - 1) * stride_bytes + index_bytes; }
};

// Which rows of one side, in order.
struct RowList {
    std::span<const std::int64_t> rows;  // none where the list is on the device
    std::optional<RowListOnDevice> on_device;

    std::size_t count() const { return on_device ? on_device->count : rows.size(); }
};

// Arrays of equal rows, the first dimension of which the list counts.
struct RowSide {
    std::span<const ArrayView> arrays;
    RowList list;
};

// The rows of each array of the source that its list names become those of the array next to it that the destination's
// list names.
struct RowCopy {
    RowSide destination, source;
};

// One array's rows. Where memory has no addresses, places are counted from the beginning of the handle, which is a
// space of its own.
struct RowArray {
    std::uintptr_t space = 0;
    std::uintptr_t begin = 0;  // of the lowest byte of row 0
    std::ptrdiff_t pitch_bytes = 0;
    std::size_t rows = 0;

    std::uintptr_t row(std::int64_t index) const {
        return begin + static_cast<std::uintptr_t>(index) * static_cast<std::uintptr_t>(pitch_bytes);
    }
    // From the lowest byte of all rows to the highest, given those of one.
    std::uintptr_t lowest() const { return pitch_bytes < 0 ? row(static_cast<std::int64_t>(rows) - 1) : begin; }
    std::size_t span_bytes(std::size_t row_span_bytes) const {
        const auto pitch = static_cast<std::size_t>(pitch_bytes < 0 ? -pitch_bytes : pitch_bytes);
        return (rows - 1) * pitch + row_span_bytes;
    }
};

// One row on both sides: as many bytes that follow one another as can be, and where they lie within the row.
struct RowContent {
    Extent extent;
    ArrayPieces::Placement destination, source;

    bool is_whole() const { return extent.pieces() == 1; }
    // From the lowest byte of the row.
    static std::size_t at(const ArrayPieces::Placement& side, const Extent& extent, std::size_t piece);
};

// A pair of arrays.
struct RowLayer {
    RowArray destination, source;
    std::size_t content = 0;  // which one of those of the copy
};

// Where everything is, whatever rows the lists name.
struct RowGeometry {
    std::vector<RowContent> contents;
    std::vector<RowLayer> layers;
    std::size_t row_bytes = 0;
    std::size_t destination_rows = 0, source_rows = 0;  // that every array of a side has

    // Fails with invalid_argument, saying what to change, unless there are as many arrays on both sides, all of one row
    // shape and element size, and the bytes of each are fewer than 2^63.
    static Result<RowGeometry> of(const RowCopy& copy, bool has_addresses);

    const RowContent& content(const RowLayer& layer) const { return contents[layer.content]; }
};

// Fails with invalid_argument, naming the place in the list, where a number is none of so many rows; with `once`, also
// where a row is there twice. `side`: "destination" or "source".
Status check_list(std::span<const std::int64_t> list, std::size_t rows, bool once, const char* side);

}  // namespace isthmus
