// Random copies, right ones and wrong ones, between the two sides of a lane.
#pragma once

#include <algorithm>

#include "dice.hpp"
#include "program.hpp"

// What is left out, since a driver is known to differ from real ones, or the library from the driver: each by a name
// that `--without` takes.
struct LeftOut {
    bool positions = false;          // rows that do not begin where their address points to
    bool captures = false;           // graphs
    bool gates = false;              // streams that wait
    bool mistakes = false;           // copies that the driver refuses
    bool batches = false;            // under closed gates
    bool blocking_captures = false;  // of streams that wait for the default one
    bool thread_variants = false;    // of functions other than copies in one piece
    bool rows_behind_gates = false;  // rows while a gate is closed
    bool partly_locked = false;      // copies of which a part alone is page-locked
    bool jumps = false;              // out of memcpy
    bool cancellation = false;       // in the midst of memcpy
    bool is_fake = false;
};

class Shapes {
  public:
    static constexpr std::size_t slot_bytes = std::size_t{4} << 20;

    Shapes(Dice& dice, const LeftOut& left_out) : dice_(dice), left_out_(left_out) {}

    CopyShape make(const Lane& lane) {
        CopyShape copy;
        copy.to_device = lane.host == HostKind::read_only || dice_.one_in(2);
        copy.form = dice_.pick({Form::linear, Form::linear, Form::linear, Form::linear, Form::generic, Form::generic,
                                Form::rows, Form::rows, Form::rows, Form::layers, Form::layers, Form::rows_unaligned,
                                Form::batch, Form::batch_2, Form::batch_2, Form::array, Form::peer});
        copy.is_asynchronous = !dice_.one_in(3);
        copy.by_runtime = dice_.one_in(3);
        copy.is_default_kind = dice_.one_in(4);
        if (copy.form == Form::batch || copy.form == Form::batch_2) copy.is_asynchronous = true;
        if (copy.form == Form::array || copy.form == Form::rows_unaligned) copy.is_asynchronous = false;
        // Between a device and itself.
        if (copy.form == Form::peer) copy.is_asynchronous = false;
        copy.by_thread_variant = lane.stream == StreamKind::of_thread && dice_.one_in(2);
        if (dice_.one_in(12) && !left_out_.mistakes) copy.mistake = mistake_of(copy, lane);
        // Of sizes that the library looks at, more often than not.
        const std::size_t least = dice_.one_in(3) ? 1 : std::min<std::size_t>(lane.extent, std::size_t{256} << 10);
        copy.bytes = dice_.scaled(least, lane.extent);
        switch (copy.form) {
            case Form::rows:
            case Form::rows_unaligned:
            case Form::layers: arrange_rows(copy, lane); break;
            case Form::batch:
            case Form::batch_2: arrange_pieces(copy, lane); break;
            case Form::array: copy.bytes = std::min<std::size_t>(copy.bytes, 32768); [[fallthrough]];
            default: place(copy, lane);
        }
        if (copy.by_thread_variant && left_out_.thread_variants) {
            const bool is_known = copy.form == Form::linear && (copy.is_asynchronous || copy.to_device);
            copy.by_thread_variant = is_known;
        }
        if (copy.by_thread_variant) copy.by_runtime = false;
        return copy;
    }

  private:
    Mistake mistake_of(const CopyShape& copy, const Lane& lane) {
        const bool is_rows = copy.form == Form::rows || copy.form == Form::rows_unaligned || copy.form == Form::layers;
        const bool is_batch = copy.form == Form::batch || copy.form == Form::batch_2;
        for (int tries = 0; tries < 20; ++tries) {
            const auto mistake = static_cast<Mistake>(dice_.between(1, static_cast<std::size_t>(Mistake::count) - 1));
            switch (mistake) {
                case Mistake::short_pitch:
                case Mistake::unknown_type:
                    if (is_rows) return mistake;
                    break;
                case Mistake::beyond_row:
                    if (is_rows && !left_out_.positions) return mistake;
                    break;
                case Mistake::beyond_layer:
                    if (copy.form == Form::layers && !left_out_.positions) return mistake;
                    break;
                case Mistake::other_direction:
                    if (is_rows || copy.by_runtime) return mistake;
                    break;
                case Mistake::no_attributes:
                case Mistake::unknown_order:
                case Mistake::empty_piece:
                    if (is_batch) return mistake;
                    break;
                case Mistake::null_side:
                case Mistake::far_away:
                    // Batches are accepted, and end the process when their turn comes.
                    if (!left_out_.is_fake && !is_batch) return mistake;
                    break;
                case Mistake::beyond_block:
                    // What a real driver has put behind other blocks nobody says.
                    if (!left_out_.is_fake && lane.device != DeviceKind::mapped) break;
                    if (!is_rows && !is_batch && copy.form != Form::array) return mistake;
                    break;
                default: return mistake;
            }
        }
        return Mistake::none;
    }

    void place(CopyShape& copy, const Lane& lane) {
        copy.host_at = dice_.below(lane.extent - copy.bytes + 1);
        copy.device_at = dice_.below(lane.extent - copy.bytes + 1);
        if (copy.mistake == Mistake::beyond_block) {
            copy.device_at = slot_bytes - copy.bytes + std::min<std::size_t>(copy.bytes, 1 + dice_.below(2000));
        }
    }

    void arrange_pieces(CopyShape& copy, const Lane& lane) {
        copy.pieces = std::min<std::size_t>(1 + dice_.below(dice_.one_in(3) ? 200 : 12), copy.bytes);
        copy.piece_bytes = copy.bytes / copy.pieces;
        copy.bytes = copy.piece_bytes * copy.pieces;
        copy.order = dice_.pick({1, 1, 1, 2, 3});
        place(copy, lane);
    }

    void arrange_rows(CopyShape& copy, const Lane& lane) {
        copy.width = std::min(dice_.scaled(1, copy.bytes), std::size_t{1} << 20);
        copy.height = std::clamp<std::size_t>(copy.bytes / copy.width, 1, 4096);
        if (copy.form == Form::layers) copy.depth = std::min<std::size_t>(1 + dice_.below(4), copy.height);
        copy.height /= copy.depth;
        // Smaller until both sides have room for what lies around the rows.
        while (!arrange_side(copy, copy.host, lane) || !arrange_side(copy, copy.device, lane)) {
            if (copy.height > 1) {
                copy.height = (copy.height + 1) / 2;
            } else if (copy.depth > 1) {
                copy.depth = 1;
            } else {
                copy.width = (copy.width + 1) / 2;
            }
        }
        copy.bytes = copy.width * copy.height * copy.depth;
    }

    bool arrange_side(const CopyShape& copy, SideOfRows& side, const Lane& lane) {
        const bool has_position = !left_out_.positions && dice_.one_in(3);
        const bool is_of_runtime_2d = copy.by_runtime && copy.form != Form::layers;
        side.x = has_position && !is_of_runtime_2d ? dice_.below(80) : 0;
        side.y = has_position && !is_of_runtime_2d ? dice_.below(3) : 0;
        side.z = has_position && copy.form == Form::layers ? dice_.below(2) : 0;
        side.pitch = copy.width + side.x + dice_.below(64);
        side.rows_of_layer = copy.form == Form::layers ? copy.height + side.y + dice_.below(3) : 0;
        if (copy.mistake == Mistake::short_pitch) side.pitch = std::max<std::size_t>(copy.width - 1, 1);
        if (copy.mistake == Mistake::beyond_row) side.x = side.pitch - copy.width + 1 + dice_.below(16);
        if (copy.mistake == Mistake::beyond_layer) side.y = side.rows_of_layer - copy.height + 1;
        const std::size_t span =
            ((side.z + copy.depth - 1) * side.rows_of_layer + side.y + copy.height - 1) * side.pitch + side.x +
            copy.width;
        if (span > lane.extent) return false;
        side.at = dice_.below(lane.extent - span + 1);
        return true;
    }

    Dice& dice_;
    const LeftOut& left_out_;
};
