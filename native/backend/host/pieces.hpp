// Where the pieces of a layout are in host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/device.hpp"

namespace isthmus::host {

// The pieces of one side, by address; outlives the layout, but not the table.
class Pieces {
  public:
    Pieces(const Layout& layout, const Extent& extent, const std::uint64_t* offsets)
        : start_(reinterpret_cast<std::uintptr_t>(layout.allocation->host()) + layout.offset),
          offsets_(layout.is_scattered() ? offsets : nullptr),
          rows_(extent.rows),
          pitch_(layout.pitch_bytes),
          slice_pitch_(layout.slice_pitch_bytes) {}
    // As a number until here, since a layout may count from before its allocation.
    std::byte* at(std::size_t piece) const {
        const std::size_t offset =
            offsets_ != nullptr ? offsets_[piece] : piece / rows_ * slice_pitch_ + piece % rows_ * pitch_;
        return reinterpret_cast<std::byte*>(start_ + offset);  // NOLINT(performance-no-int-to-ptr)
    }

  private:
    std::uintptr_t start_;
    const std::uint64_t* offsets_;
    std::size_t rows_, pitch_, slice_pitch_;
};

}  // namespace isthmus::host
