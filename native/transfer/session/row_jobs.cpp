// Rows that lists name as pieces of one size, as those of a batch: for every method but one kernel.
#include <algorithm>
#include <utility>

#include "backend/device.hpp"
#include "transfer/session/resolver.hpp"

namespace isthmus {
namespace {

// Where each piece begins is written down: so many take 2 GiB.
constexpr std::size_t most_pieces = std::size_t{1} << 28;

// One side of some of the layers.
struct RowsOfSide {
    std::span<const RowLayer> layers;
    RowArray RowLayer::*array;
    const ArrayPieces::Placement& row;
    const Extent& extent;  // of a row
    std::span<const std::int64_t> list;

    std::size_t pieces() const { return layers.size() * list.size() * extent.pieces(); }
    std::uintptr_t space() const { return (layers.front().*array).space; }
    std::uintptr_t lowest() const {
        std::uintptr_t lowest = UINTPTR_MAX;
        for (const RowLayer& layer : layers) lowest = std::min(lowest, (layer.*array).lowest());
        return lowest;
    }
    std::uintptr_t end() const {
        std::uintptr_t highest = 0;
        for (const RowLayer& layer : layers) {
            highest = std::max(highest, (layer.*array).lowest() + (layer.*array).span_bytes(row.span_bytes));
        }
        return highest;
    }
    // The bytes from one piece to the next, where it is always so many; 0 where it is not.
    std::size_t pitch_bytes() const {
        if (layers.size() > 1 || extent.pieces() > 1) return 0;
        if (list.size() == 1) return extent.width_bytes;
        const std::int64_t step = list[1] - list[0];
        const auto pitch = static_cast<std::ptrdiff_t>(step) * (layers.front().*array).pitch_bytes;
        if (pitch < static_cast<std::ptrdiff_t>(extent.width_bytes)) return 0;
        for (std::size_t i = 2; i < list.size(); ++i) {
            if (list[i] - list[i - 1] != step) return 0;
        }
        return static_cast<std::size_t>(pitch);
    }
    void write_offsets(std::vector<std::uint64_t>& offsets, std::uintptr_t from) const {
        offsets.resize(pieces());
        std::uint64_t* next = offsets.data();
        const std::size_t runs = extent.pieces();
        for (const RowLayer& layer : layers) {
            const RowArray& rows = layer.*array;
            const std::uintptr_t begin = rows.begin - from;
            const auto pitch = static_cast<std::uintptr_t>(rows.pitch_bytes);
            for (const std::int64_t index : list) {
                const std::uintptr_t at = begin + static_cast<std::uintptr_t>(index) * pitch;
                for (std::size_t run = 0; run < runs; ++run) *next++ = at + RowContent::at(row, extent, run);
            }
        }
    }
};

// Borrows the memory of one side, and says where its pieces lie there.
Result<Layout> lay_out(Device& device, MemoryKind kind, const RowsOfSide& side, std::unique_ptr<Allocation>& memory,
                       std::vector<std::uint64_t>& offsets) {
    const std::uintptr_t lowest = side.lowest();
    const bool by_handle = side.space() != 0;
    ISTHMUS_TRY_ASSIGN(
        borrowed, device.borrow(kind, by_handle ? side.space() : lowest, by_handle ? side.end() : side.end() - lowest));
    memory = std::move(borrowed);
    Layout layout{memory.get(), by_handle ? lowest : 0, side.pitch_bytes(), 0, {}};
    if (layout.pitch_bytes != 0) {
        layout.slice_pitch_bytes = side.list.size() * layout.pitch_bytes;
        layout.offset += (side.layers.front().*side.array).row(side.list.front()) - lowest;
        offsets.clear();
    } else {
        side.write_offsets(offsets, lowest);
        layout.offsets = offsets;
    }
    return layout;
}

}  // namespace

bool Resolver::go_together(const RowGeometry& geometry, const std::vector<Ends>& ends, std::size_t first,
                           std::size_t layer) const {
    const RowLayer& one = geometry.layers[first];
    const RowLayer& other = geometry.layers[layer];
    const Ends& of_one = ends[first];
    const Ends& of_other = ends[layer];
    if (one.content != other.content || one.destination.space != other.destination.space ||
        one.source.space != other.source.space || of_one.destination != of_other.destination ||
        of_one.source != of_other.source || of_one.partly_locked != of_other.partly_locked) {
        return false;
    }
    // Page-locked memory is borrowed as one block where all of it is one.
    const RowContent& content = geometry.content(one);
    const auto is_one_block = [&](MemoryKind kind, const RowArray& begins, const RowArray& ends_with,
                                  std::size_t row_span) {
        if (kind == MemoryKind::device || is_pageable(kind)) return true;
        auto known = device_.identify(begins.lowest());
        if (!known.ok()) return false;
        const std::uintptr_t lowest = ends_with.lowest();
        return known.value().begin <= lowest && lowest + ends_with.span_bytes(row_span) <= known.value().end;
    };
    return is_one_block(of_one.destination, one.destination, other.destination, content.destination.span_bytes) &&
           is_one_block(of_one.source, one.source, other.source, content.source.span_bytes);
}

Result<std::vector<std::shared_ptr<CopyJob>>> Resolver::jobs_of(const RowGeometry& geometry,
                                                                const std::vector<Ends>& ends,
                                                                std::span<const std::int64_t> destination_rows,
                                                                std::span<const std::int64_t> source_rows) {
    std::vector<std::shared_ptr<CopyJob>> jobs;
    const std::span<const RowLayer> layers = geometry.layers;
    for (std::size_t first = 0; first < layers.size();) {
        std::size_t end = first + 1;
        while (end < layers.size() && go_together(geometry, ends, first, end)) ++end;
        const RowContent& content = geometry.content(layers[first]);
        const std::span<const RowLayer> some = layers.subspan(first, end - first);
        const RowsOfSide to{some, &RowLayer::destination, content.destination, content.extent, destination_rows};
        const RowsOfSide from{some, &RowLayer::source, content.source, content.extent, source_rows};
        if (to.pieces() > most_pieces) {
            return unsupported(std::to_string(to.pieces()) +
                               " pieces lie apart; name fewer rows at once, or copy rows whose "
                               "elements follow one another");
        }
        auto job = std::make_shared<CopyJob>();
        job->ends = ends[first];
        job->extent = {content.extent.width_bytes, to.pieces(), 1};
        job->spare = spare_offsets_;
        job->destination_offsets = spare_offsets_->take();
        job->source_offsets = spare_offsets_->take();
        ISTHMUS_TRY_ASSIGN(destination, lay_out(device_, job->ends.destination, to, job->destination_memory,
                                                job->destination_offsets));
        ISTHMUS_TRY_ASSIGN(source, lay_out(device_, job->ends.source, from, job->source_memory, job->source_offsets));
        job->destination = destination;
        job->source = source;
        jobs.push_back(std::move(job));
        first = end;
    }
    return jobs;
}

}  // namespace isthmus
