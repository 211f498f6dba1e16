// Rows of arrays that kernels copy.
#include "backend/rows.hpp"

#include "backend/launch.hpp"

namespace isthmus {

Status copy_rows(Device& device, Stream& stream, Region table, Region verdict, const RowsExtent& extent,
                 std::uint32_t unit_bytes, std::uint32_t most_blocks) {
    return launch_few(device, stream, most_blocks, kernel::copy_rows, {}, {}, table, verdict, unit_bytes,
                      extent.row_bytes, extent.rows, extent.layers, extent.bytes() / unit_bytes);
}

Status check_rows(Device& device, Stream& stream, const RowNumbers& list, std::size_t rows, Region seen, Marks marks,
                  bool is_source, Region checked, Region verdict) {
    return launch(device, stream, kernel::check_rows, list.memory, static_cast<std::uint32_t>(list.index_bytes),
                  list.stride_bytes, list.count, rows, seen, static_cast<std::uint32_t>(marks), is_source ? 1U : 0U,
                  checked, verdict);
}

}  // namespace isthmus
