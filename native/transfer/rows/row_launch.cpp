// A copy of rows by one kernel.
#include "transfer/rows/row_launch.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "base/pages.hpp"

namespace isthmus {
namespace {

// The table begins with the verdict, and its places are aligned to 32 bytes as they are long.
constexpr std::size_t places_at = 32;
static_assert(sizeof(RowsVerdict) <= places_at);

std::uint32_t unit_of(std::uint64_t bits) {
    if (bits % 16 == 0) return 16;
    return bits % 4 == 0 ? 4 : 1;
}

// Where kernels find row 0 of an array that is borrowed as a whole.
Result<std::uint64_t> borrow(Device& device, MemoryKind kind, std::uintptr_t for_kernels, const RowArray& array,
                             std::size_t row_span, std::vector<std::unique_ptr<Allocation>>& memories) {
    const std::uintptr_t lowest = array.lowest();
    ISTHMUS_TRY_ASSIGN(memory, device.borrow(kind, lowest, array.span_bytes(row_span), for_kernels));
    const std::uint64_t begin = memory->kernel_address() + (array.begin - lowest);
    memories.push_back(std::move(memory));
    return begin;
}

void write_list(std::byte* to, const RowList& list) {
    auto* const numbers = reinterpret_cast<std::uint32_t*>(to);
    for (std::size_t i = 0; i < list.rows.size(); ++i) numbers[i] = static_cast<std::uint32_t>(list.rows[i]);
}

std::string place_of(std::uint32_t place, const char* side) {
    return "number " + std::to_string(place) + " of the " + side + "'s rows, which are listed on the device, ";
}

Status outside(std::uint32_t place, const char* side, std::size_t rows) {
    return invalid(place_of(place, side) + "is negative, or too large: the " + side + " has " + std::to_string(rows) +
                   " rows; nothing was copied");
}

}  // namespace

Result<std::shared_ptr<RowLaunch>> RowLaunch::create(Device& device, RingPool& pool, const RowGeometry& geometry,
                                                     const std::vector<Ends>& ends, const RowList& destination_rows,
                                                     const RowList& source_rows, const RowOverlaps& overlaps,
                                                     const KernelBlocks& blocks) {
    const std::size_t layers = geometry.layers.size();
    const RowsExtent extent{layers, destination_rows.count(), geometry.row_bytes};
    const std::size_t list_bytes = extent.rows * sizeof(std::uint32_t);
    const std::size_t lists_at = places_at + layers * sizeof(RowPlaces);
    const std::size_t seen_at = lists_at + 2 * list_bytes;
    const std::size_t seen_bytes =
        destination_rows.on_device ? (geometry.destination_rows / 32 + 1) * sizeof(std::uint32_t) : 0;
    const std::size_t table_bytes = in_pages(seen_at + seen_bytes);

    std::vector<std::unique_ptr<Allocation>> memories;
    memories.reserve(2 * layers);
    std::vector<RowPlaces> places(layers);
    std::uint64_t bits = geometry.row_bytes;
    for (std::size_t i = 0; i < layers; ++i) {
        const RowLayer& layer = geometry.layers[i];
        const RowContent& content = geometry.content(layer);
        ISTHMUS_TRY_ASSIGN(destination, borrow(device, ends[i].destination, ends[i].destination_for_kernels,
                                               layer.destination, content.destination.span_bytes, memories));
        ISTHMUS_TRY_ASSIGN(source, borrow(device, ends[i].source, ends[i].source_for_kernels, layer.source,
                                          content.source.span_bytes, memories));
        places[i] = {destination, static_cast<std::uint64_t>(layer.destination.pitch_bytes), source,
                     static_cast<std::uint64_t>(layer.source.pitch_bytes)};
        bits |= places[i].destination | places[i].destination_pitch | places[i].source | places[i].source_pitch;
    }
    ISTHMUS_TRY_ASSIGN(loan, pool.borrow(table_bytes, table_bytes, true));
    const std::uint32_t unit_bytes = unit_of(bits);
    const std::uint32_t most_blocks =
        blocks.of(is_on_device(ends.front().source), is_on_device(ends.front().destination), unit_bytes);
    auto launch = std::make_shared<RowLaunch>(device, std::move(loan), extent, unit_bytes, most_blocks);
    launch->memories_ = std::move(memories);
    launch->sent_bytes_ = seen_at;
    launch->seen_at_ = seen_at;
    launch->seen_bytes_ = seen_bytes;
    launch->destination_rows_ = geometry.destination_rows;
    launch->source_rows_ = geometry.source_rows;

    std::byte* const table = launch->on_host(0, 0).host();
    const RowsVerdict clean;
    std::memcpy(table, &clean, sizeof clean);
    std::memcpy(table + places_at, places.data(), layers * sizeof(RowPlaces));
    write_list(table + lists_at, destination_rows);
    write_list(table + lists_at + list_bytes, source_rows);
    const bool same = overlaps.sides == RowOverlaps::Sides::same;
    for (const RowList* list : {&destination_rows, &source_rows}) {
        if (!list->on_device) continue;
        Check check;
        check.is_source = list == &source_rows;
        check.marks = check.is_source ? (same ? Marks::look : Marks::none) : Marks::set;
        check.rows = check.is_source ? geometry.source_rows : geometry.destination_rows;
        check.checked_at = lists_at + (check.is_source ? list_bytes : 0);
        ISTHMUS_TRY_ASSIGN(memory,
                           device.borrow(MemoryKind::device, list->on_device->address, list->on_device->span_bytes()));
        check.memory = std::move(memory);
        check.numbers = {{check.memory.get(), 0, list->on_device->span_bytes()},
                         list->on_device->count,
                         list->on_device->index_bytes,
                         list->on_device->stride_bytes};
        launch->checks_.push_back(std::move(check));
    }
    return launch;
}

Status RowLaunch::enqueue(Stream& stream) {
    ISTHMUS_TRY(device_.copy(stream, on_device(0, sent_bytes_), on_host(0, sent_bytes_)));
    const Region seen = seen_bytes_ == 0 ? Region() : on_device(seen_at_, seen_bytes_);
    if (seen_bytes_ != 0) ISTHMUS_TRY(device_.set_bytes(stream, seen, 0));
    const Region verdict = on_device(0, sizeof(RowsVerdict));
    for (const Check& check : checks_) {
        const std::size_t bytes = check.numbers.count * sizeof(std::uint32_t);
        ISTHMUS_TRY(check_rows(device_, stream, check.numbers, check.rows, check.marks == Marks::none ? Region() : seen,
                               check.marks, check.is_source, on_device(check.checked_at, bytes), verdict));
    }
    const Region table = on_device(places_at, sent_bytes_ - places_at);
    ISTHMUS_TRY(
        copy_rows(device_, stream, table, checks_.empty() ? Region() : verdict, extent_, unit_bytes_, most_blocks_));
    if (checks_.empty()) return {};
    return device_.copy(stream, on_host(0, sizeof(RowsVerdict)), verdict);
}

Status RowLaunch::verdict() const {
    if (checks_.empty()) return {};
    RowsVerdict verdict;
    std::memcpy(&verdict, on_host(0, sizeof verdict).host(), sizeof verdict);
    if (verdict.faults == 0) return {};
    if (verdict.destination.outside != RowsVerdict::none) {
        return outside(verdict.destination.outside, "destination", destination_rows_);
    }
    if (verdict.source.outside != RowsVerdict::none) return outside(verdict.source.outside, "source", source_rows_);
    if (verdict.destination.repeated != RowsVerdict::none) {
        return invalid(place_of(verdict.destination.repeated, "destination") +
                       "names a row that is there twice, and a row may be written to once in a "
                       "copy; nothing was copied");
    }
    return invalid(place_of(verdict.source.repeated, "source") +
                   "names a row that the same copy writes to; nothing was copied: copy it to "
                   "other memory first");
}

}  // namespace isthmus
