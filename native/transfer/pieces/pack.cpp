// Packs pieces of host memory side by side, and puts them back.
#include "transfer/pieces/pack.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/region.hpp"
#include "base/cache.hpp"
#include "base/cache_copies.hpp"
#include "base/pages.hpp"

namespace isthmus {
namespace {

// No prefetcher of the CPU foresees where the next piece is. Asking some pieces ahead for the first lines of one
// keeps about as many loads in flight as a core can have: of long ones more lines, by which prefetchers find the
// others.
constexpr std::size_t small_pieces_ahead = 8;
constexpr std::size_t pieces_ahead = 4;
constexpr std::size_t most_bytes_ahead = 16 * cache_line;

void prefetch(const std::byte* piece, std::size_t bytes) {
    for (std::size_t at = 0; at < std::min(bytes, most_bytes_ahead); at += cache_line) __builtin_prefetch(piece + at);
}

// Calls `move(piece in memory, bytes, place among the packed bytes)` for all that is in [begin, end).
template <typename Move>
void for_each_piece(const Layout& layout, const Extent& extent, std::size_t begin, std::size_t end, Move move) {
    std::byte* const memory = layout.allocation->host();
    const std::size_t width = extent.width_bytes;
    const std::size_t pieces = extent.pieces();
    std::size_t within = begin % width;
    std::size_t piece = begin / width;
    for (std::size_t at = begin; at < end; ++piece) {
        if (piece + pieces_ahead < pieces) prefetch(memory + layout.at(piece + pieces_ahead, extent), width);
        const std::size_t bytes = std::min(width - within, end - at);
        move(memory + layout.at(piece, extent) + within, bytes, at - begin);
        at += bytes;
        within = 0;
    }
}

// For whole pieces of a width that the compiler knows, which saves calling memcpy for a few bytes.
template <std::size_t width, typename Move>
void for_each_small(const Layout& layout, const Extent& extent, std::size_t begin, std::size_t end, Move move) {
    std::byte* const memory = layout.allocation->host() + layout.offset;
    const std::size_t first = begin / width;
    const std::size_t count = (end - begin) / width;
    const std::size_t last = extent.pieces() - 1;
    std::size_t row = first % extent.rows;
    std::size_t slice = first / extent.rows;
    for (std::size_t i = 0; i < count; ++i) {
        std::byte* piece = nullptr;
        if (layout.is_scattered()) {
            __builtin_prefetch(memory + layout.offsets[std::min(first + i + small_pieces_ahead, last)]);
            piece = memory + layout.offsets[first + i];
        } else {
            piece = memory + slice * layout.slice_pitch_bytes + row * layout.pitch_bytes;
            __builtin_prefetch(row + small_pieces_ahead < extent.rows ? piece + small_pieces_ahead * layout.pitch_bytes
                                                                      : piece);
            if (++row == extent.rows) {
                row = 0;
                ++slice;
            }
        }
        move(piece, std::integral_constant<std::size_t, width>(), i * width);
    }
}

template <typename Move>
void move_bytes(const Layout& layout, const Extent& extent, std::size_t begin, std::size_t end, Move move) {
    if (layout.is_contiguous(extent)) {
        move(layout.allocation->host() + layout.offset + begin, end - begin, std::size_t{0});
        return;
    }
    const bool whole_pieces = begin % extent.width_bytes == 0 && end % extent.width_bytes == 0;
    switch (whole_pieces ? extent.width_bytes : 0) {
        case 1: return for_each_small<1>(layout, extent, begin, end, move);
        case 2: return for_each_small<2>(layout, extent, begin, end, move);
        case 4: return for_each_small<4>(layout, extent, begin, end, move);
        case 8: return for_each_small<8>(layout, extent, begin, end, move);
        case 16: return for_each_small<16>(layout, extent, begin, end, move);
        case 32: return for_each_small<32>(layout, extent, begin, end, move);
        default: return for_each_piece(layout, extent, begin, end, move);
    }
}

// Whether `may` holds for the memory of all pieces in [begin, end): ranges that begin in the page in which the one
// before ends are one.
template <typename May>
bool may_all(const Layout& layout, const Extent& extent, std::size_t begin, std::size_t end, const May& may) {
    std::byte* const memory = layout.allocation->host();
    if (begin == end || !layout.steps.empty()) return true;
    if (layout.is_contiguous(extent)) return may(memory + layout.offset + begin, end - begin);
    const std::size_t width = extent.width_bytes;
    std::size_t first = 0;
    std::size_t last = 0;  // of a range; empty at first
    for (std::size_t at = begin; at < end;) {
        const std::size_t within = at % width;
        const std::size_t bytes = std::min(width - within, end - at);
        const std::size_t place = layout.at(at / width, extent) + within;
        const bool goes_on = last != first && place >= first && place / least_page <= (last - 1) / least_page + 1;
        if (last != first && !goes_on) {
            if (!may(memory + first, last - first)) return false;
            last = first;
        }
        if (last == first) first = last = place;
        last = std::max(last, place + bytes);
        at += bytes;
    }
    return may(memory + first, last - first);
}

// Less than a line at a time would be written past the caches, or demoted, in parts.
bool has_whole_lines(const Layout& layout, const Extent& extent) {
    return extent.width_bytes >= cache_line || layout.is_contiguous(extent);
}

}  // namespace

void pack(std::byte* to, const Layout& from, const Extent& extent, std::size_t begin, std::size_t end, Stores stores) {
    if (stores == Stores::demoted && !can_demote()) stores = Stores::streaming;
    if (!from.steps.empty()) {
        write_out(to, from, extent, begin, end, stores);
        return;
    }
    const bool whole_lines = has_whole_lines(from, extent);
    if (stores == Stores::streaming && whole_lines) {
        move_bytes(from, extent, begin, end,
                   [to](const std::byte* piece, auto bytes, std::size_t at) { copy_streaming(to + at, piece, bytes); });
        end_streaming();
        return;
    }
    if (stores == Stores::demoted && whole_lines) {
        move_bytes(from, extent, begin, end,
                   [to](const std::byte* piece, auto bytes, std::size_t at) { copy_demoting(to + at, piece, bytes); });
        return;
    }
    move_bytes(from, extent, begin, end,
               [to](const std::byte* piece, auto bytes, std::size_t at) { std::memcpy(to + at, piece, bytes); });
    if (stores == Stores::demoted) demote(to, end - begin);
}

void unpack(const Layout& to, const std::byte* from, const Extent& extent, std::size_t begin, std::size_t end,
            Stores stores) {
    if (stores == Stores::streaming && has_whole_lines(to, extent)) {
        move_bytes(to, extent, begin, end,
                   [from](std::byte* piece, auto bytes, std::size_t at) { copy_streaming(piece, from + at, bytes); });
        end_streaming();
        return;
    }
    move_bytes(to, extent, begin, end,
               [from](std::byte* piece, auto bytes, std::size_t at) { std::memcpy(piece, from + at, bytes); });
}

Mappings::Answer may_access(Access access, const Layout& layout, const Extent& extent) {
    Mappings mappings;
    auto answer = Mappings::Answer::yes;
    may_all(layout, extent, 0, extent.bytes(), [&](const std::byte* data, std::size_t bytes) {
        answer = mappings.may(access, data, bytes);
        return answer == Mappings::Answer::yes;
    });
    return answer;
}

bool make_accessible(Access access, const Layout& layout, const Extent& extent, std::size_t begin, std::size_t end) {
    return may_all(layout, extent, begin, end, [access](const std::byte* data, std::size_t bytes) {
        return isthmus::make_accessible(access, data, bytes);
    });
}

Status no_access(Access access) {
    return {Code::call_failed, access == Access::read ? "not all of the host's memory can be read"
                                                      : "not all of the host's memory can be written"};
}

}  // namespace isthmus
