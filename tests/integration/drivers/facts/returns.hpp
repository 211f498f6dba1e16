// Which calls return before the work in front of them has ended, and what they have read by then.
#pragma once

#include <cstring>

#include "copies.hpp"
#include "facts.hpp"
#include "gate.hpp"

namespace facts {

class Returns {
  public:
    Returns(World& world, Gate& gate) : world_(world), gate_(gate) {}

    void all() {
        behind_its_stream();
        rows();
        batches();
        streams();
        asking();
    }

  private:
    static constexpr std::uint8_t before = 0xA1, after = 0xB2;

    void fill_device(const Copy& copy, std::uint8_t value) {
        must("cuMemsetD8Async", copy.device, static_cast<unsigned char>(value), copy.bytes, world_.other);
        must("cuStreamSynchronize", world_.other);
    }
    // Whether each byte of the copy's target is the value.
    bool has_arrived(const Copy& copy, std::uint8_t value) {
        const std::vector<std::uint8_t> expected(copy.row_bytes(), value);
        if (copy.to_device) {
            must("cuMemcpyDtoHAsync_v2", static_cast<void*>(world_.scratch), copy.device, copy.bytes, world_.other);
            must("cuStreamSynchronize", world_.other);
        }
        for (std::size_t row = 0; row < copy.rows(); ++row) {
            const std::uint8_t* at = copy.to_device ? world_.scratch + row * copy.row_bytes() : copy.host_row(row);
            if (std::memcmp(at, expected.data(), expected.size()) != 0) return false;
        }
        return true;
    }

    // `held` has the work in front, `on` is where the copy goes; next to a held stream it may be made at any time.
    void copy_behind(const char* name, Handle held, Handle on, const Copy& copy, bool is_next = false) {
        if (!Facts::begin(std::string(name) + ", " + text_of(copy))) return;
        if (const int code = made(copy, on); code != 0) return (void)std::printf(" refused with %d\n", code);
        must("cuCtxSynchronize");
        std::memset(copy.host, copy.to_device ? before : 0, copy.host_bytes());
        fill_device(copy, copy.to_device ? 0 : before);
        must("cuCtxSynchronize");
        if (const int code = gate_.close_behind(held); code != 0) {
            gate_.open();
            return (void)std::printf(" no gate, %d\n", code);
        }
        int code = 0;
        const bool is_early = gate_.is_left_early([&] { code = made(copy, on); });
        // What was not read yet is read as it is now.
        const bool is_changed = is_early && copy.to_device && !is_next;
        if (is_changed) std::memset(copy.host, after, copy.host_bytes());
        gate_.open();
        const int ended = world_.synchronize();
        const char* data = "wrong";
        if (has_arrived(copy, before))
            data = is_changed ? "taken" : "right";
        else if (is_changed && has_arrived(copy, after))
            data = "read later";
        std::printf(" %s %d, %s, end %d\n", is_early ? "returns" : "waits", code, data, ended);
    }

    void behind_its_stream() {
        const std::pair<const char*, std::uint8_t*> kinds[] = {{"pageable", world_.pageable},
                                                               {"pinned", world_.pinned},
                                                               {"registered", world_.registered},
                                                               {"managed", world_.managed}};
        for (const auto& [kind, memory] : kinds) {
            for (const bool to_device : {true, false}) {
                for (const std::size_t bytes : {std::size_t{4096}, 64 * KiB, 64 * KiB + 4, 256 * KiB, 512 * KiB,
                                                1 * MiB, 2 * MiB, 2 * MiB + 4096, 4 * MiB, 16 * MiB}) {
                    for (const Form form : {Form::linear, Form::unified}) {
                        copy_behind(kind, world_.held, world_.held,
                                    {.form = form,
                                     .to_device = to_device,
                                     .host = memory,
                                     .device = world_.device,
                                     .bytes = bytes});
                    }
                }
            }
        }
    }

    void rows() {
        for (const std::size_t width : {std::size_t{512}, 16 * KiB, 64 * KiB}) {
            for (const std::size_t bytes : {64 * KiB, 256 * KiB, 512 * KiB, 1 * MiB, 2 * MiB, 4 * MiB}) {
                for (const bool to_device : {true, false}) {
                    for (const std::size_t gap : {std::size_t{0}, std::size_t{64}}) {
                        copy_behind("pageable", world_.held, world_.held,
                                    {.form = Form::rows_2d,
                                     .to_device = to_device,
                                     .host = world_.pageable,
                                     .device = world_.device,
                                     .bytes = bytes,
                                     .width = width,
                                     .gap = gap});
                        if (bytes / width < 2 || gap == 0) continue;
                        copy_behind("pageable", world_.held, world_.held,
                                    {.form = Form::rows_3d,
                                     .to_device = to_device,
                                     .host = world_.pageable,
                                     .device = world_.device,
                                     .bytes = bytes,
                                     .width = width,
                                     .gap = gap});
                    }
                }
            }
        }
        for (std::uint8_t* const memory : {world_.pinned, world_.managed}) {
            for (const bool to_device : {true, false}) {
                copy_behind(memory == world_.pinned ? "pinned" : "managed", world_.held, world_.held,
                            {.form = Form::rows_2d,
                             .to_device = to_device,
                             .host = memory,
                             .device = world_.device,
                             .bytes = 4 * MiB,
                             .width = 16 * KiB,
                             .gap = 64});
            }
        }
    }

    void batches() {
        for (const std::size_t piece : {16 * KiB, 64 * KiB, 512 * KiB, 2 * MiB}) {
            for (const std::size_t bytes : {256 * KiB, 1 * MiB, 4 * MiB, 16 * MiB}) {
                if (piece > bytes) continue;
                for (const bool to_device : {true, false}) {
                    for (const int order : {order_of_stream, during_call, any_order}) {
                        copy_behind("pageable", world_.held, world_.held,
                                    {.form = Form::batch,
                                     .to_device = to_device,
                                     .host = world_.pageable,
                                     .device = world_.device,
                                     .bytes = bytes,
                                     .width = piece,
                                     .order = order});
                    }
                }
            }
        }
        for (std::uint8_t* const memory : {world_.pinned, world_.managed}) {
            for (const bool to_device : {true, false}) {
                for (const int order : {order_of_stream, during_call}) {
                    copy_behind(memory == world_.pinned ? "pinned" : "managed", world_.held, world_.held,
                                {.form = Form::batch,
                                 .to_device = to_device,
                                 .host = memory,
                                 .device = world_.device,
                                 .bytes = 4 * MiB,
                                 .width = 512 * KiB,
                                 .order = order});
                }
            }
        }
    }

    void streams() {
        const auto legacy = reinterpret_cast<Handle>(1);
        const auto of_thread = reinterpret_cast<Handle>(2);
        const std::tuple<const char*, Handle, Handle, bool> pairs[] = {
            {"on a blocking stream, behind it", world_.blocking, world_.blocking, false},
            {"on the null stream, behind it", nullptr, nullptr, false},
            {"on the legacy stream, behind the null stream", nullptr, legacy, false},
            {"on the thread's stream, behind it", of_thread, of_thread, false},
            {"on the thread's null stream, behind it", of_thread, nullptr, true},
            {"on the null stream, behind a blocking stream", world_.blocking, nullptr, false},
            {"on the null stream, behind the thread's stream", of_thread, nullptr, false},
            {"on a blocking stream, behind the null stream", nullptr, world_.blocking, false},
            {"on the thread's null stream, behind the null stream", nullptr, nullptr, true},
            {"on another stream, next to a held stream", world_.held, world_.other, false},
            {"on another stream, next to the held null stream", nullptr, world_.other, false},
            {"on the null stream, next to a held stream", world_.held, nullptr, false},
            {"on a blocking stream, next to a held stream", world_.held, world_.blocking, false},
        };
        for (const auto& [name, held, on, per_thread] : pairs) {
            const bool is_next = std::string(name).find("next to") != std::string::npos;
            for (const bool to_device : {true, false}) {
                for (const std::size_t bytes : {64 * KiB, 512 * KiB, 4 * MiB}) {
                    copy_behind(name, held, on,
                                {.to_device = to_device,
                                 .host = world_.pageable,
                                 .device = world_.device,
                                 .bytes = bytes,
                                 .per_thread = per_thread},
                                is_next);
                }
                copy_behind(name, held, on,
                            {.to_device = to_device,
                             .host = world_.pinned,
                             .device = world_.device,
                             .bytes = 4 * MiB,
                             .per_thread = per_thread},
                            is_next);
                copy_behind(name, held, on,
                            {.form = Form::rows_2d,
                             .to_device = to_device,
                             .host = world_.pageable,
                             .device = world_.device,
                             .bytes = 1 * MiB,
                             .width = 16 * KiB,
                             .gap = 64,
                             .per_thread = per_thread},
                            is_next);
                copy_behind(name, held, on,
                            {.form = Form::batch,
                             .to_device = to_device,
                             .host = world_.pageable,
                             .device = world_.device,
                             .bytes = 1 * MiB,
                             .width = 64 * KiB,
                             .per_thread = per_thread},
                            is_next);
            }
        }
        const std::tuple<const char*, Handle, bool> waiting[] = {
            {"behind the null stream", nullptr, false},      {"behind a blocking stream", world_.blocking, false},
            {"behind the thread's stream", of_thread, true}, {"next to a held stream", world_.held, false},
            {"next to a held stream", world_.held, true},    {"behind the null stream", nullptr, true},
        };
        for (const auto& [name, held, per_thread] : waiting) {
            const bool is_next = std::string(name).find("next to") != std::string::npos;
            for (const bool to_device : {true, false}) {
                for (const Form form :
                     {Form::linear, Form::unified, Form::rows_2d, Form::unaligned_2d, Form::rows_3d}) {
                    const std::size_t width = form == Form::linear || form == Form::unified ? 0 : 16 * KiB;
                    for (const std::size_t bytes : {64 * KiB, 1 * MiB}) {
                        copy_behind(name, held, nullptr,
                                    {.form = form,
                                     .to_device = to_device,
                                     .host = world_.pageable,
                                     .device = world_.device,
                                     .bytes = bytes,
                                     .width = width,
                                     .is_asynchronous = false,
                                     .per_thread = per_thread},
                                    is_next);
                    }
                }
                copy_behind(name, held, nullptr,
                            {.to_device = to_device,
                             .host = world_.pinned,
                             .device = world_.device,
                             .bytes = 1 * MiB,
                             .is_asynchronous = false,
                             .per_thread = per_thread},
                            is_next);
            }
        }
    }

    // What the driver says of a stream, and which of its calls wait, while one is held.
    void asking() {
        const std::pair<const char*, Handle> all[] = {{"a stream", world_.held},
                                                      {"another stream", world_.other},
                                                      {"a blocking stream", world_.blocking},
                                                      {"the null stream", nullptr},
                                                      {"the legacy stream", reinterpret_cast<Handle>(1)},
                                                      {"the thread's stream", reinterpret_cast<Handle>(2)}};
        for (const auto& [held_name, held] : all) {
            for (const auto& [name, stream] : all) {
                if (!Facts::begin(std::string(held_name) + " is held, " + name)) continue;
                if (gate_.close_behind(held) != 0) continue;
                int query = 0, synchronized = 0, capturing = -2, asked = 0;
                query = call("cuStreamQuery", stream);
                asked = call("cuStreamIsCapturing", stream, &capturing);
                const bool is_early =
                    gate_.is_left_early([&, on = stream] { synchronized = call("cuStreamSynchronize", on); });
                gate_.open();
                must("cuCtxSynchronize");
                std::printf(" query %d, capturing %d %d, synchronizing %s %d\n", query, asked, capturing,
                            is_early ? "returns" : "waits", synchronized);
            }
        }
    }

    World& world_;
    Gate& gate_;
};

}  // namespace facts
