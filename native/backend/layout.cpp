// Pieces of equal size, and where they lie in memory: rows of a 2-D or 3-D section, or scattered.
#include "backend/layout.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "backend/region.hpp"
#include "base/reach.hpp"

namespace isthmus {
namespace {

// a * b + c, or nothing where 64 bits do not hold it.
std::optional<std::size_t> multiply_add(std::size_t a, std::size_t b, std::size_t c) {
    std::size_t product = 0;
    std::size_t sum = 0;
    if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum)) return std::nullopt;
    return sum;
}

Status overflow(const std::string& what) {
    return invalid(what + " overflows 64 bits");
}

Status check_pitches(const Layout& layout, const Extent& extent) {
    if (extent.rows > 1 && layout.pitch_bytes < extent.width_bytes) {
        return invalid("rows of " + std::to_string(extent.width_bytes) + " bytes are wider than the pitch of " +
                       std::to_string(layout.pitch_bytes));
    }
    const auto slice = multiply_add(extent.rows - 1, layout.pitch_bytes, extent.width_bytes);
    if (!slice) return overflow("rows times pitch");
    if (extent.slices > 1 && layout.slice_pitch_bytes < *slice) {
        return invalid("slices of " + std::to_string(*slice) + " bytes are longer than the slice pitch of " +
                       std::to_string(layout.slice_pitch_bytes));
    }
    return {};
}

// The end of the last piece, counted from the start of the allocation.
std::optional<std::size_t> end_of(const Layout& layout, const Extent& extent) {
    std::size_t last = 0;
    if (layout.is_scattered()) {
        last = *std::max_element(layout.offsets.begin(), layout.offsets.end());
    } else {
        const auto rows = multiply_add(extent.rows - 1, layout.pitch_bytes, 0);
        if (!rows) return std::nullopt;
        const auto slices = multiply_add(extent.slices - 1, layout.slice_pitch_bytes, *rows);
        if (!slices) return std::nullopt;
        last = *slices;
    }
    const auto end = multiply_add(1, last, extent.width_bytes);
    return end ? multiply_add(1, *end, layout.offset) : std::nullopt;
}

std::vector<std::uint64_t> ascending(std::span<const std::uint64_t> offsets) {
    std::vector<std::uint64_t> sorted(offsets.begin(), offsets.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

// The first piece that does not begin at or behind the end of the one before it; their number where there is none.
std::size_t first_overlap(std::span<const std::uint64_t> offsets, std::size_t width) {
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        if (offsets[i] < offsets[i - 1] || offsets[i] - offsets[i - 1] < width) return i;
    }
    return offsets.size();
}

// Sorting tens of thousands of pieces takes longer than moving them. Where they lie close together there are not many
// places of a power of two of bytes, no longer than a piece, and each is the beginning of one piece at most.
class Places {
  public:
    Places(std::span<const std::uint64_t> offsets, std::size_t width)
        : offsets_(offsets),
          width_(width),
          place_(std::min(std::bit_floor(std::uint64_t{width}), std::uint64_t{1} << 30)) {
        const Reach reach = reach_of(offsets);
        lowest_ = reach.lowest;
        aligned_ = (reach.differing_bits & (place_ - 1)) == 0;
        count_ = ((reach.highest - lowest_) >> bits()) + 1;
    }
    bool are_few() const { return count_ <= 32 * offsets_.size(); }
    bool are_disjoint() const { return aligned_ && place_ == width_ ? are_different() : are_apart(); }

  private:
    // Powers of two, for the sake of the time that divisions take.
    int bits() const { return std::countr_zero(place_); }

    // Where each piece is one place: no two are the same. So few bits that they stay in the nearest cache.
    bool are_different() const {
        std::vector<std::uint64_t> words(count_ / 64 + 1);
        std::uint64_t taken = 0;
        for (const std::uint64_t offset : offsets_) {
            const std::uint64_t at = (offset - lowest_) >> bits();
            const std::uint64_t bit = std::uint64_t{1} << at % 64;
            taken |= words[at / 64] & bit;
            words[at / 64] |= bit;
        }
        return taken == 0;
    }

    // Only what begins in one of the next two places can overlap.
    bool are_apart() const {
        std::vector<std::uint32_t> begins(count_);  // from the place's own beginning, and one more; 0 for none
        for (const std::uint64_t offset : offsets_) {
            std::uint32_t& here = begins[(offset - lowest_) >> bits()];
            if (here != 0) return false;
            here = static_cast<std::uint32_t>((offset - lowest_) & (place_ - 1)) + 1;
        }
        bool disjoint = true;
        std::uint64_t end = 0;  // of the last piece that begins before
        for (std::uint64_t i = 0; i < count_; ++i) {
            // Without a branch, which would be unpredictable.
            const bool is_there = begins[i] != 0;
            const std::uint64_t begin = (i << bits()) + begins[i] - 1;
            disjoint = disjoint && !(is_there & (begin < end));
            end = is_there ? begin + width_ : end;
        }
        return disjoint;
    }

    const std::span<const std::uint64_t> offsets_;
    const std::uint64_t width_, place_;
    std::uint64_t lowest_ = 0, count_ = 0;
    bool aligned_ = false;  // all to one another
};

}  // namespace

std::size_t Layout::span_bytes(const Extent& extent) const {
    return *end_of(*this, extent) - offset;
}

Layout contiguous(Allocation& allocation, std::size_t offset, const Extent& extent) {
    return {&allocation, offset, extent.width_bytes, extent.rows * extent.width_bytes, {}};
}

Status check(const Layout& layout, const Extent& extent) {
    if (extent.width_bytes == 0 || extent.rows == 0 || extent.slices == 0) {
        return invalid("nothing to copy: " + std::to_string(extent.slices) + " slices of " +
                       std::to_string(extent.rows) + " rows of " + std::to_string(extent.width_bytes) + " bytes");
    }
    const auto pieces = multiply_add(extent.rows, extent.slices, 0);
    if (!pieces || !multiply_add(*pieces, extent.width_bytes, 0)) return overflow("the size of all pieces");
    if (layout.is_scattered() && layout.offsets.size() != *pieces) {
        return invalid(std::to_string(*pieces) + " pieces have " + std::to_string(layout.offsets.size()) + " offsets");
    }
    if (!layout.is_scattered()) ISTHMUS_TRY(check_pitches(layout, extent));
    const auto end = end_of(layout, extent);
    if (!end) return overflow("the end of the last piece");
    if (*end > layout.allocation->bytes()) {
        return invalid("the last piece ends at byte " + std::to_string(*end) + " of an allocation of " +
                       std::to_string(layout.allocation->bytes()));
    }
    return {};
}

Status check_destination(const Layout& layout, const Extent& extent) {
    ISTHMUS_TRY(check(layout, extent));
    if (!layout.is_scattered() || are_disjoint(layout.offsets, extent.width_bytes)) return {};
    const std::vector<std::uint64_t> sorted = ascending(layout.offsets);
    const std::size_t i = first_overlap(sorted, extent.width_bytes);
    return invalid("pieces of " + std::to_string(extent.width_bytes) + " bytes at offsets " +
                   std::to_string(sorted[i - 1]) + " and " + std::to_string(sorted[i]) +
                   " overlap where they are written to");
}

bool are_disjoint(std::span<const std::uint64_t> offsets, std::size_t width_bytes) {
    if (first_overlap(offsets, width_bytes) == offsets.size()) return true;
    if (const Places places(offsets, width_bytes); places.are_few()) return places.are_disjoint();
    return first_overlap(ascending(offsets), width_bytes) == offsets.size();
}

Result<Section> section_of(const Layout& destination, const Layout& source, const Extent& extent) {
    Section section{destination, source, extent};
    if (extent.rows == 1) section.extent = {extent.width_bytes, extent.slices, 1};
    for (Layout* layout : {&section.destination, &section.source}) {
        if (layout->is_scattered()) return unsupported("2-D and 3-D copies take rows at regular distances");
        if (extent.rows == 1) layout->pitch_bytes = extent.slices == 1 ? extent.width_bytes : layout->slice_pitch_bytes;
        if (section.extent.slices > 1 && layout->slice_pitch_bytes % layout->pitch_bytes != 0) {
            return unsupported("3-D copies take slices of whole rows, not a slice pitch of " +
                               std::to_string(layout->slice_pitch_bytes) + " with a pitch of " +
                               std::to_string(layout->pitch_bytes));
        }
    }
    return section;
}

std::size_t common_unit_bytes(const Layout& one, const Layout& other, const Extent& extent) {
    std::size_t bits = 16 | extent.width_bytes;
    for (const Layout* layout : {&one, &other}) {
        bits |= layout->offset + (layout->allocation != nullptr ? layout->allocation->kernel_address() : 0);
        for (const std::uint64_t offset : layout->offsets) bits |= offset;
        if (!layout->is_scattered() && extent.rows > 1) bits |= layout->pitch_bytes;
        if (!layout->is_scattered() && extent.slices > 1) bits |= layout->slice_pitch_bytes;
    }
    return std::size_t{1} << std::countr_zero(bits);
}

}  // namespace isthmus
