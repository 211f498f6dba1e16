// Copies and fills that the program asks for: what they use is followed until it is waited for.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "interpose/foreign_process.hpp"
#include "races/pieces.hpp"

namespace isthmus::races {
namespace {

using cuda::ReturnCode;

// Words of the host that a copy brings may be what it waits for by looking at them.
constexpr std::size_t longest_flag_bytes = 64;

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
        {
            const Locked state;
            for (Piece& piece : pieces_) {
                for (Side* side : {&piece.to, &piece.from}) side->is_known = state->copies.in_block(side->rows.range());
            }
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
        if (state->captures != 0) {
            note_captured(*state.operator->());
            return;
        }
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

    // Into a graph, or next to one that another thread captures: it may say to the host how far it is.
    void note_captured(State& state) {
        if (pieces_.empty()) state.graphs_signal = true;
        for (const Piece& piece : pieces_) {
            if (piece.to.memory == Memory::device) continue;
            state.graphs_signal = true;
            let_flags_go(state, piece);
        }
    }
    // Whether what it writes may be a flag, by which the host knows what came before it.
    bool let_flags_go(State& state, const Piece& piece) const {
        if (is_fill(effect_) && piece.to.memory != Memory::device) {
            state.let_go("a fill of memory of the host may say to it how far it is", state.order.clock(line_));
            return true;
        }
        const bool is_short = piece.to.rows.bytes * piece.to.rows.count <= longest_flag_bytes;
        const bool is_seen =
            piece.to.memory == Memory::pinned || (piece.to.memory == Memory::device && state.maps_device);
        if (!is_seen || !is_short) return false;
        state.finish(state.order.clock(line_));
        return true;
    }

    void begin(State& state, Piece& piece) {
        const bool is_into_host = piece.to.memory == Memory::pinned;
        if (!is_followed(piece) && !is_fill(effect_)) return;
        if (let_flags_go(state, piece) || !is_followed(piece)) return;
        piece.work = state.order.add_work(line_);
        if (is_protected(piece) && !is_blocking(effect_)) {
            (void)state.copies.begin(access(piece, is_into_host ? piece.to : piece.from));
        }
        if (is_held_) return;
        if (has_access(piece.to)) state.accesses.add(access(piece, piece.to));
        if (has_access(piece.from)) state.accesses.add(access(piece, piece.from));
    }
    void end(State& state, const Piece& piece, ReturnCode code) const {
        const bool is_kept = code == cuda::success && is_watching() && state.captures == 0;
        state.copies.end(piece.work, is_kept);
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
        const char* why = nullptr;
        interpose::guarded([&] { why = places().look_around(); });
        if (why != nullptr) {
            const Locked state;
            state->protect_none(why);
        }
        return places().here();
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
