// Rows of arrays that kernels copy: the table that says where they lie, and what is found wrong on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/region.hpp"
#include "base/status.hpp"

namespace isthmus {

class Device;
class Stream;

// Where row 0 of two arrays is for kernels, and the bytes from one row to the next, modulo 2^64: what the table of
// copy_rows (kernels/table.hpp) has of each layer.
struct RowPlaces {
    std::uint64_t destination = 0, destination_pitch = 0;
    std::uint64_t source = 0, source_pitch = 0;
};
static_assert(sizeof(RowPlaces) == 32);

// What check_rows found in two lists of rows; of each kind of fault the first place in its list.
struct RowsVerdict {
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct List {
        std::uint32_t outside = none;   // not a row of the arrays
        std::uint32_t repeated = none;  // of the destination: there twice; of the source: one of the destination's, too
    };

    std::uint32_t faults = 0;
    List destination, source;
};
static_assert(sizeof(RowsVerdict) == 20);

// So many rows of so many bytes, of each of so many layers.
struct RowsExtent {
    std::size_t layers = 0, rows = 0, row_bytes = 0;

    std::size_t bytes() const { return layers * rows * row_bytes; }
};

// Places count from address 0, and `unit_bytes` (1, 4 or 16) divides whatever makes up an address. `table` has the
// places of all layers and the lists of the destination's and of the source's rows, as copy_rows has them. Without an
// allocation `verdict` is none. No more than `most_blocks` blocks copy, if that is not 0.
Status copy_rows(Device& device, Stream& stream, Region table, Region verdict, const RowsExtent& extent,
                 std::uint32_t unit_bytes, std::uint32_t most_blocks);

// What check_rows does with bits of rows that were seen.
enum class Marks : std::uint32_t { none = 0, set = 1, look = 2 };

// A list of rows on the device: integers of 4 or 8 bytes with a sign.
struct RowNumbers {
    Region memory;
    std::size_t count = 0, index_bytes = 8, stride_bytes = 8;
};

// `is_source`: whose list it is. `checked` gets the list as copy_rows reads it.
Status check_rows(Device& device, Stream& stream, const RowNumbers& list, std::size_t rows, Region seen, Marks marks,
                  bool is_source, Region checked, Region verdict);

}  // namespace isthmus
