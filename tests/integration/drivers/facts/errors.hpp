// What the driver says to calls that are not valid, or only just.
#pragma once

#include <functional>

#include "copies.hpp"
#include "facts.hpp"

namespace facts {

class Errors {
  public:
    explicit Errors(World& world) : world_(world) {}

    void all() {
        pieces_of_one();
        rows();
        layers();
        batches();
    }

  private:
    static constexpr std::size_t large = 1 * MiB;
    static constexpr Address far = Address{1} << 40;

    void line(const std::string& name, const std::function<int()>& work) {
        if (!Facts::begin(name)) return;
        const int code = work();
        const int ended = world_.synchronize();
        std::printf(" %d, then %d\n", code, ended);
        if (ended != 0) world_.make_again();
    }

    void pieces_of_one() {
        World& w = world_;
        const auto address = [](const void* host) { return reinterpret_cast<Address>(host); };
        Address small = 0;
        must("cuMemAlloc_v2", &small, 4 * MiB);
        const std::size_t all = 2 * most_bytes;
        for (const std::size_t bytes : {64 * KiB, large}) {
            const std::string size = ", " + std::to_string(bytes) + " bytes";
            // Memory of the device, memory of the host, a name.
            const std::tuple<const char*, Address, void*> sides[] = {
                {"device is null", 0, w.pageable},
                {"host is null", w.device, nullptr},
                {"both are null", 0, nullptr},
                {"begins at the last byte of the device's memory", w.device + all - 1, w.pageable},
                {"ends beyond the device's memory", w.device + all - bytes + 1, w.pageable},
                {"begins far beyond the device's memory", w.device + far, w.pageable},
                {"ends beyond page-locked memory", w.device, w.pinned + all - bytes + 1},
                {"ends beyond registered memory", w.device, w.registered + all - bytes + 1},
                {"device is pageable memory", address(w.pageable), w.pageable + most_bytes},
                {"device is page-locked memory", address(w.pinned), w.pageable},
                {"device is registered memory", address(w.registered), w.pageable},
                {"device is managed memory", address(w.managed), w.pageable},
                {"host is device memory", w.device, reinterpret_cast<void*>(w.second)},
                {"host is managed memory", w.device, w.managed},
                {"both are managed memory", address(w.managed), w.managed + most_bytes},
                {"both are page-locked memory", address(w.pinned), w.pinned + most_bytes},
                {"odd addresses", w.device + 3, w.pageable + 5},
            };
            for (const auto& [name, device, host] : sides) {
                for (const bool to_device : {true, false}) {
                    for (const bool is_asynchronous : {true, false}) {
                        for (const Form form : {Form::linear, Form::unified}) {
                            // An address that nobody knows may be the host's.
                            if (form == Form::unified && device == w.device + far) continue;
                            const Copy copy{.form = form,
                                            .to_device = to_device,
                                            .host = static_cast<std::uint8_t*>(host),
                                            .device = device,
                                            .bytes = bytes,
                                            .is_asynchronous = is_asynchronous};
                            line(std::string(name) + ", " + text_of(copy), [&] { return made(copy, w.other); });
                        }
                    }
                }
            }
        }
        for (const bool is_asynchronous : {true, false}) {
            for (const bool to_device : {true, false}) {
                const char* const when = is_asynchronous ? " async" : "";
                const auto on = [&](std::uint8_t* host, Address device, std::size_t bytes) {
                    return made({.to_device = to_device,
                                 .host = host,
                                 .device = device,
                                 .bytes = bytes,
                                 .is_asynchronous = is_asynchronous},
                                w.other);
                };
                const std::string direction = std::string(to_device ? " to device" : " to host") + when;
                line("no bytes" + direction, [&] { return on(w.pageable, w.device, 0); });
                line("no bytes of null" + direction, [&] { return on(nullptr, 0, 0); });
                line("more bytes than there are" + direction, [&] { return on(w.pageable, small, SIZE_MAX - 4096); });
            }
        }
        must("cuMemFree_v2", small);
        line("freed memory, to device async",
             [&] { return made({.host = w.pageable, .device = small, .bytes = large}, w.other); });
        line("freed memory, to host", [&] {
            return made(
                {.to_device = false, .host = w.pageable, .device = small, .bytes = large, .is_asynchronous = false},
                w.other);
        });
        // Two registrations next to each other, and one that ends within.
        auto* const part = w.pageable + most_bytes;
        must("cuMemHostRegister_v2", static_cast<void*>(part), large, 0U);
        for (const bool to_device : {true, false}) {
            const auto across = [&] {
                return made({.to_device = to_device, .host = part, .device = w.device, .bytes = 2 * large}, w.other);
            };
            const auto into = [&] {
                return made({.to_device = to_device, .host = part - large, .device = w.device, .bytes = 2 * large},
                            w.other);
            };
            const auto around = [&] {
                return made({.to_device = to_device, .host = part - large, .device = w.device, .bytes = 3 * large},
                            w.other);
            };
            const char* const direction = to_device ? " to device" : " to host";
            line(std::string("out of a registration") + direction, across);
            line(std::string("into a registration") + direction, into);
            line(std::string("around a registration") + direction, around);
            must("cuMemHostRegister_v2", static_cast<void*>(part + large), large, 0U);
            line(std::string("two registrations") + direction, across);
            must("cuMemHostUnregister", static_cast<void*>(part + large));
        }
        must("cuMemHostUnregister", static_cast<void*>(part));
    }

    void rows() {
        World& w = world_;
        const std::pair<const char*, std::function<void(Copy2d&)>> changes[] = {
            {"as it should be", [](Copy2d&) {}},
            {"the source's position is within its row", [](Copy2d& c) { c.source_x = 64; }},
            {"the source's position is beyond its row", [](Copy2d& c) { c.source_x = 65; }},
            {"the target's position is beyond its row", [](Copy2d& c) { c.x = 1; }},
            {"the source begins some rows later", [](Copy2d& c) { c.source_y = 7; }},
            {"the target begins some rows later", [](Copy2d& c) { c.y = 7; }},
            {"the source's pitch is below the width", [](Copy2d& c) { c.source_pitch = c.width - 1; }},
            {"the target's pitch is below the width", [](Copy2d& c) { c.pitch = c.width - 1; }},
            {"the source's pitch is 0", [](Copy2d& c) { c.source_pitch = 0; }},
            {"the target's pitch is 0", [](Copy2d& c) { c.pitch = 0; }},
            {"one row, whose source's pitch is 0", [](Copy2d& c) { c.source_pitch = 0, c.height = 1; }},
            {"one row, whose target's pitch is 0", [](Copy2d& c) { c.pitch = 0, c.height = 1; }},
            {"one row, whose pitches are below the width",
             [](Copy2d& c) { c.pitch = c.source_pitch = 1, c.height = 1; }},
            {"one long row", [](Copy2d& c) { c.width = c.pitch = c.source_pitch = large, c.height = 1; }},
            {"no columns", [](Copy2d& c) { c.width = 0; }},
            {"no rows", [](Copy2d& c) { c.height = 0; }},
            {"pitches of 2^62", [](Copy2d& c) { c.pitch = c.source_pitch = std::size_t{1} << 62, c.height = 4; }},
            {"a pitch of 2^32", [](Copy2d& c) { c.source_pitch = std::size_t{1} << 32, c.height = 1; }},
            {"rows beyond the device's memory", [&](Copy2d& c) { c.device = w.device + 2 * most_bytes - large + 1; }},
            {"rows that begin beyond the device's memory",
             [&](Copy2d& c) { c.device = w.device + (Address{1} << 40); }},
            {"the host is null", [](Copy2d& c) { c.source_host = nullptr; }},
            {"the device is null", [](Copy2d& c) { c.device = 0; }},
            {"the source has no type", [](Copy2d& c) { c.source_type = 0; }},
            {"the target's type is 5", [](Copy2d& c) { c.type = 5; }},
            {"the source's type is 17", [](Copy2d& c) { c.source_type = 17; }},
            {"the source is an array that is null", [](Copy2d& c) { c.source_type = 3; }},
            {"the target is an array that is null", [](Copy2d& c) { c.type = 3; }},
            {"the target is unified", [](Copy2d& c) { c.type = unified_type; }},
            {"the source is unified",
             [](Copy2d& c) {
                 c.source_type = unified_type, c.source_device = reinterpret_cast<Address>(c.source_host);
             }},
            {"both are unified",
             [](Copy2d& c) {
                 c.type = c.source_type = unified_type, c.source_device = reinterpret_cast<Address>(c.source_host);
             }},
            {"the target is unified and null", [](Copy2d& c) { c.type = unified_type, c.device = 0; }},
            {"the source's device and array are set, too",
             [&](Copy2d& c) { c.source_device = w.second, c.source_array = &w; }},
            {"both are the host's", [&](Copy2d& c) { c.type = host_type, c.host = w.pageable + most_bytes; }},
            {"both are the device's", [&](Copy2d& c) { c.source_type = device_type, c.source_device = w.second; }},
            {"the device is page-locked memory", [&](Copy2d& c) { c.device = reinterpret_cast<Address>(w.pinned); }},
            {"the device is pageable memory",
             [&](Copy2d& c) { c.device = reinterpret_cast<Address>(w.pageable + most_bytes); }},
            {"the host is device memory", [&](Copy2d& c) { c.source_host = reinterpret_cast<void*>(w.second); }},
            {"rows beyond page-locked memory", [&](Copy2d& c) { c.source_host = w.pinned + 2 * most_bytes - large; }},
        };
        const Copy copy{
            .form = Form::rows_2d, .host = w.pageable, .device = w.device, .bytes = large, .width = 4 * KiB, .gap = 64};
        for (const auto& [name, change] : changes) {
            Copy2d rows = copy_2d(copy);
            change(rows);
            line(std::string("2-D async, ") + name, [&] { return call("cuMemcpy2DAsync_v2", &rows, w.other); });
            line(std::string("2-D, ") + name, [&] { return call("cuMemcpy2D_v2", &rows); });
            line(std::string("2-D unaligned, ") + name, [&] { return call("cuMemcpy2DUnaligned_v2", &rows); });
        }
        line("2-D async of null", [&] { return call("cuMemcpy2DAsync_v2", static_cast<Copy2d*>(nullptr), w.other); });
    }

    void layers() {
        World& w = world_;
        const std::pair<const char*, std::function<void(Copy3d&)>> changes[] = {
            {"as it should be", [](Copy3d&) {}},
            {"the source's position is within its row", [](Copy3d& c) { c.source_x = 64; }},
            {"the source's position is beyond its row", [](Copy3d& c) { c.source_x = 65; }},
            {"the target's position is beyond its row", [](Copy3d& c) { c.x = 1; }},
            {"the source begins some rows later", [](Copy3d& c) { c.source_y = 7; }},
            {"the target begins some rows later", [](Copy3d& c) { c.y = 7; }},
            {"the source begins a layer later", [](Copy3d& c) { c.source_z = 1; }},
            {"the target begins a layer later", [](Copy3d& c) { c.z = 1; }},
            {"the source begins some rows later in higher layers",
             [](Copy3d& c) { c.source_y = 7, c.source_height += 7; }},
            {"the source's pitch is below the width", [](Copy3d& c) { c.source_pitch = c.width - 1; }},
            {"the target's pitch is below the width", [](Copy3d& c) { c.pitch = c.width - 1; }},
            {"the source's pitch is 0", [](Copy3d& c) { c.source_pitch = 0; }},
            {"the target's pitch is 0", [](Copy3d& c) { c.pitch = 0; }},
            {"the source's layers are too low", [](Copy3d& c) { c.source_height = c.height - 1; }},
            {"the target's layers are too low", [](Copy3d& c) { c.slice_height = c.height - 1; }},
            {"the source's layers have no height", [](Copy3d& c) { c.source_height = 0; }},
            {"the target's layers have no height", [](Copy3d& c) { c.slice_height = 0; }},
            {"one layer without height", [](Copy3d& c) { c.slice_height = c.source_height = 0, c.depth = 1; }},
            {"one layer that is too low", [](Copy3d& c) { c.slice_height = c.source_height = 1, c.depth = 1; }},
            {"one row without a pitch",
             [](Copy3d& c) {
                 c.pitch = c.source_pitch = 0, c.slice_height = c.source_height = 0, c.height = c.depth = 1;
             }},
            {"no columns", [](Copy3d& c) { c.width = 0; }},
            {"no rows", [](Copy3d& c) { c.height = 0; }},
            {"no layers", [](Copy3d& c) { c.depth = 0; }},
            {"a level of the source", [](Copy3d& c) { c.source_level = 1; }},
            {"a level of the target", [](Copy3d& c) { c.level = 1; }},
            {"the source's reserved word is set", [&](Copy3d& c) { c.source_reserved = &w; }},
            {"the target's reserved word is set", [&](Copy3d& c) { c.reserved = &w; }},
            {"layers beyond the device's memory", [&](Copy3d& c) { c.device = w.device + 2 * most_bytes - large + 1; }},
            {"the host is null", [](Copy3d& c) { c.source_host = nullptr; }},
            {"the device is null", [](Copy3d& c) { c.device = 0; }},
            {"the source has no type", [](Copy3d& c) { c.source_type = 0; }},
            {"the target's type is 5", [](Copy3d& c) { c.type = 5; }},
            {"the source is unified",
             [](Copy3d& c) {
                 c.source_type = unified_type, c.source_device = reinterpret_cast<Address>(c.source_host);
             }},
            {"both are unified",
             [](Copy3d& c) {
                 c.type = c.source_type = unified_type, c.source_device = reinterpret_cast<Address>(c.source_host);
             }},
            {"both are the host's", [&](Copy3d& c) { c.type = host_type, c.host = w.pageable + most_bytes; }},
            {"both are the device's", [&](Copy3d& c) { c.source_type = device_type, c.source_device = w.second; }},
            {"layers beyond page-locked memory", [&](Copy3d& c) { c.source_host = w.pinned + 2 * most_bytes - large; }},
        };
        const Copy copy{
            .form = Form::rows_3d, .host = w.pageable, .device = w.device, .bytes = large, .width = 4 * KiB, .gap = 64};
        for (const auto& [name, change] : changes) {
            Copy3d layers = copy_3d(copy);
            change(layers);
            line(std::string("3-D async, ") + name, [&] { return call("cuMemcpy3DAsync_v2", &layers, w.other); });
            line(std::string("3-D, ") + name, [&] { return call("cuMemcpy3D_v2", &layers); });
        }
        line("3-D async of null", [&] { return call("cuMemcpy3DAsync_v2", static_cast<Copy3d*>(nullptr), w.other); });
    }

    void batches() {
        World& w = world_;
        const auto kinds = [](Pieces& p, std::vector<std::size_t> first, std::vector<Attributes> all) {
            p.first = std::move(first), p.kinds = all.size(), p.more = std::move(all);
        };
        const Attributes stream{.order = order_of_stream}, call_time{.order = during_call};
        const std::pair<const char*, std::function<void(Pieces&)>> changes[] = {
            {"as it should be", [](Pieces&) {}},
            {"a piece without bytes", [](Pieces& p) { p.bytes[1] = 0; }},
            {"a target is null", [](Pieces& p) { p.to[1] = 0; }},
            {"a source is null", [](Pieces& p) { p.from[1] = 0; }},
            {"no pieces", [](Pieces& p) { p.to.clear(), p.from.clear(), p.bytes.clear(); }},
            {"no attributes", [](Pieces& p) { p.kinds = 0; }},
            {"more attributes than pieces",
             [&](Pieces& p) {
                 kinds(p, {0, 1, 2, 3, 3}, std::vector<Attributes>(5, stream));
             }},
            {"two attributes",
             [&](Pieces& p) {
                 kinds(p, {0, 2}, {stream, call_time});
             }},
            {"the first attributes are of the second piece", [](Pieces& p) { p.first[0] = 1; }},
            {"attributes in falling order",
             [&](Pieces& p) {
                 kinds(p, {0, 2, 1}, {stream, call_time, stream});
             }},
            {"attributes twice of one piece",
             [&](Pieces& p) {
                 kinds(p, {0, 2, 2}, {stream, call_time, stream});
             }},
            {"attributes of a piece that is none",
             [&](Pieces& p) {
                 kinds(p, {0, 4}, {stream, call_time});
             }},
            {"order 0", [](Pieces& p) { p.attributes.order = 0; }},
            {"order 3", [](Pieces& p) { p.attributes.order = any_order; }},
            {"order 4", [](Pieces& p) { p.attributes.order = 4; }},
            {"the second order is 0",
             [&](Pieces& p) {
                 kinds(p, {0, 2}, {stream, {}});
             }},
            {"flag 1", [](Pieces& p) { p.attributes.flags = 1; }},
            {"flag 2", [](Pieces& p) { p.attributes.flags = 2; }},
            {"hints that are right",
             [](Pieces& p) { p.attributes.source_location[0] = 2, p.attributes.location[0] = 1; }},
            {"hints that are wrong",
             [](Pieces& p) { p.attributes.source_location[0] = 1, p.attributes.location[0] = 2; }},
            {"a hint of a type that is none", [](Pieces& p) { p.attributes.source_location[0] = 99; }},
            {"a hint of a device that is none",
             [](Pieces& p) { p.attributes.location[0] = 1, p.attributes.location[1] = 99; }},
            {"a piece beyond the device's memory", [&](Pieces& p) { p.to[1] = w.device + 2 * most_bytes - 1; }},
            {"a piece beyond page-locked memory",
             [&](Pieces& p) { p.from[1] = reinterpret_cast<Address>(w.pinned) + 2 * most_bytes - 1; }},
            {"a piece within the device", [&](Pieces& p) { p.from[1] = w.second; }},
            {"a piece within the host",
             [&](Pieces& p) { p.to[1] = reinterpret_cast<Address>(w.pageable + most_bytes); }},
            {"a piece the other way", [](Pieces& p) { std::swap(p.to[1], p.from[1]); }},
            {"a piece out of page-locked memory", [&](Pieces& p) { p.from[1] = reinterpret_cast<Address>(w.pinned); }},
            {"two pieces of one target", [](Pieces& p) { p.to[1] = p.to[0]; }},
        };
        for (const auto& [name, change] : changes) {
            for (const bool newest : {true, false}) {
                Pieces pieces = pieces_of(
                    {.form = Form::batch, .host = w.pageable, .device = w.device, .bytes = large, .width = 256 * KiB});
                change(pieces);
                line(std::string(newest ? "batch, " : "batch of 12.8, ") + name,
                     [&] { return copy_batch(pieces, w.other, false, newest); });
            }
        }
        for (const std::uintptr_t stream : {0, 1, 2}) {
            for (const bool per_thread : {false, true}) {
                Pieces pieces = pieces_of(
                    {.form = Form::batch, .host = w.pageable, .device = w.device, .bytes = large, .width = 256 * KiB});
                line("batch on stream " + std::to_string(stream) + (per_thread ? " of the thread" : ""),
                     [&] { return copy_batch(pieces, reinterpret_cast<Handle>(stream), per_thread); });
            }
        }
        Pieces pieces = pieces_of(
            {.form = Form::batch, .host = w.pageable, .device = w.device, .bytes = large, .width = 256 * KiB});
        const auto nothing = static_cast<Address*>(nullptr);
        const auto batch = [&](Address* to, Address* from, std::size_t* bytes, Attributes* attributes,
                               std::size_t* first) {
            return call("cuMemcpyBatchAsync_v2", to, from, bytes, pieces.to.size(), attributes, first, std::size_t{1},
                        w.other);
        };
        line("batch, targets are null", [&] {
            return batch(nothing, pieces.from.data(), pieces.bytes.data(), &pieces.attributes, pieces.first.data());
        });
        line("batch, sources are null", [&] {
            return batch(pieces.to.data(), nothing, pieces.bytes.data(), &pieces.attributes, pieces.first.data());
        });
        line("batch, sizes are null", [&] {
            return batch(pieces.to.data(), pieces.from.data(), nullptr, &pieces.attributes, pieces.first.data());
        });
        line("batch, attributes are null", [&] {
            return batch(pieces.to.data(), pieces.from.data(), pieces.bytes.data(), nullptr, pieces.first.data());
        });
        line("batch, places of attributes are null", [&] {
            return batch(pieces.to.data(), pieces.from.data(), pieces.bytes.data(), &pieces.attributes, nullptr);
        });
        line("batch of 12.8, no place for what failed", [&] {
            return call("cuMemcpyBatchAsync", pieces.to.data(), pieces.from.data(), pieces.bytes.data(),
                        pieces.to.size(), &pieces.attributes, pieces.first.data(), std::size_t{1},
                        static_cast<std::size_t*>(nullptr), w.other);
        });
    }

    World& world_;
};

}  // namespace facts
