// Rows of arrays that one call copies: where they lie, and whether lists name rows that there are.
#include "transfer/rows/row_copy.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace isthmus {
namespace {

// What errors call one side of a layer.
struct Name {
    const char* side;
    std::size_t layer, layers;

    std::string text() const {
        return layers == 1 ? std::string(side) : std::string(side) + " of layer " + std::to_string(layer);
    }
};

Status check_array(const ArrayView& array, const Name& name) {
    if (array.shape.empty()) {
        return invalid("the " + name.text() + " has no dimension, and rows are those of the first one");
    }
    if (array.strides_bytes.size() != array.shape.size()) {
        return invalid("the " + name.text() + " has " + std::to_string(array.shape.size()) + " dimensions and " +
                       std::to_string(array.strides_bytes.size()) + " strides");
    }
    return {};
}

ArrayView row_of(const ArrayView& array) {
    ArrayView row = array;
    row.shape.erase(row.shape.begin());
    row.strides_bytes.erase(row.strides_bytes.begin());
    return row;
}

// Whether rows of one array lie as those of another do.
bool alike(const ArrayView& one, const ArrayView& other) {
    return one.shape.size() == other.shape.size() && one.element_bytes == other.element_bytes &&
           std::equal(one.shape.begin() + 1, one.shape.end(), other.shape.begin() + 1) &&
           std::equal(one.strides_bytes.begin() + 1, one.strides_bytes.end(), other.strides_bytes.begin() + 1);
}

Result<RowArray> place(const ArrayView& array, const ArrayPieces::Placement& row, const Name& name,
                       bool has_addresses) {
    RowArray placed;
    const bool by_handle = !has_addresses && array.side == Side::device;
    placed.space = by_handle ? array.address : 0;
    placed.begin = (by_handle ? 0 : array.address) + array.offset_bytes + static_cast<std::size_t>(row.first_bytes);
    placed.pitch_bytes = array.strides_bytes.front();
    placed.rows = array.shape.front();
    std::size_t reach = 0;
    const std::ptrdiff_t pitch = placed.pitch_bytes;
    if (placed.rows > 0 &&
        (pitch == PTRDIFF_MIN || __builtin_mul_overflow(placed.rows - 1, std::size_t(std::abs(pitch)), &reach) ||
         __builtin_add_overflow(reach, row.span_bytes, &reach) || reach > PTRDIFF_MAX)) {
        return invalid("the size of the " + name.text() + " overflows 63 bits");
    }
    return placed;
}

// The first place of a number that is there a second time, and that place.
std::pair<std::size_t, std::size_t> repeated(std::span<const std::int64_t> list) {
    std::vector<std::size_t> order(list.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t one, std::size_t other) { return list[one] < list[other]; });
    const auto pair = std::adjacent_find(order.begin(), order.end(),
                                         [&](std::size_t one, std::size_t other) { return list[one] == list[other]; });
    return pair == order.end() ? std::pair(list.size(), list.size()) : std::pair(*pair, *std::next(pair));
}

bool is_unique(std::span<const std::int64_t> list, std::size_t rows) {
    std::size_t descents = 0;
    for (std::size_t i = 1; i < list.size(); ++i) descents += list[i] <= list[i - 1] ? 1 : 0;
    if (descents == 0) return true;
    // A bit for each row, unless they are far more than what is copied.
    constexpr std::size_t most_rows_a_number = 1024;
    if (rows / most_rows_a_number > list.size()) return repeated(list).first == list.size();
    std::vector<std::uint64_t> seen(rows / 64 + 1);
    std::uint64_t twice = 0;
    for (const std::int64_t row : list) {
        std::uint64_t& bits = seen[static_cast<std::size_t>(row) / 64];
        const std::uint64_t bit = std::uint64_t{1} << (row % 64);
        twice |= bits & bit;
        bits |= bit;
    }
    return twice == 0;
}

}  // namespace

std::size_t RowContent::at(const ArrayPieces::Placement& side, const Extent& extent, std::size_t piece) {
    if (!side.offsets.empty()) return side.offset + side.offsets[piece];
    return side.offset + piece / extent.rows * side.slice_pitch_bytes + piece % extent.rows * side.pitch_bytes;
}

Result<RowGeometry> RowGeometry::of(const RowCopy& copy, bool has_addresses) {
    const std::span<const ArrayView> to = copy.destination.arrays;
    const std::span<const ArrayView> from = copy.source.arrays;
    if (to.size() != from.size()) {
        return invalid("the destination has " + std::to_string(to.size()) + " layers and the source " +
                       std::to_string(from.size()) + "; expected as many arrays on both sides");
    }
    if (copy.destination.list.count() != copy.source.list.count()) {
        return invalid("the lists name " + std::to_string(copy.destination.list.count()) +
                       " rows of the destination and " + std::to_string(copy.source.list.count()) +
                       " of the source; expected as many on both sides");
    }
    RowGeometry geometry;
    geometry.layers.reserve(to.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
        const Name destination_name{"destination", i, to.size()};
        const Name source_name{"source", i, to.size()};
        ISTHMUS_TRY(check_array(to[i], destination_name));
        ISTHMUS_TRY(check_array(from[i], source_name));
        if (i == 0 || !alike(to[i], to[i - 1]) || !alike(from[i], from[i - 1])) {
            auto pieces = ArrayPieces::of(row_of(to[i]), row_of(from[i]));
            if (!pieces.ok()) {
                return pieces.take_status().in("rows of " +
                                               (to.size() == 1 ? "the arrays" : "layer " + std::to_string(i)));
            }
            ISTHMUS_TRY(pieces.value().write_offsets());
            const std::size_t bytes = pieces.value().extent.bytes();
            if (i == 0) geometry.row_bytes = bytes;
            if (bytes != geometry.row_bytes) {
                return invalid("rows of layer " + std::to_string(i) + " have " + std::to_string(bytes) +
                               " bytes, those of layer 0 have " + std::to_string(geometry.row_bytes) +
                               "; copy layers of one row size together, and others by themselves");
            }
            geometry.contents.push_back(
                {pieces.value().extent, std::move(pieces.value().destination), std::move(pieces.value().source)});
        }
        const RowContent& content = geometry.contents.back();
        ISTHMUS_TRY_ASSIGN(destination, place(to[i], content.destination, destination_name, has_addresses));
        ISTHMUS_TRY_ASSIGN(source, place(from[i], content.source, source_name, has_addresses));
        geometry.destination_rows = i == 0 ? destination.rows : std::min(geometry.destination_rows, destination.rows);
        geometry.source_rows = i == 0 ? source.rows : std::min(geometry.source_rows, source.rows);
        geometry.layers.push_back({destination, source, geometry.contents.size() - 1});
    }
    return geometry;
}

Status check_list(std::span<const std::int64_t> list, std::size_t rows, bool once, const char* side) {
    // Without a branch: a negative number is one that is too large.
    std::uint64_t largest = 0;
    for (const std::int64_t row : list) largest = std::max(largest, static_cast<std::uint64_t>(row));
    if (!list.empty() && largest >= rows) {
        const auto outside = std::find_if(list.begin(), list.end(),
                                          [&](std::int64_t row) { return static_cast<std::uint64_t>(row) >= rows; });
        return invalid("number " + std::to_string(outside - list.begin()) + " of the " + side + "'s rows is " +
                       std::to_string(*outside) + ", and the " + side + " has " + std::to_string(rows) +
                       " rows: expected at least 0 and less than that");
    }
    if (!once || is_unique(list, rows)) return {};
    const auto [first, second] = repeated(list);
    return invalid("numbers " + std::to_string(first) + " and " + std::to_string(second) + " of the " + side +
                   "'s rows are both " + std::to_string(list[first]) +
                   "; a row may be written to once in a copy: leave one of them out, on both sides");
}

}  // namespace isthmus
