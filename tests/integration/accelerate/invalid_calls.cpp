// Calls that copy, each with one parameter or two changed to what is wrong or unusual: a line for each of what the
// driver answered, also behind work that has not ended, and of what is in memory then.
//
// invalid_calls REACH [SEED]: REACH is how it gets at the driver (driver.hpp). No line says where memory lies, so that
// two runs say the same where the driver is the same. A call that ends its process, as drivers do where an address is
// missing, has the signal for an answer, and a process anew makes those behind it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver.hpp"

namespace {

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
World* world = nullptr;

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

std::vector<Change> device_places() {
    return {{0, "null"},
            {at(world->host.data()), "the host's"},
            {world->device + block_bytes - 100, "near the end"},
            {world->device + block_bytes, "the end"},
            {world->small, "a small block"},
            {world->device + 64, "later"}};
}
std::vector<Change> host_places() {
    return {{0, "null"},
            {world->device, "the device's"},
            {at(world->pinned), "page-locked"},
            {at(world->registered), "locked where it begins"},
            {at(world->registered) - 4096, "locked in the middle"},
            {at(world->registered) + locked_bytes - pitch, "locked up to the second row"},
            {at(world->host.data() + 64), "later"}};
}
std::vector<Change> sizes(Value size) {
    return {{0, "0"}, {1, "1"}, {size + 1, "one more"}, {size - 1, "one less"}, {huge, "2^62"}, {all_ones, "2^64-1"}};
}
std::vector<Change> streams() {
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

void* pointer(Value value) {
    return reinterpret_cast<void*>(value);
}
Stream handle(Value value) {
    return reinterpret_cast<Stream>(value);
}

void add_linear(std::vector<Form>& forms, bool to_device) {
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

void add_sections(std::vector<Form>& forms, bool to_device) {
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

void add_batches(std::vector<Form>& forms, bool to_device) {
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
Code behind_a_gate(const Form& form) {
    auto* const word = static_cast<std::uint32_t*>(world->gate);
    std::atomic_ref(*word).store(0);
    expect(driver->cuStreamWaitValue32(world->stream, at(word), 1, stream_wait_value_geq) == success);
    const Code code = form.call();
    std::atomic_ref(*word).store(1);
    expect(driver->cuStreamSynchronize(world->stream) == success);
    return code;
}

struct Chosen {
    const Parameter* parameter;
    const Change* change;
};

// Which call of all is made, which the process that waits for this one reads; those before `skipped` were made already.
long* at_call = nullptr;
long calls = 0, skipped = 0;
bool is_made_already() {
    *at_call = calls;
    return calls++ < skipped;
}

void report(const Form& form, const std::vector<Chosen>& chosen) {
    if (is_made_already()) return;
    std::string name = form.name;
    std::vector<Value> before;
    for (const auto& [parameter, change] : chosen) {
        before.push_back(*parameter->place);
        *parameter->place = change->value;
        name += std::string(", ") + parameter->name + ": " + change->name;
    }
    std::printf("%s: ", name.c_str());
    std::fflush(stdout);
    const Code code = form.call();
    const Code ended = driver->cuStreamSynchronize(world->stream);
    const Code all_ended = driver->cuStreamSynchronize(nullptr);
    const Value more = form.more();
    std::printf("%d %d %d %llu %016llx", code, ended, all_ended, static_cast<unsigned long long>(more),
                static_cast<unsigned long long>(world->digest()));
    if (code != success) std::printf(" gated %d", behind_a_gate(form));
    std::printf("\n");
    for (std::size_t i = chosen.size(); i-- > 0;) *chosen[i].parameter->place = before[i];
    if (code == success) world->reset();
}

void report_all(const Form& form, std::mt19937_64& random) {
    report(form, {});
    for (const Parameter& parameter : form.parameters) {
        for (const Change& change : parameter.changes) {
            if (form.is_generic && std::string_view(change.name) == "the end") continue;
            report(form, {{&parameter, &change}});
        }
    }
    if (form.is_generic) return;
    // Where an address points to is looked at, whatever the position that rows begin at.
    for (std::size_t i = 2; i < form.parameters.size(); ++i) {
        const Parameter& y = form.parameters[i];
        if (std::string_view(y.name).substr(0, 4) != "y of") continue;
        const Parameter& place = form.parameters[i - 2];
        for (const Change& change : place.changes) report(form, {{&place, &change}, {&y, y.changes.data()}});
    }
    // Two at once: what is wrong in two ways has one answer.
    for (int i = 0; i < 12; ++i) {
        const auto any = [&](const auto& list) -> const auto& {
            return list[random() % list.size()];
        };
        const Parameter& one = any(form.parameters);
        const Parameter& other = any(form.parameters);
        if (&one == &other) continue;
        report(form, {{&one, &any(one.changes)}, {&other, &any(other.changes)}});
    }
}

int all_calls(unsigned long long seed) {
    alarm(100);
    std::mt19937_64 random(seed);
    const Driver functions;
    driver = &functions;
    World made;
    world = &made;
    std::vector<Form> forms;
    for (const bool to_device : {true, false}) {
        add_linear(forms, to_device);
        add_sections(forms, to_device);
        add_batches(forms, to_device);
    }
    for (const Form& form : forms) report_all(form, random);
    // Without a context nothing is valid.
    driver->cuCtxSetCurrent(nullptr);
    for (const Form& form : forms) {
        if (is_made_already()) continue;
        std::printf("%s, without a context: ", form.name.c_str());
        std::fflush(stdout);
        std::printf("%d\n", form.call());
    }
    driver->cuCtxSetCurrent(world->context);
    std::printf("wrong: %ld\n", wrong.load());
    std::fflush(stdout);
    return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) return 2;
    reach = words[1];
    const unsigned long long seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
    void* const shared = mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    at_call = static_cast<long*>(shared);
    while (true) {
        const pid_t child = fork();
        if (child == 0) return all_calls(seed);
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        std::printf("ends with signal %d\n", WTERMSIG(status));
        std::fflush(stdout);
        if (WTERMSIG(status) == SIGALRM) return 1;
        skipped = *at_call + 1;
    }
}
