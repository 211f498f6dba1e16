// What a call copies, fills or frees.
#include "races/pieces.hpp"

#include <array>
#include <cstring>
#include <type_traits>

namespace isthmus::races {
namespace {

using cuda::ReturnCode;

// What the driver says that an address is of.
Memory memory_of(cuda::DevicePointer address) {
    using Ask = ReturnCode (*)(unsigned, int*, void**, cuda::DevicePointer);
    const auto ask = drivers<Ask>(Own::pointer_attributes);
    if (ask == nullptr || address == 0) return Memory::other;
    std::array attributes{cuda::pointer_attribute_memory_type, cuda::pointer_attribute_is_managed};
    unsigned kind = 0;
    unsigned is_managed = 0;  // a word, of which some drivers may write the first byte alone
    std::array<void*, 2> answers{&kind, &is_managed};
    const InDriver inside;
    const ReturnCode code = ask(attributes.size(), attributes.data(), answers.data(), address);
    if (code != cuda::success || is_managed != 0) return Memory::other;
    if (kind == 0) return Memory::pageable;
    return kind == cuda::memory_type_device ? Memory::device : Memory::other;
}

Rows one(std::uintptr_t begin, std::size_t bytes) {
    return {begin, bytes, 1, bytes};
}

// The driver's CU_MEMORYTYPE, and CU_MEMCPY_SRC_ACCESS_ORDER_STREAM.
constexpr int type_host = 1, type_array = 3, order_of_stream = 1;

struct Box {
    std::size_t width, rows, depth;
};
// One side of a copy of rows, of which `first` bytes come before it. None where slices are parted by more than a pitch.
std::optional<Side> side_of(int type, const void* host, cuda::DevicePointer device, std::size_t first,
                            std::size_t pitch, std::size_t rows_of_slice, const Box& box) {
    if (type == type_array) return Side{};
    if (box.depth > 1 && rows_of_slice != box.rows) return std::nullopt;
    const std::size_t rows = box.rows * box.depth;
    if (rows > 1 && pitch < box.width) return std::nullopt;
    const std::uintptr_t begin = type == type_host ? reinterpret_cast<std::uintptr_t>(host) : device;
    return Side{{begin + first, box.width, rows, rows > 1 ? pitch : box.width}};
}

template <typename Given>
std::optional<Piece> rows_of(const Given& copy) {
    Box box{copy.width_bytes, copy.height, 1};
    std::size_t to_row = copy.destination_y, from_row = copy.source_y, to_rows = box.rows, from_rows = box.rows;
    if constexpr (std::is_same_v<Given, cuda::Copy3d>) {
        box.depth = copy.depth;
        to_row += copy.destination_z * (to_rows = copy.destination_height);
        from_row += copy.source_z * (from_rows = copy.source_height);
    }
    const std::size_t to_pitch = copy.destination_pitch_bytes, from_pitch = copy.source_pitch_bytes;
    const auto to = side_of(copy.destination_type, copy.destination_host, copy.destination_device,
                            to_row * to_pitch + copy.destination_x_bytes, to_pitch, to_rows, box);
    const auto from = side_of(copy.source_type, copy.source_host, copy.source_device,
                              from_row * from_pitch + copy.source_x_bytes, from_pitch, from_rows, box);
    if (!to || !from) return std::nullopt;
    return Piece{*to, *from};
}

// Fills of 1, 2 and 4 bytes a value, which the function's name says.
struct Filled {
    std::size_t bytes;
    std::uint64_t number;
};
Filled filled(const Called& called, std::uintptr_t value) {
    if (std::strstr(called.name, "D8") != nullptr) return {1, 1 + (value & 0xFFU) * 0x01010101U};
    if (std::strstr(called.name, "D16") != nullptr) return {2, 1 + (value & 0xFFFFU) * 0x00010001U};
    return {4, 1 + (value & 0xFFFFFFFFU)};
}

std::optional<Piece> freed(std::uintptr_t address) {
    using Ask = ReturnCode (*)(cuda::DevicePointer*, std::size_t*, cuda::DevicePointer);
    const auto ask = drivers<Ask>(Own::address_range);
    cuda::DevicePointer begin = 0;
    std::size_t bytes = 0;
    const InDriver inside;
    if (ask == nullptr || ask(&begin, &bytes, address) != cuda::success) return std::nullopt;
    return Piece{{one(begin, bytes)}, {}, 0, true};
}

}  // namespace

void Side::look() {
    if (!rows.empty()) memory = is_known ? Memory::pinned : memory_of(rows.begin);
}

Pieces pieces_of_batch(const Words& words) {
    // What the driver refuses.
    const bool has_orders = words[4] != 0 || words[6] == 0;
    if (words[0] == 0 || words[1] == 0 || words[2] == 0 || !has_orders) return {};
    for (std::size_t i = 0; i < words[6]; ++i) {
        const auto order = read_at<cuda::CopyAttributes>(words[4] + i * sizeof(cuda::CopyAttributes));
        if (order.source_access_order != order_of_stream) return {};
    }
    constexpr std::size_t word = sizeof(std::uintptr_t);
    Pieces pieces(words[3]);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto bytes = read_at<std::size_t>(words[2] + i * word);
        pieces[i].to.rows = one(read_at<std::uintptr_t>(words[0] + i * word), bytes);
        pieces[i].from.rows = one(read_at<std::uintptr_t>(words[1] + i * word), bytes);
    }
    return pieces;
}

std::optional<Piece> piece_of(const Called& called, const Words& words) {
    std::optional<Piece> piece;
    switch (called.effect) {
        case Effect::copy:
        case Effect::copy_to_device:
        case Effect::blocking_copy: piece = {{one(words[0], words[2])}, {one(words[1], words[2])}}; break;
        case Effect::copy_peer: piece = {{one(words[0], words[4])}, {one(words[2], words[4])}}; break;
        case Effect::copy_rows:
        case Effect::blocking_rows:
            if (words[0] != 0) piece = rows_of(read_at<cuda::Copy2d>(words[0]));
            break;
        case Effect::copy_box:
        case Effect::blocking_box:
            if (words[0] != 0) piece = rows_of(read_at<cuda::Copy3d>(words[0]));
            break;
        case Effect::fill:
        case Effect::blocking_fill: {
            const Filled fill = filled(called, words[1]);
            piece = {{one(words[0], words[2] * fill.bytes)}, {}, fill.number};
            break;
        }
        case Effect::fill_rows: {
            const Filled fill = filled(called, words[2]);
            if (words[4] > 1 && words[1] < words[3] * fill.bytes) break;
            piece = {{{words[0], words[3] * fill.bytes, words[4], words[1]}}, {}, fill.number};
            break;
        }
        case Effect::free_later: piece = freed(words[0]); break;
        default: break;
    }
    if (piece && piece->to.rows.empty() && piece->from.rows.empty()) piece.reset();
    return piece;
}

}  // namespace isthmus::races
