// Makes of a copy of rows one kernel, where that is how to move them, or pieces as those of a batch.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "transfer/copy/batch_checks.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/rows/row_launch.hpp"
#include "transfer/rows/row_overlaps.hpp"
#include "transfer/session/resolver.hpp"

namespace isthmus {
namespace {

constexpr std::size_t most_rows_for_kernels = std::size_t{1} << 32;

// Where each layer is. All go in one direction.
Result<std::vector<Ends>> ends_of(Device& device, const RowCopy& copy, const RowGeometry& geometry) {
    std::vector<Ends> ends;
    ends.reserve(geometry.layers.size());
    LastKnown last;
    for (std::size_t i = 0; i < geometry.layers.size(); ++i) {
        const RowLayer& layer = geometry.layers[i];
        const RowContent& content = geometry.content(layer);
        const auto end = [](const RowArray& array, const ArrayView& view, std::size_t row_span) {
            return End{array.space != 0 ? array.space : array.lowest(), view.side, array.span_bytes(row_span)};
        };
        auto resolved =
            isthmus::ends_of(device, end(layer.destination, copy.destination.arrays[i], content.destination.span_bytes),
                             end(layer.source, copy.source.arrays[i], content.source.span_bytes), true, &last);
        if (!resolved.ok()) {
            Status status = resolved.take_status();
            return geometry.layers.size() == 1 ? std::move(status) : std::move(status).in("layer " + std::to_string(i));
        }
        if (i > 0 && resolved.value().route != ends.front().route) {
            return invalid("layer " + std::to_string(i) + " goes " + name_of(resolved.value().route) +
                           ", and layer 0 " + name_of(ends.front().route) + "; all layers of a copy go one way");
        }
        ends.push_back(resolved.value());
    }
    return ends;
}

// Fails with invalid_argument unless the list is in the device's memory.
Status check_place(Device& device, const RowListOnDevice& list, const char* side) {
    if (!has_addresses(device)) return {};
    const std::string name = std::string("list of the ") + side + "'s rows";
    ISTHMUS_TRY_ASSIGN(known, device.identify(list.address));
    const bool is_there = (known.kind == MemoryKind::device || known.kind == MemoryKind::managed) &&
                          (known.device == device.info().index || known.kind == MemoryKind::managed);
    if (is_there) return check_span(device, known, {list.address, Side::device, list.span_bytes()}, name);
    return invalid("the " + name + " was said to be on the device, and is no memory of " + name_of(device) +
                   "; pass one on the host, or on that device");
}

std::vector<std::int64_t> numbers_of(const std::byte* from, const RowListOnDevice& list) {
    std::vector<std::int64_t> numbers(list.count);
    for (std::size_t i = 0; i < list.count; ++i, from += list.stride_bytes) {
        if (list.index_bytes == sizeof(std::int64_t)) {
            std::memcpy(&numbers[i], from, sizeof(std::int64_t));
        } else {
            std::int32_t narrow = 0;
            std::memcpy(&narrow, from, sizeof narrow);
            numbers[i] = narrow;
        }
    }
    return numbers;
}

bool are_consecutive(std::span<const std::int64_t> rows) {
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i] != rows[i - 1] + 1) return false;
    }
    return true;
}

// Rows that follow one another on both sides, in every layer, are one long row.
bool are_one(const RowGeometry& geometry, std::span<const std::int64_t> destination_rows,
             std::span<const std::int64_t> source_rows) {
    const auto pitch = static_cast<std::ptrdiff_t>(geometry.row_bytes);
    return destination_rows.size() > 1 && are_consecutive(destination_rows) && are_consecutive(source_rows) &&
           std::ranges::all_of(geometry.layers, [&](const RowLayer& layer) {
               return geometry.content(layer).is_whole() && layer.destination.pitch_bytes == pitch &&
                      layer.source.pitch_bytes == pitch;
           });
}

void join_rows(RowGeometry& geometry, std::vector<std::int64_t>& destination_rows,
               std::vector<std::int64_t>& source_rows) {
    for (RowLayer& layer : geometry.layers) {
        layer.destination = {layer.destination.space, layer.destination.row(destination_rows.front()), 0, 1};
        layer.source = {layer.source.space, layer.source.row(source_rows.front()), 0, 1};
    }
    geometry.row_bytes *= destination_rows.size();
    for (RowContent& content : geometry.contents) {
        content.extent = {geometry.row_bytes, 1, 1};
        content.destination.span_bytes = content.source.span_bytes = geometry.row_bytes;
    }
    destination_rows = {0};
    source_rows = {0};
    geometry.destination_rows = geometry.source_rows = 1;
}

}  // namespace

Result<std::vector<std::int64_t>> Resolver::fetch(const RowListOnDevice& list, const Order& order) {
    const std::size_t bytes = list.span_bytes();
    std::vector<std::byte> raw(bytes);
    ISTHMUS_TRY_ASSIGN(from, device_.borrow(MemoryKind::device, list.address, list.offset_bytes + bytes));
    ISTHMUS_TRY_ASSIGN(to,
                       device_.borrow(MemoryKind::pageable, reinterpret_cast<std::uintptr_t>(raw.data()), raw.size()));
    std::optional<StreamPool::Loan> loan;
    Stream* stream = order.stream;
    if (stream == nullptr) {
        ISTHMUS_TRY_ASSIGN(borrowed, streams_.borrow());
        loan.emplace(std::move(borrowed));
        stream = &loan->stream();
    }
    ISTHMUS_TRY(
        synchronized(device_.copy(*stream, {to.get(), 0, bytes}, {from.get(), list.offset_bytes, bytes}), *stream));
    return numbers_of(raw.data(), list);
}

bool Resolver::can_launch(const RowGeometry& geometry, const std::vector<Ends>& ends, std::size_t count) {
    if (!has_addresses_ || geometry.destination_rows > most_rows_for_kernels ||
        geometry.source_rows > most_rows_for_kernels || count > most_rows_for_kernels - 1) {
        return false;
    }
    if (!std::ranges::all_of(geometry.contents, &RowContent::is_whole)) return false;
    const Route route = ends.front().route;
    if (route == Route::h2h || count * ends.size() == 1) return false;
    if (route == Route::d2d) return true;
    const bool reached = std::ranges::all_of(ends, [&](const Ends& one) {
        return !one.partly_locked && !is_pageable(one.host_kind()) && device_.kernels_reach(one.host_kind());
    });
    if (!reached || are_long_pieces(geometry.row_bytes)) return false;
    PieceRule asked;
    asked.to_device = route == Route::h2d;
    asked.pageable = false;
    asked.apart_on_host = asked.apart_on_device = asked.scattered = true;
    asked.width_bytes = geometry.row_bytes;
    asked.pieces = count * ends.size();
    return chooser_.choose_pieces(asked, ends.front()).method == PieceMethod::kernel;
}

Result<Resolver::RowTasks> Resolver::resolve(const RowCopy& copy, const Order& order, bool to_explain) {
    RowTasks tasks;
    ISTHMUS_TRY_ASSIGN(geometry, RowGeometry::of(copy, has_addresses_));
    const std::size_t count = copy.destination.list.count();
    if (count == 0 || geometry.layers.empty()) return tasks;
    RowList destination_rows = copy.destination.list;
    RowList source_rows = copy.source.list;
    // Rows without a byte are there or not, too.
    for (const RowList* list : {&destination_rows, &source_rows}) {
        const bool is_source = list == &source_rows;
        const char* const side = is_source ? "source" : "destination";
        const std::size_t rows = is_source ? geometry.source_rows : geometry.destination_rows;
        if (!list->on_device) ISTHMUS_TRY(check_list(list->rows, rows, !is_source, side));
        if (list->on_device) ISTHMUS_TRY(check_place(device_, *list->on_device, side));
    }
    if (geometry.row_bytes == 0 || geometry.destination_rows == 0 || geometry.source_rows == 0) {
        if (!destination_rows.on_device && !source_rows.on_device) return tasks;
        return invalid("the arrays have no rows, or rows without bytes, and the lists on the device name some");
    }
    ISTHMUS_TRY_ASSIGN(ends, ends_of(device_, copy, geometry));
    const Route route = ends.front().route;
    const RowOverlaps overlaps = overlaps_of(geometry, route == Route::d2d || route == Route::h2h);
    using Met = RowOverlaps::Sides;
    const bool one_listed = destination_rows.on_device.has_value() != source_rows.on_device.has_value();
    const bool checked_by_kernels = overlaps.destinations_are_apart && overlaps.sides != Met::unknown &&
                                    !(overlaps.sides == Met::same && one_listed);
    bool launches = !to_explain && can_launch(geometry, ends, count);
    // What kernels read is aligned.
    const auto aligned = [](const RowList& list) {
        return !list.on_device ||
               (list.on_device->address | list.on_device->stride_bytes) % list.on_device->index_bytes == 0;
    };
    std::vector<std::int64_t> own_destination_rows;
    std::vector<std::int64_t> own_source_rows;
    const auto fetch_lists = [&]() -> Status {
        for (const bool is_source : {false, true}) {
            RowList& list = is_source ? source_rows : destination_rows;
            if (!list.on_device) continue;
            std::vector<std::int64_t>& own = is_source ? own_source_rows : own_destination_rows;
            ISTHMUS_TRY(assign(own, fetch(*list.on_device, order)));
            list = {own, std::nullopt};
            ISTHMUS_TRY(check_list(own, is_source ? geometry.source_rows : geometry.destination_rows, !is_source,
                                   is_source ? "source" : "destination"));
        }
        return {};
    };
    if (!launches || !checked_by_kernels || !aligned(destination_rows) || !aligned(source_rows)) {
        ISTHMUS_TRY(fetch_lists());
    }
    const bool listed_on_host = !destination_rows.on_device && !source_rows.on_device;
    if (listed_on_host) {
        ISTHMUS_TRY(check_apart(geometry, overlaps, destination_rows.rows, source_rows.rows));
        if (are_one(geometry, destination_rows.rows, source_rows.rows)) {
            own_destination_rows.assign(destination_rows.rows.begin(), destination_rows.rows.end());
            own_source_rows.assign(source_rows.rows.begin(), source_rows.rows.end());
            join_rows(geometry, own_destination_rows, own_source_rows);
            destination_rows = {own_destination_rows, std::nullopt};
            source_rows = {own_source_rows, std::nullopt};
            launches = launches && can_launch(geometry, ends, 1);
            // Lowest bytes are others now.
            for (Ends& one : ends) one.destination_for_kernels = one.source_for_kernels = 0;
        }
    }
    if (launches) {
        auto launch = RowLaunch::create(device_, *rings_[route == Route::d2h ? 1 : 0], geometry, ends, destination_rows,
                                        source_rows, overlaps, route == Route::d2d ? blocks_.within_device() : blocks_);
        if (launch.ok()) {
            tasks.launch = std::move(launch.value());
            tasks.route = route;
            return tasks;
        }
        if (Status why = launch.take_status(); why.code() != Code::out_of_memory) return why;
        ISTHMUS_TRY(fetch_lists());
        if (!listed_on_host) ISTHMUS_TRY(check_apart(geometry, overlaps, destination_rows.rows, source_rows.rows));
    }
    tasks.route = route;
    ISTHMUS_TRY(assign(tasks.jobs, jobs_of(geometry, ends, destination_rows.rows, source_rows.rows)));
    return tasks;
}

}  // namespace isthmus
