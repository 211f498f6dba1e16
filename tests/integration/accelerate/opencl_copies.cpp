// A program that copies by OpenCL in every way that a program can, and says what came of it. What it prints is to be
// the same with and without the library that accelerates.
//
// opencl_copies REACH ROUNDS [SEED]: REACH is how it gets at OpenCL: linked or dlsym. ROUNDS are copies of random forms
// and sizes, each of which is checked.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/opencl_api.hpp"

using namespace isthmus::opencl;

using Destroyed = void (*)(Context, void*);

extern "C" {
ReturnCode clGetPlatformIDs(std::uint32_t, Platform*, std::uint32_t*);
ReturnCode clRetainContext(Context);
Context clCreateContextFromType(const Properties*, Flags, ContextNotify, void*, ReturnCode*);
ReturnCode clSetContextDestructorCallback(Context, Destroyed, void*);
#define DECLARE(function, place, since, result, parameters) result function parameters;
ISTHMUS_OPENCL_FUNCTIONS(DECLARE)
}

namespace {

constexpr std::size_t mib = 1 << 20;
constexpr Bool waits = 1;
constexpr std::size_t looked_at = 256 << 10;  // from here on the library looks at copies
std::string reach;
std::atomic<long> wrong = 0;

void* address_of(const char* name) {
    if (reach == "dlsym") {
        static void* const library = dlopen("libOpenCL.so.1", RTLD_NOW);
        return dlsym(library, name);
    }
#define LINKED(function, place, since, result, parameters) \
    if (std::strcmp(name, #function) == 0) return reinterpret_cast<void*>(&(function));
    ISTHMUS_OPENCL_FUNCTIONS(LINKED)
    LINKED(clRetainContext, , , , )
    LINKED(clCreateContextFromType, , , , )
    return nullptr;
}

template <typename Signature>
Signature* get(const char* name) {
    return reinterpret_cast<Signature*>(address_of(name));
}

const Api* cl = nullptr;

void say(const char* what, long number) {
    std::printf("%s: %ld\n", what, number);
    std::fflush(stdout);
}

void expect(bool right) {
    if (!right) ++wrong;
}

std::vector<std::byte> bytes_of(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::byte> made(bytes);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        const std::uint64_t word = random();
        std::memcpy(made.data() + i, &word, 8);
    }
    return made;
}

// What a program has on one device. `bytes` of a buffer, and queues, one after another's work.
struct Machine {
    Device device = nullptr;
    Context context = nullptr;
    std::vector<Queue> queues;

    explicit Machine(std::initializer_list<Flags> flags = {0, 0}, bool by_type = false) {
        Platform platform = nullptr;
        if (clGetPlatformIDs(1, &platform, nullptr) != success) std::exit(77);
        cl->clGetDeviceIDs(platform, device_type_all, 1, &device, nullptr);
        const Properties properties[] = {0x1084, reinterpret_cast<Properties>(platform), 0};
        static auto* const from_type = get<decltype(clCreateContextFromType)>("clCreateContextFromType");
        context = by_type ? from_type(properties, device_type_all, nullptr, nullptr, nullptr)
                          : cl->clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
        for (const Flags each : flags) queues.push_back(cl->clCreateCommandQueue(context, device, each, nullptr));
    }
    ~Machine() {
        for (Queue queue : queues) cl->clReleaseCommandQueue(queue);
        cl->clReleaseContext(context);
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    Buffer buffer(std::size_t bytes, Flags flags = mem_read_write, void* host = nullptr) const {
        return cl->clCreateBuffer(context, flags, bytes, host, nullptr);
    }
};

ReturnCode write(Queue queue, Buffer to, std::size_t offset, std::size_t bytes, const void* host,
                 std::vector<Event> list = {}, Event* event = nullptr) {
    return cl->clEnqueueWriteBuffer(queue, to, waits, offset, bytes, host, static_cast<std::uint32_t>(list.size()),
                                    list.empty() ? nullptr : list.data(), event);
}
ReturnCode read(Queue queue, Buffer from, std::size_t offset, std::size_t bytes, void* host,
                std::vector<Event> list = {}, Event* event = nullptr) {
    return cl->clEnqueueReadBuffer(queue, from, waits, offset, bytes, host, static_cast<std::uint32_t>(list.size()),
                                   list.empty() ? nullptr : list.data(), event);
}
// In parts that are too small for the library to look at.
std::vector<std::byte> fetched(Queue queue, Buffer from, std::size_t bytes) {
    std::vector<std::byte> back(bytes);
    for (std::size_t i = 0; i < bytes; i += looked_at / 2) {
        expect(read(queue, from, i, std::min(looked_at / 2, bytes - i), back.data() + i) == success);
    }
    return back;
}
void put(Queue queue, Buffer to, const std::vector<std::byte>& data) {
    for (std::size_t i = 0; i < data.size(); i += looked_at / 2) {
        expect(write(queue, to, i, std::min(looked_at / 2, data.size() - i), data.data() + i) == success);
    }
}
void fill(Queue queue, Buffer buffer, char value, std::size_t bytes, std::vector<Event> list = {},
          Event* event = nullptr) {
    expect(cl->clEnqueueFillBuffer(queue, buffer, &value, 1, 0, bytes, static_cast<std::uint32_t>(list.size()),
                                   list.empty() ? nullptr : list.data(), event) == success);
}
std::int64_t of_event(Event event, std::uint32_t what) {
    std::int32_t found = -12345;
    cl->clGetEventInfo(event, what, sizeof found, &found, nullptr);
    return found;
}

// Each place in the program is learned about by itself, so that it takes many for the library to make many copies.
using PlaceToCopy = ReturnCode (*)(bool, Queue, Buffer, std::size_t, std::size_t, std::byte*, const std::vector<Event>&,
                                   Event*);
template <std::size_t place>
ReturnCode copy_at(bool to_device, Queue queue, Buffer buffer, std::size_t offset, std::size_t bytes, std::byte* host,
                   const std::vector<Event>& list, Event* event) {
    const auto count = static_cast<std::uint32_t>(list.size());
    const Event* const first = list.empty() ? nullptr : list.data();
    const ReturnCode code =
        to_device ? cl->clEnqueueWriteBuffer(queue, buffer, waits, offset, bytes, host, count, first, event)
                  : cl->clEnqueueReadBuffer(queue, buffer, waits, offset, bytes, host, count, first, event);
    // Makes no two of these alike, and the calls above return here.
    asm volatile("# %0" : : "i"(place));
    return code;
}
template <std::size_t... place>
constexpr std::array<PlaceToCopy, sizeof...(place)> places_of(std::index_sequence<place...>) {
    return {&copy_at<place>...};
}
constexpr auto places = places_of(std::make_index_sequence<64>());

// One copy there or back of a random form: right data, nothing beyond it touched, and behind its list.
void round(std::mt19937_64& random, const Machine& machine, Queue queue, std::size_t room) {
    const std::size_t exponent = 14 + random() % 10;
    const std::size_t bytes = (std::size_t{1} << exponent) + random() % (std::size_t{1} << exponent);
    const std::size_t offset = random() % (room - bytes), host_offset = random() % 5000;
    const bool to_device = random() % 2 == 0, wants_event = random() % 2 == 0;
    Buffer buffer = machine.buffer(room);
    std::vector<std::byte> on_device = bytes_of(room, random());
    std::vector<std::byte> host = bytes_of(host_offset + bytes + 64, random());
    put(queue, buffer, on_device);
    std::vector<Event> list;
    std::thread later;
    if (random() % 3 == 0) {
        // Another queue's work, which waits for another thread.
        Event begin = cl->clCreateUserEvent(machine.context, nullptr), filled = nullptr;
        const Queue other = machine.queues[queue == machine.queues[0] ? 1 : 0];
        fill(other, buffer, 5, room, {begin}, &filled);
        cl->clFlush(other);
        std::fill(on_device.begin(), on_device.end(), std::byte{5});
        list.push_back(filled);
        later = std::thread([begin] {
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
            cl->clSetUserEventStatus(begin, complete);
            cl->clReleaseEvent(begin);
        });
    }
    std::vector<std::byte> device_should = on_device, host_should = host;
    std::byte* const there = device_should.data() + offset;
    std::byte* const here = host_should.data() + host_offset;
    std::memcpy(to_device ? there : here, to_device ? here : there, bytes);
    Event event = nullptr;
    Event* const wanted = wants_event ? &event : nullptr;
    expect(places[random() % places.size()](to_device, queue, buffer, offset, bytes, host.data() + host_offset, list,
                                            wanted) == success);
    if (wants_event) {
        expect(of_event(event, event_command_execution_status) == complete);
        cl->clReleaseEvent(event);
    }
    if (later.joinable()) later.join();
    for (Event each : list) cl->clReleaseEvent(each);
    expect(host == host_should);
    expect(fetched(queue, buffer, room) == device_should);
    cl->clReleaseMemObject(buffer);
}

void rounds(int count, std::uint64_t seed, const Machine& machine, std::size_t place) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < count; ++i) round(random, machine, machine.queues[place + random() % 2], 17 * mib);
}

void on_threads(int count, std::uint64_t seed) {
    const Machine machine{0, 0, 0, 0, 0, 0, 0, 0};
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) {
        threads.emplace_back([&machine, count, seed, i] { rounds(count / 4, seed + i, machine, 2 * i); });
    }
    for (std::thread& thread : threads) thread.join();
}

// Work before and after a copy stays before and after it.
void keeps_order() {
    const Machine machine;
    const std::size_t bytes = 5 * mib + 17;
    Buffer buffer = machine.buffer(bytes);
    const std::vector<std::byte> ones = bytes_of(bytes, 1);
    std::vector<std::byte> back(bytes);
    const Queue queue = machine.queues[0];
    fill(queue, buffer, 7, bytes);
    expect(read(queue, buffer, 0, bytes, back.data()) == success);
    expect(back == std::vector<std::byte>(bytes, std::byte{7}));
    fill(queue, buffer, 8, bytes);
    expect(write(queue, buffer, 0, bytes, ones.data()) == success);
    expect(fetched(queue, buffer, bytes) == ones);
    fill(queue, buffer, 9, bytes);
    expect(read(queue, buffer, 0, bytes, back.data()) == success);
    expect(back == std::vector<std::byte>(bytes, std::byte{9}));
    cl->clReleaseMemObject(buffer);
}

void says_events() {
    const Machine machine{0, queue_profiling_enable, queue_out_of_order_exec_mode_enable};
    const std::size_t bytes = 3 * mib;
    Buffer buffer = machine.buffer(bytes);
    std::vector<std::byte> host = bytes_of(bytes, 3);
    for (Queue queue : machine.queues) {
        Event event = nullptr;
        say("write", write(queue, buffer, 0, bytes, host.data(), {}, &event));
        const Event behind = event;
        say("read behind it", read(queue, buffer, 0, bytes, host.data(), {behind}, &event));
        cl->clReleaseEvent(behind);
        for (const std::uint32_t what : {0x11D1U, event_command_execution_status}) {
            say("event", of_event(event, what));
        }
        Queue of = nullptr;
        cl->clGetEventInfo(event, 0x11D0, sizeof of, static_cast<void*>(&of), nullptr);
        say("of its queue", of == queue);
        std::uint64_t times[2] = {};
        ReturnCode code = success;
        for (const std::uint32_t what : {profiling_command_start, profiling_command_end}) {
            code = cl->clGetEventProfilingInfo(event, what, sizeof times[0], &times[what - profiling_command_start],
                                               nullptr);
        }
        say("times", code);
        say("took time", times[1] > times[0]);
        cl->clReleaseEvent(event);
    }
    expect(host == bytes_of(bytes, 3));
    cl->clReleaseMemObject(buffer);
}

// The driver's codes.
void fails_alike() {
    const Machine machine, other;
    const std::size_t bytes = 2 * mib;
    const Queue queue = machine.queues[0];
    Buffer buffer = machine.buffer(bytes), foreign = other.buffer(bytes);
    Buffer write_only = machine.buffer(bytes, mem_read_write | mem_host_write_only);
    Buffer read_only = machine.buffer(bytes, mem_read_write | mem_host_read_only);
    std::vector<std::byte> host(2 * bytes);
    const Event none[1] = {};
    Event event = nullptr;
    say("no bytes", write(queue, buffer, 0, 0, host.data()));
    say("beyond", write(queue, buffer, mib, bytes, host.data(), {}, &event));
    say("far beyond", read(queue, buffer, 1024 * mib, bytes, host.data()));
    say("no memory", write(queue, buffer, 0, bytes, nullptr));
    say("no buffer", write(queue, nullptr, 0, bytes, host.data()));
    say("no queue", write(nullptr, buffer, 0, bytes, host.data()));
    say("of another context", read(queue, foreign, 0, bytes, host.data()));
    say("write only", read(queue, write_only, 0, bytes, host.data()));
    say("read only", write(queue, read_only, 0, bytes, host.data()));
    say("no list", cl->clEnqueueWriteBuffer(queue, buffer, waits, 0, bytes, host.data(), 1, nullptr, nullptr));
    say("a list of none", cl->clEnqueueWriteBuffer(queue, buffer, waits, 0, bytes, host.data(), 0, none, nullptr));
    say("no event in it", cl->clEnqueueReadBuffer(queue, buffer, waits, 0, bytes, host.data(), 1, none, nullptr));
    say("no event came of it", event == nullptr);
    for (Buffer each : {buffer, foreign, write_only, read_only}) cl->clReleaseMemObject(each);
}

// Memory that is the driver's matter, or parts of what is not.
void other_memory() {
    const Machine machine({0}, true);
    const Queue queue = machine.queues[0];
    const std::size_t bytes = 3 * mib;
    const std::vector<std::byte> data = bytes_of(bytes, 11);
    Buffer buffer = machine.buffer(bytes), pinned = machine.buffer(bytes, mem_read_write | mem_alloc_host_ptr);
    auto* mapped = static_cast<std::byte*>(
        cl->clEnqueueMapBuffer(queue, pinned, waits, map_write, 0, bytes, 0, nullptr, nullptr, nullptr));
    std::memcpy(mapped, data.data(), bytes);
    say("from mapped memory", write(queue, buffer, 0, bytes, mapped));
    expect(fetched(queue, buffer, bytes) == data);
    say("from a part of it", write(queue, buffer, 1, bytes - mib, mapped + mib));
    cl->clEnqueueUnmapMemObject(queue, pinned, mapped, 0, nullptr, nullptr);
    std::vector<std::byte> back(bytes), kept(bytes);
    say("from pinned memory", read(queue, pinned, 0, bytes, back.data()));
    expect(back == data);
    Buffer over = machine.buffer(bytes, mem_read_write | mem_use_host_ptr, kept.data());
    say("over memory of the program's", write(queue, over, 0, bytes, data.data()));
    expect(fetched(queue, over, bytes) == data);
    if (void* shared = cl->clSVMAlloc ? cl->clSVMAlloc(machine.context, mem_read_write, bytes, 0) : nullptr) {
        cl->clEnqueueSVMMap(queue, waits, map_write, shared, bytes, 0, nullptr, nullptr);
        std::memcpy(shared, data.data(), bytes);
        say("from shared memory", write(queue, buffer, 0, bytes, shared));
        cl->clEnqueueSVMUnmap(queue, shared, 0, nullptr, nullptr);
        cl->clFinish(queue);
        expect(fetched(queue, buffer, bytes) == data);
        cl->clSVMFree(machine.context, shared);
    }
    const BufferRegion region{mib, 2 * mib};
    Buffer part = cl->clCreateSubBuffer(buffer, mem_read_write, buffer_create_type_region, &region, nullptr);
    fill(queue, buffer, 0, bytes);
    say("into a part of a buffer", write(queue, part, 64, 2 * mib - 64, data.data()));
    std::vector<std::byte> should(bytes);
    std::memcpy(should.data() + mib + 64, data.data(), 2 * mib - 64);
    expect(fetched(queue, buffer, bytes) == should);
    say("beyond the part", write(queue, part, 64, 2 * mib, data.data()));
    auto* pages =
        static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(pages, 1, bytes);
    mprotect(pages, bytes, PROT_READ);
    say("from memory to be read alone", write(queue, buffer, 0, bytes, pages));
    expect(fetched(queue, buffer, bytes) == std::vector<std::byte>(bytes, std::byte{1}));
    munmap(pages, bytes);
    for (Buffer each : {part, buffer, pinned, over}) cl->clReleaseMemObject(each);
}

// Contexts end when the program gives back what it has there, and what holds one need not be the context.
void ends_contexts() {
    static auto* const retain = get<decltype(clRetainContext)>("clRetainContext");
    static std::atomic<int> ended = 0;
    const std::size_t bytes = 4 * mib;
    std::vector<std::byte> data = bytes_of(bytes, 17), back(bytes);
    for (int turn = 0; turn < 3; ++turn) {
        const Machine machine{};
        say("callback", clSetContextDestructorCallback(
                            machine.context, [](Context, void*) { ++ended; }, nullptr));
        Buffer buffer = machine.buffer(bytes);
        retain(machine.context);
        expect(write(machine.queues[0], buffer, 0, bytes, data.data()) == success);
        cl->clReleaseContext(machine.context);
        expect(read(machine.queues[0], buffer, 0, bytes, back.data()) == success && back == data);
        if (turn == 1) {
            // Its queue and its buffer are left.
            cl->clReleaseContext(machine.context);
            data = bytes_of(bytes, 18);
            expect(write(machine.queues[0], buffer, 0, bytes, data.data()) == success);
            expect(read(machine.queues[0], buffer, 0, bytes, back.data()) == success && back == data);
            say("ended too early", ended != 1);
            retain(machine.context);
        }
        cl->clReleaseMemObject(buffer);
    }
    // The driver's own threads let go of the last commands, at a time of their choosing.
    for (int turn = 0; turn < 6000 && ended < 3; ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    say("ended", ended);
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    reach = words[1];
    const int copies = std::atoi(words[2]);
    const std::uint64_t seed = count > 3 ? std::strtoull(words[3], nullptr, 10) : 1;
    const Api found = Api::found_by(address_of);
    cl = &found;
    keeps_order();
    says_events();
    fails_alike();
    other_memory();
    {
        const Machine machine;
        rounds(copies, seed, machine, 0);
    }
    on_threads(copies, seed + 100);
    ends_contexts();
    say("wrong", wrong);
    return wrong == 0 ? 0 : 1;
}
