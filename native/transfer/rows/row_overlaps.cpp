// Whether rows that are written to overlap others.
#include "transfer/rows/row_overlaps.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "transfer/copy/batch_checks.hpp"

namespace isthmus {
namespace {

// One array's rows, and the bytes from the lowest to the highest of one of them.
struct Placed {
    const RowArray* array;
    std::size_t row_span;

    std::uintptr_t lowest() const { return array->lowest(); }
    std::uintptr_t end() const { return array->lowest() + array->span_bytes(row_span); }
    std::size_t pitch() const {
        return static_cast<std::size_t>(array->pitch_bytes < 0 ? -array->pitch_bytes : array->pitch_bytes);
    }
    bool rows_are_apart() const { return array->rows == 1 || pitch() >= row_span; }
};

bool spans_meet(const Placed& one, const Placed& other) {
    return one.array->space == other.array->space && one.lowest() < other.end() && other.lowest() < one.end();
}

// Arrays that share pages, such as the layers of a cache that has them within its blocks: rows of one lie between rows
// of the other wherever they begin.
bool interleave(const Placed& one, const Placed& other) {
    const std::size_t pitch = one.pitch();
    if (pitch == 0 || pitch != other.pitch()) return false;
    const std::uintptr_t first = one.array->begin;
    const std::uintptr_t second = other.array->begin;
    const std::size_t apart = second >= first ? (second - first) % pitch : (pitch - (first - second) % pitch) % pitch;
    return apart >= one.row_span && pitch - apart >= other.row_span;
}

std::vector<Placed> destinations_of(const RowGeometry& geometry) {
    std::vector<Placed> placed;
    placed.reserve(geometry.layers.size());
    for (const RowLayer& layer : geometry.layers) {
        placed.push_back({&layer.destination, geometry.content(layer).destination.span_bytes});
    }
    return placed;
}

bool destinations_are_apart(const RowGeometry& geometry) {
    std::vector<Placed> placed = destinations_of(geometry);
    if (!std::ranges::all_of(placed, &Placed::rows_are_apart)) return false;
    std::ranges::sort(placed, {}, [](const Placed& one) { return std::tuple(one.array->space, one.lowest()); });
    for (std::size_t i = 0; i < placed.size(); ++i) {
        for (std::size_t j = i + 1; j < placed.size() && spans_meet(placed[i], placed[j]); ++j) {
            if (!interleave(placed[i], placed[j])) return false;
        }
    }
    return true;
}

RowOverlaps::Sides sides_of(const RowGeometry& geometry) {
    using Sides = RowOverlaps::Sides;
    Sides sides = Sides::apart;
    const std::vector<Placed> destinations = destinations_of(geometry);
    for (std::size_t i = 0; i < geometry.layers.size(); ++i) {
        const RowLayer& layer = geometry.layers[i];
        const Placed source{&layer.source, geometry.content(layer).source.span_bytes};
        for (std::size_t j = 0; j < destinations.size(); ++j) {
            const Placed& destination = destinations[j];
            if (!spans_meet(source, destination) || interleave(source, destination)) continue;
            const bool same = i == j && source.array->begin == destination.array->begin &&
                              source.array->pitch_bytes == destination.array->pitch_bytes && source.rows_are_apart() &&
                              destination.rows_are_apart();
            if (!same) return Sides::unknown;
            sides = Sides::same;
        }
    }
    return sides;
}

Status overlap(std::int64_t row) {
    return invalid("row " + std::to_string(row) +
                   " is read and written to in one copy, and either may come first; copy it to "
                   "other memory first");
}

// With a bit for each row, or, where these are far more than what is copied, by sorting.
Status check_lists_apart(std::span<const std::int64_t> destination_rows, std::span<const std::int64_t> source_rows) {
    std::vector<std::int64_t> sorted(destination_rows.begin(), destination_rows.end());
    std::ranges::sort(sorted);
    for (const std::int64_t row : source_rows) {
        if (std::ranges::binary_search(sorted, row)) return overlap(row);
    }
    return {};
}

}  // namespace

RowOverlaps overlaps_of(const RowGeometry& geometry, bool may_meet) {
    return {destinations_are_apart(geometry), may_meet ? sides_of(geometry) : RowOverlaps::Sides::apart};
}

Status check_apart(const RowGeometry& geometry, const RowOverlaps& overlaps,
                   std::span<const std::int64_t> destination_rows, std::span<const std::int64_t> source_rows) {
    using Sides = RowOverlaps::Sides;
    if (overlaps.destinations_are_apart && overlaps.sides == Sides::apart) return {};
    if (overlaps.destinations_are_apart && overlaps.sides == Sides::same) {
        return check_lists_apart(destination_rows, source_rows);
    }
    BatchLists pieces;
    const auto place = [](const RowArray& array, std::int64_t row, std::size_t at, std::uintptr_t& address,
                          std::size_t& offset) {
        address = array.space != 0 ? array.space : array.row(row) + at;
        offset = array.space != 0 ? array.row(row) + at : 0;
    };
    for (const RowLayer& layer : geometry.layers) {
        const RowContent& content = geometry.content(layer);
        for (std::size_t i = 0; i < destination_rows.size(); ++i) {
            for (std::size_t k = 0; k < content.extent.pieces(); ++k) {
                BatchPiece piece;
                piece.bytes = content.extent.width_bytes;
                place(layer.destination, destination_rows[i], RowContent::at(content.destination, content.extent, k),
                      piece.destination, piece.destination_offset_bytes);
                place(layer.source, source_rows[i], RowContent::at(content.source, content.extent, k), piece.source,
                      piece.source_offset_bytes);
                pieces.add(piece);
            }
        }
    }
    const bool to_addresses =
        std::ranges::all_of(geometry.layers, [](const RowLayer& l) { return l.destination.space == 0; });
    const bool from_addresses =
        std::ranges::all_of(geometry.layers, [](const RowLayer& l) { return l.source.space == 0; });
    return check_apart(pieces.batch(), to_addresses, from_addresses);
}

}  // namespace isthmus
