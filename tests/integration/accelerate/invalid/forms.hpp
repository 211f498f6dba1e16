// The calls that copy, with what each parameter is changed to.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../driver.hpp"

using Value = std::uint64_t;

constexpr std::size_t block_bytes = std::size_t{512} << 10, locked_bytes = 65536;
constexpr std::size_t width = 4096, rows = 32, layers = 2, pitch = 4160, layer_rows = 40;
constexpr Value huge = Value{1} << 62, all_ones = ~Value{0}, pitch_too_long = Value{1} << 31;

// What calls are about. Host memory is twice as long as what is copied, so that a copy that begins later is within it.
struct World {
    World() {
        Context own = nullptr;
        Context other = nullptr;
        expect(driver->cuInit(0) == success && driver->cuDevicePrimaryCtxRetain(&own, 0) == success);
        expect(get<Code(Context*, unsigned, Device)>("cuCtxCreate", "cuCtxCreate_v2")(&other, 0, 0) == success);
        expect(driver->cuStreamCreate(&stream_of_other, stream_non_blocking) == success);
        expect(driver->cuCtxSetCurrent(own) == success);
        context = own;
        expect(driver->cuMemAlloc(&device, block_bytes) == success);
        expect(driver->cuMemAlloc(&small, 4096) == success);
        expect(driver->cuStreamCreate(&stream, stream_non_blocking) == success);
        expect(driver->cuMemHostAlloc(&pinned, 2 * block_bytes, 0) == success);
        expect(driver->cuMemHostAlloc(&gate, 4096, 0) == success);
        all_of_host.resize(before_host + 4 * block_bytes);
        host = std::span(all_of_host).subspan(before_host);
        registered = reinterpret_cast<std::byte*>((at(host.data() + 3 * block_bytes) + 4095) / 4096 * 4096);
        expect(driver->cuMemHostRegister(registered, locked_bytes, 0) == success);
        reset();
    }
    void reset() {
        for (std::size_t i = 0; i < 2 * block_bytes; ++i) host[i] = static_cast<std::byte>(i * 7 + i / 251);
        put(device, host.data() + block_bytes / 2, block_bytes);
    }
    // Of all that copies may have changed.
    Value digest() {
        std::vector<std::byte> there(block_bytes);
        fetch(there.data(), device, block_bytes);
        Value sum = 1469598103934665603U;
        const auto add = [&sum](const std::byte* data, std::size_t bytes) {
            for (std::size_t i = 0; i < bytes; i += sizeof(Value)) {
                Value word = 0;
                std::memcpy(&word, data + i, sizeof word);
                sum = (sum ^ word) * 1099511628211U;
            }
        };
        add(there.data(), there.size());
        add(host.data(), 2 * block_bytes);
        return sum;
    }

    Context context = nullptr;
    DevicePointer device = 0, small = 0;
    Stream stream = nullptr, stream_of_other = nullptr;
    void *pinned = nullptr, *gate = nullptr;
    // A pitch or a layer that goes backwards reads what is before it.
    static constexpr std::size_t before_host = 1 << 20;
    std::vector<std::byte> all_of_host;
    std::span<std::byte> host;
    std::byte* registered = nullptr;
};
inline World* world = nullptr;

// A parameter, what it is changed to, and the names of that.
struct Change {
    Value value;
    const char* name;
};
struct Parameter {
    const char* name;
    Value* place;
    std::vector<Change> changes;
};

// One function: its parameters, valid as they are, and the call.
struct Form {
    std::string name;
    std::vector<Parameter> parameters;
    std::function<Code()> call;
    std::function<Value()> more = [] { return Value{0}; };  // what else the driver says
    // Whether addresses alone say where memory is: what no driver knows is the host's then, and has to be there.
    bool is_generic = false;
};

inline std::vector<Change> device_places() {
    return {{0, "null"},
            {at(world->host.data()), "the host's"},
            {world->device + block_bytes - 100, "near the end"},
            {world->device + block_bytes, "the end"},
            {world->small, "a small block"},
            {world->device + 64, "later"}};
}
inline std::vector<Change> host_places() {
    return {{0, "null"},
            {world->device, "the device's"},
            {at(world->pinned), "page-locked"},
            {at(world->registered), "locked where it begins"},
            {at(world->registered) - 4096, "locked in the middle"},
            {at(world->registered) + locked_bytes - pitch, "locked up to the second row"},
            {at(world->host.data() + 64), "later"}};
}
inline std::vector<Change> sizes(Value size) {
    return {{0, "0"}, {1, "1"}, {size + 1, "one more"}, {size - 1, "one less"}, {huge, "2^62"}, {all_ones, "2^64-1"}};
}
inline std::vector<Change> streams() {
    return {{0, "default"},
            {1, "legacy"},
            {2, "the thread's"},
            {reinterpret_cast<Value>(world->stream_of_other), "another context's"}};
}

struct Linear {
    Value to, from, bytes, stream;
    Linear(bool to_device)
        : to(to_device ? world->device : at(world->host.data())),
          from(to_device ? at(world->host.data()) : world->device),
          bytes(block_bytes / 2),
          stream(reinterpret_cast<Value>(world->stream)) {}
};

inline void* pointer(Value value) {
    return reinterpret_cast<void*>(value);
}
inline Stream handle(Value value) {
    return reinterpret_cast<Stream>(value);
}

inline void add_linear(std::vector<Form>& forms, bool to_device) {
    static std::vector<std::unique_ptr<Linear>> kept;
    const auto add = [&](const char* name, bool is_async, auto call) {
        Linear& given = *kept.emplace_back(std::make_unique<Linear>(to_device));
        Form form{std::string(name) + (to_device ? " to the device" : " to the host"), {}, {}};
        form.parameters = {{"to", &given.to, to_device ? device_places() : host_places()},
                           {"from", &given.from, to_device ? host_places() : device_places()},
                           {"bytes", &given.bytes, sizes(given.bytes)}};
        // As many bytes as are left, and one more.
        form.parameters[2].changes.push_back({block_bytes, "all"});
        form.parameters[2].changes.push_back({block_bytes + 1, "beyond"});
        if (is_async) form.parameters.push_back({"stream", &given.stream, streams()});
        form.call = [&given, call] { return call(given); };
        form.is_generic = std::string_view(name).find("to") == std::string_view::npos;
        forms.push_back(std::move(form));
    };
    if (to_device) {
        add("cuMemcpyHtoD", false, [](Linear& g) { return driver->cuMemcpyHtoD(g.to, pointer(g.from), g.bytes); });
        add("cuMemcpyHtoDAsync", true,
            [](Linear& g) { return driver->cuMemcpyHtoDAsync(g.to, pointer(g.from), g.bytes, handle(g.stream)); });
    } else {
        add("cuMemcpyDtoH", false, [](Linear& g) { return driver->cuMemcpyDtoH(pointer(g.to), g.from, g.bytes); });
        add("cuMemcpyDtoHAsync", true,
            [](Linear& g) { return driver->cuMemcpyDtoHAsync(pointer(g.to), g.from, g.bytes, handle(g.stream)); });
    }
    add("cuMemcpy", false, [](Linear& g) { return driver->cuMemcpy(g.to, g.from, g.bytes); });
    add("cuMemcpyAsync", true,
        [](Linear& g) { return driver->cuMemcpyAsync(g.to, g.from, g.bytes, handle(g.stream)); });
}

// Of a side, as the driver's structures have it: kept as numbers, of which the structure is made for the call.
struct Side {
    Value type, host = 0, device = 0, x = 0, y = 0, z = 0, level = 0, reserved = 0, pitch = ::pitch,
                height = layer_rows;
    explicit Side(bool on_device) : type(on_device ? 2 : 1) {
        (on_device ? device : host) = on_device ? world->device : at(world->host.data());
    }
    void describe(std::vector<Parameter>& parameters, bool on_device, bool is_3d, bool is_source) {
        const auto name = [is_source](const char* to, const char* from) { return is_source ? from : to; };
        parameters.push_back({name("type of the destination", "type of the source"),
                              &type,
                              {{0, "0"}, {3, "an array"}, {4, "unified, without an address"}, {5, "5"}}});
        parameters.push_back(
            {name("destination", "source"), on_device ? &device : &host, on_device ? device_places() : host_places()});
        parameters.push_back({name("x of the destination", "x of the source"),
                              &x,
                              {{64, "the last that fits"},
                               {65, "one too far"},
                               {pitch, "a row"},
                               {huge, "2^62"},
                               {all_ones, "2^64-1"}}});
        parameters.push_back({name("y of the destination", "y of the source"),
                              &y,
                              {{1, "1"},
                               {layer_rows - rows, "the last that fits"},
                               {is_3d ? layer_rows - rows + 1 : huge, "too far"},
                               {huge, "2^62"},
                               {all_ones, "2^64-1"}}});
        parameters.push_back({name("pitch of the destination", "pitch of the source"),
                              &pitch,
                              {{0, "0"},
                               {width - 1, "below a row"},
                               {width, "a row"},
                               {pitch_too_long, "2^31"},
                               {huge, "2^62"},
                               {all_ones, "2^64-1"}}});
        if (!is_3d) return;
        parameters.push_back(
            {name("z of the destination", "z of the source"), &z, {{1, "1"}, {huge, "2^62"}, {all_ones, "2^64-1"}}});
        parameters.push_back({name("level of the destination", "level of the source"), &level, {{1, "1"}}});
        parameters.push_back({name("reserved of the destination", "reserved of the source"),
                              &reserved,
                              {{at(world->host.data()), "an address"}}});
        parameters.push_back(
            {name("height of the destination", "height of the source"),
             &height,
             {{0, "0"}, {rows - 1, "below the rows"}, {rows, "the rows"}, {huge, "2^62"}, {all_ones, "2^64-1"}}});
    }
};

struct Section {
    Side to, from;
    Value width = ::width, rows = ::rows, depth = layers, stream = reinterpret_cast<Value>(world->stream);
    explicit Section(bool to_device) : to(to_device), from(!to_device) {}

    template <typename Copy>
    Copy sides() const {
        Copy copy{};
        copy.destination_type = static_cast<int>(to.type);
        copy.destination_host = pointer(to.host);
        copy.destination_device = to.device;
        copy.destination_x_bytes = to.x;
        copy.destination_y = to.y;
        copy.destination_pitch_bytes = to.pitch;
        copy.source_type = static_cast<int>(from.type);
        copy.source_host = pointer(from.host);
        copy.source_device = from.device;
        copy.source_x_bytes = from.x;
        copy.source_y = from.y;
        copy.source_pitch_bytes = from.pitch;
        copy.width_bytes = width;
        copy.height = rows;
        return copy;
    }
    Copy3d copy_3d() const {
        auto copy = sides<Copy3d>();
        copy.destination_z = to.z;
        copy.destination_level = to.level;
        copy.reserved_of_destination = pointer(to.reserved);
        copy.destination_height = to.height;
        copy.source_z = from.z;
        copy.source_level = from.level;
        copy.reserved_of_source = pointer(from.reserved);
        copy.source_height = from.height;
        copy.depth = depth;
        return copy;
    }
};

inline void add_sections(std::vector<Form>& forms, bool to_device) {
    static std::vector<std::unique_ptr<Section>> kept;
    const auto add = [&](const char* name, bool is_3d, bool is_async, auto call) {
        Section& given = *kept.emplace_back(std::make_unique<Section>(to_device));
        Form form{std::string(name) + (to_device ? " to the device" : " to the host"), {}, {}};
        given.to.describe(form.parameters, to_device, is_3d, false);
        given.from.describe(form.parameters, !to_device, is_3d, true);
        form.parameters.push_back({"width", &given.width, sizes(width)});
        form.parameters.push_back({"rows", &given.rows, sizes(rows)});
        if (is_3d) form.parameters.push_back({"layers", &given.depth, sizes(layers)});
        if (is_async) form.parameters.push_back({"stream", &given.stream, streams()});
        form.call = [&given, call] { return call(given); };
        forms.push_back(std::move(form));
    };
    add("cuMemcpy2D", false, false, [](Section& g) {
        const auto copy = g.sides<Copy2d>();
        return driver->cuMemcpy2D(&copy);
    });
    add("cuMemcpy2DAsync", false, true, [](Section& g) {
        const auto copy = g.sides<Copy2d>();
        return driver->cuMemcpy2DAsync(&copy, handle(g.stream));
    });
    add("cuMemcpy3D", true, false, [](Section& g) {
        const Copy3d copy = g.copy_3d();
        return driver->cuMemcpy3D(&copy);
    });
    add("cuMemcpy3DAsync", true, true, [](Section& g) {
        const Copy3d copy = g.copy_3d();
        return driver->cuMemcpy3DAsync(&copy, handle(g.stream));
    });
}

struct Pieces {
    static constexpr std::size_t most = 4, bytes = 65536;
    Value to[most], from[most], sizes[most], begins[most] = {0, 2};
    Value order[2] = {1, 3}, hint[2] = {0, 0}, flags[2] = {0, 1};
    Value count = most, kinds = 2, stream = reinterpret_cast<Value>(world->stream);
    Value has_to = 1, has_from = 1, has_sizes = 1, has_attributes = 1, has_begins = 1, has_failed = 1;
    std::size_t failed = 77;
    explicit Pieces(bool to_device) {
        for (std::size_t i = 0; i < most; ++i) {
            const Value device = world->device + i * 2 * bytes;
            const Value host = at(world->host.data() + i * 2 * bytes);
            to[i] = to_device ? device : host;
            from[i] = to_device ? host : device;
            sizes[i] = bytes;
        }
    }
    template <typename Batch>
    Code call(const Batch& batch) {
        CopyAttributes attributes[2] = {};
        for (std::size_t i = 0; i < 2; ++i) {
            attributes[i].source_access_order = static_cast<int>(order[i]);
            attributes[i].source_hint = {static_cast<int>(hint[i]), 0};
            attributes[i].flags = static_cast<unsigned>(flags[i]);
        }
        DevicePointer targets[most], sources[most];
        std::size_t lengths[most], first[most];
        for (std::size_t i = 0; i < most; ++i) {
            targets[i] = to[i];
            sources[i] = from[i];
            lengths[i] = sizes[i];
            first[i] = begins[i];
        }
        failed = 77;
        return batch(has_to != 0 ? targets : nullptr, has_from != 0 ? sources : nullptr,
                     has_sizes != 0 ? lengths : nullptr, count, has_attributes != 0 ? attributes : nullptr,
                     has_begins != 0 ? first : nullptr, kinds, has_failed != 0 ? &failed : nullptr, handle(stream));
    }
};

inline void add_batches(std::vector<Form>& forms, bool to_device) {
    static std::vector<std::unique_ptr<Pieces>> kept;
    static auto* const second =
        get<Code(DevicePointer*, DevicePointer*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*, std::size_t,
                 Stream)>("cuMemcpyBatchAsync_v2", "cuMemcpyBatchAsync_v2");
    const auto add = [&](const char* name, auto call) {
        Pieces& given = *kept.emplace_back(std::make_unique<Pieces>(to_device));
        const std::vector<Change> null{{0, "null"}};
        Form form{std::string(name) + (to_device ? " to the device" : " to the host"), {}, {}};
        form.parameters = {
            {"destination 0", &given.to[0], to_device ? device_places() : host_places()},
            {"destination 3", &given.to[3], to_device ? device_places() : host_places()},
            {"source 0", &given.from[0], to_device ? host_places() : device_places()},
            {"source 3", &given.from[3], to_device ? host_places() : device_places()},
            {"size 0", &given.sizes[0], sizes(Pieces::bytes)},
            {"size 3", &given.sizes[3], sizes(Pieces::bytes)},
            {"begin 0", &given.begins[0], {{1, "1"}}},
            {"begin 1", &given.begins[1], {{0, "0"}, {1, "1"}, {3, "3"}, {4, "4"}, {all_ones, "2^64-1"}}},
            {"order 0", &given.order[0], {{0, "0"}, {2, "2"}, {4, "4"}}},
            {"order 1", &given.order[1], {{0, "0"}, {2, "2"}, {4, "4"}}},
            {"hint", &given.hint[1], {{1, "a device"}, {2, "the host"}}},
            {"flags", &given.flags[1], {{0, "0"}, {2, "2"}, {0xffffffff, "2^32-1"}}},
            {"count", &given.count, {{0, "0"}, {1, "1"}, {3, "3"}}},
            {"kinds", &given.kinds, {{0, "0"}, {1, "1"}, {5, "5"}, {all_ones, "2^64-1"}}},
            {"destinations", &given.has_to, null},
            {"sources", &given.has_from, null},
            {"sizes", &given.has_sizes, null},
            {"attributes", &given.has_attributes, null},
            {"begins", &given.has_begins, null},
            {"the place for the failed one", &given.has_failed, null},
            {"stream", &given.stream, streams()},
        };
        form.call = [&given, call] { return given.call(call); };
        form.more = [&given] { return Value{given.failed}; };
        form.is_generic = true;
        forms.push_back(std::move(form));
    };
    if (driver->cuMemcpyBatchAsync != nullptr) add("cuMemcpyBatchAsync", driver->cuMemcpyBatchAsync);
    if (second != nullptr) {
        add("cuMemcpyBatchAsync_v2",
            [](auto to, auto from, auto bytes, auto count, auto given, auto begins, auto kinds, std::size_t*,
               Stream stream) { return second(to, from, bytes, count, given, begins, kinds, stream); });
    }
}

// What is refused is refused at once, whatever its stream still has to do.
inline Code behind_a_gate(const Form& form) {
    auto* const word = static_cast<std::uint32_t*>(world->gate);
    std::atomic_ref(*word).store(0);
    expect(driver->cuStreamWaitValue32(world->stream, at(word), 1, stream_wait_value_geq) == success);
    const Code code = form.call();
    std::atomic_ref(*word).store(1);
    expect(driver->cuStreamSynchronize(world->stream) == success);
    return code;
}
