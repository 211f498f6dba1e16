// Copies and fills that the program asks for: what they use is followed until it is waited for.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "interpose/foreign_process.hpp"
#include "races/calls.hpp"

namespace isthmus::races {
namespace {

using cuda::ReturnCode;

// Words of the host that a copy brings may be what it waits for by looking at them.
constexpr std::size_t longest_flag_bytes = 64;

enum class Memory { pageable, pinned, device, other };

// What the driver says that an address is of.
Memory memory_of(cuda::DevicePointer address) {
    using Ask = ReturnCode (*)(unsigned, int*, void**, cuda::DevicePointer);
    static const auto ask = drivers<Ask>("cuPointerGetAttributes");
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

// One side of a copy: where it has no rows, an array of the device, or nothing.
struct Side {
    Rows rows;
    Memory memory = Memory::device;

    // Pinned memory is followed as long as the block is known.
    void look() {
        if (rows.empty()) return;
        {
            const Locked state;
            if (state->copies.in_block(rows.range())) memory = Memory::pinned;
        }
        if (memory != Memory::pinned) memory = memory_of(rows.begin);
    }
};

struct Piece {
    Side to, from;
    std::uint64_t fill = 0;
    bool is_free = false;
    std::uint64_t work = 0;  // where it is followed
};

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
    static const auto ask = drivers<Ask>("cuMemGetAddressRange_v2");
    cuda::DevicePointer begin = 0;
    std::size_t bytes = 0;
    const InDriver inside;
    if (ask == nullptr || ask(&begin, &bytes, address) != cuda::success) return std::nullopt;
    return Piece{{one(begin, bytes)}, {}, 0, true};
}

// Not of the program's heap, so that what it finds in memory that it has not written stays as it was.
template <typename Value>
struct OfOwnPages {
    using value_type = Value;
    OfOwnPages() = default;
    template <typename Other>
    explicit OfOwnPages(const OfOwnPages<Other>& /*other*/) {}
    Value* allocate(std::size_t count) {
        void* const pages =
            mmap(nullptr, count * sizeof(Value), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        return static_cast<Value*>(pages);
    }
    void deallocate(Value* values, std::size_t count) { syscall(SYS_munmap, values, count * sizeof(Value)); }
    bool operator==(const OfOwnPages& /*other*/) const { return true; }
};
using Pieces = std::vector<Piece, OfOwnPages<Piece>>;

// What a batch copies, in order; nothing where its sources may be read out of order.
Pieces pieces_of_batch(const Words& words) {
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

// What any other call copies, fills or frees; none where that is not known.
std::optional<Piece> piece_of(const Called& called, const Words& words) {
    std::optional<Piece> piece;
    switch (called.effect) {
        case Effect::copy:
        case Effect::copy_to_device:
        case Effect::blocking_copy: piece = {{one(words[0], words[2])}, {one(words[1], words[2])}}; break;
        case Effect::copy_peer: piece = {{one(words[0], words[4])}, {one(words[2], words[4])}}; break;
        case Effect::copy_rows:
        case Effect::blocking_rows: piece = rows_of(read_at<cuda::Copy2d>(words[0])); break;
        case Effect::copy_box:
        case Effect::blocking_box: piece = rows_of(read_at<cuda::Copy3d>(words[0])); break;
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

bool is_blocking(Effect effect) {
    return effect >= Effect::blocking_copy && effect <= Effect::blocking_fill;
}

bool is_fill(Effect effect) {
    return effect == Effect::fill || effect == Effect::fill_rows || effect == Effect::blocking_fill;
}

// What is known of a call until the driver has it.
class Asked {
  public:
    Asked(const Called& called, const Words& words, std::uintptr_t stream)
        : effect_(called.effect), stream_(is_blocking(effect_) ? 0 : stream) {
        if (effect_ == Effect::copy_batch) {
            interpose::guarded([&] { batch_ = pieces_of_batch(words); });
            pieces_ = batch_;
        } else if (const auto piece = piece_of(called, words)) {
            piece_ = *piece;
            pieces_ = {&piece_, 1};
        }
        for (Piece& piece : pieces_) {
            piece.to.look();
            piece.from.look();
        }
        const bool may_wait =
            is_blocking(effect_) || pieces_.empty() ||
            std::any_of(pieces_.begin(), pieces_.end(), [this](const Piece& piece) { return !is_asynchronous(piece); });
        const Frames frames = look_here();
        const Locked state;
        line_ = state->order.arrive(stream_);
        if (may_wait) state->finish(state->order.clock(line_));
        if (state->captures != 0) return;
        site_ = state->site_of(frames);
        is_held_ = state->order.is_held(line_);
        for (Piece& piece : pieces_) begin(*state.operator->(), piece);
        before_ = state->order.clock(line_);
    }
    void end(ReturnCode code) const {
        const Locked state;
        for (const Piece& piece : pieces_) {
            if (piece.work != 0) end(*state.operator->(), piece, code);
        }
        const bool has_waited =
            std::any_of(pieces_.begin(), pieces_.end(), [this](const Piece& piece) { return waits_for(piece); });
        if (has_waited && code == cuda::success) state->finish(state->order.clock(line_));
        state->count_copy();
    }

  private:
    static bool is_protected(const Piece& piece) {
        const Memory to = piece.to.memory, from = piece.from.memory;
        return (to == Memory::pinned && from == Memory::device) || (to == Memory::device && from == Memory::pinned);
    }
    static bool is_of_device(const Piece& piece) {
        return piece.to.memory == Memory::device && piece.from.memory == Memory::device;
    }
    // Not behind what the program may know to be over when the call returns.
    bool is_asynchronous(const Piece& piece) const {
        const bool is_staged = piece.to.memory == Memory::device && piece.from.memory == Memory::pageable;
        return is_protected(piece) || is_of_device(piece) || (is_staged && effect_ == Effect::copy_to_device);
    }
    // As documented, a blocking copy of pageable memory to the device may return before its data have arrived, and one
    // within the device does.
    bool waits_for(const Piece& piece) const {
        const Memory to = piece.to.memory, from = piece.from.memory;
        const bool may_be_late = to == Memory::device && (from == Memory::device || from == Memory::pageable);
        return to == Memory::pageable || (is_blocking(effect_) && !may_be_late);
    }
    bool is_followed(const Piece& piece) const {
        const Memory to = piece.to.memory, from = piece.from.memory;
        return is_protected(piece) || is_of_device(piece) || (to == Memory::device && from == Memory::pageable) ||
               (to == Memory::pageable && from == Memory::device);
    }

    void begin(State& state, Piece& piece) {
        const bool is_into_host = piece.to.memory == Memory::pinned;
        if (is_fill(effect_) && piece.to.memory != Memory::device)
            return state.let_go("a fill of memory of the host may say to it how far it is");
        if (!is_followed(piece)) return;
        if (is_into_host && piece.to.rows.bytes * piece.to.rows.count <= longest_flag_bytes)
            return state.finish(state.order.clock(line_));
        piece.work = state.order.add_work(line_);
        if (is_protected(piece) && !is_blocking(effect_)) {
            Copy copy;
            copy.rows = is_into_host ? piece.to.rows : piece.from.rows;
            copy.bytes = copy.rows.range();
            copy.is_into_host = is_into_host;
            copy.line = line_;
            copy.stream = stream_;
            copy.work = piece.work;
            copy.thread = thread_;
            copy.site = site_;
            (void)state.copies.begin(copy);
        }
        if (is_held_) return;
        if (has_access(piece.to)) state.accesses.add(access(piece, piece.to));
        if (has_access(piece.from)) state.accesses.add(access(piece, piece.from));
    }
    void end(State& state, const Piece& piece, ReturnCode code) const {
        const bool is_kept = code == cuda::success && is_watching() && state.captures == 0;
        const Rows& host = piece.to.memory == Memory::pinned ? piece.to.rows : piece.from.rows;
        state.copies.end(piece.work, is_kept && !state.under_way.meets(Copies::pages_around(host.range())));
        if (!is_kept) return state.accesses.remove(piece.work);
        ++state.followed;
        if (is_held_) return;
        for (const Side* side : {&piece.to, &piece.from}) {
            if (!has_access(*side)) continue;
            const Access asked = access(piece, *side);
            state.accesses.check(asked, before_, [&](const Access& earlier) { state.note(earlier, asked); });
        }
    }
    static bool has_access(const Side& side) {
        return !side.rows.empty() && (side.memory == Memory::pinned || side.memory == Memory::device);
    }
    Access access(const Piece& piece, const Side& side) const {
        return {side.rows, &side == &piece.to, piece.is_free, piece.fill, line_, piece.work, stream_, site_, thread_};
    }

    static Frames look_here() {
        Places* places = nullptr;
        {
            const Locked state;
            places = &state->places;
        }
        const char* why = nullptr;
        interpose::guarded([&] { why = places->look_around(); });
        if (why != nullptr) {
            const Locked state;
            state->protect_none(why);
        }
        return places->here();
    }

    const Effect effect_;
    const std::uintptr_t stream_;
    const std::uint32_t thread_ = static_cast<std::uint32_t>(syscall(SYS_gettid));
    Piece piece_;
    Pieces batch_;
    std::span<Piece> pieces_;
    Line line_ = default_line;
    std::uint32_t site_ = 0;
    bool is_held_ = false;
    Clock before_;
};

}  // namespace

bool is_copy(Effect effect) {
    return effect >= Effect::copy && effect <= Effect::blocking_fill;
}

ReturnCode pass_copy(const Called& called, const Words& words, std::uintptr_t stream,
                     ReturnCode (*pass)(const Called&, const Words&)) {
    const Asked asked(called, words, stream);
    const ReturnCode code = pass(called, words);
    asked.end(code);
    return code;
}

}  // namespace isthmus::races
