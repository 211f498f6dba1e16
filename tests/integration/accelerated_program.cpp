// A program that copies in every way that a program can, and says what came of it. What it prints is to be the same
// with and without the library that accelerates.
//
// accelerated_program REACH ROUNDS [SEED]: REACH is how it gets at the driver: linked (if compiled with LINKED), dlsym,
// address (cuGetProcAddress), versioned (the first of these functions), or thread (with the thread's own default
// stream). ROUNDS are copies of random forms and sizes.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "driver/cuda_api.hpp"

using namespace isthmus::cuda;
using Code = ReturnCode;

#ifdef LINKED
extern "C" {
Code cuMemcpyHtoD_v2(DevicePointer, const void*, std::size_t);
Code cuMemcpyDtoH_v2(void*, DevicePointer, std::size_t);
Code cuMemcpyHtoDAsync_v2(DevicePointer, const void*, std::size_t, Stream);
Code cuMemcpyDtoHAsync_v2(void*, DevicePointer, std::size_t, Stream);
Code cuMemcpy(DevicePointer, DevicePointer, std::size_t);
}
#endif

namespace {

constexpr std::size_t mib = 1 << 20;
std::string reach;
std::atomic<long> wrong = 0;

void* library() {
    static void* const opened = dlopen("libcuda.so.1", RTLD_NOW);
    if (opened == nullptr) std::exit(77);
    return opened;
}

// The function of this name for cuGetProcAddress, and its symbol in the library.
template <typename Signature>
Signature* get(const char* name, const char* symbol) {
#ifdef LINKED
    if (reach == "linked") {
        const auto same = [&](const char* other) { return std::strcmp(symbol, other) == 0; };
        if (same("cuMemcpyHtoD_v2")) return reinterpret_cast<Signature*>(&cuMemcpyHtoD_v2);
        if (same("cuMemcpyDtoH_v2")) return reinterpret_cast<Signature*>(&cuMemcpyDtoH_v2);
        if (same("cuMemcpyHtoDAsync_v2")) return reinterpret_cast<Signature*>(&cuMemcpyHtoDAsync_v2);
        if (same("cuMemcpyDtoHAsync_v2")) return reinterpret_cast<Signature*>(&cuMemcpyDtoHAsync_v2);
        if (same("cuMemcpy")) return reinterpret_cast<Signature*>(&cuMemcpy);
    }
#endif
    void* found = nullptr;
    if (reach == "address" || reach == "thread") {
        static auto* const ask = reinterpret_cast<Code (*)(const char*, void**, int, std::uint64_t, int*)>(
            dlsym(library(), "cuGetProcAddress_v2"));
        if (ask != nullptr) (void)ask(name, &found, 12080, reach == "thread" ? 2 : 0, nullptr);
    }
    if (reach == "versioned") {
        static auto* const ask =
            reinterpret_cast<Code (*)(const char*, void**, int, std::uint64_t)>(dlsym(library(), "cuGetProcAddress"));
        if (ask != nullptr) (void)ask(name, &found, 11040, 0);
    }
    if (found == nullptr) found = dlsym(library(), symbol);
    return reinterpret_cast<Signature*>(found);
}

struct Driver {
#define FUNCTION(name, symbol, ...) Code (*name)(__VA_ARGS__) = get<Code(__VA_ARGS__)>(#name, symbol);
    FUNCTION(cuInit, "cuInit", unsigned)
    FUNCTION(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", Context*, Device)
    FUNCTION(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2", Device)
    FUNCTION(cuCtxSetCurrent, "cuCtxSetCurrent", Context)
    FUNCTION(cuMemAlloc, "cuMemAlloc_v2", DevicePointer*, std::size_t)
    FUNCTION(cuMemFree, "cuMemFree_v2", DevicePointer)
    FUNCTION(cuMemHostAlloc, "cuMemHostAlloc", void**, std::size_t, unsigned)
    FUNCTION(cuMemFreeHost, "cuMemFreeHost", void*)
    FUNCTION(cuMemHostRegister, "cuMemHostRegister_v2", void*, std::size_t, unsigned)
    FUNCTION(cuMemHostUnregister, "cuMemHostUnregister", void*)
    FUNCTION(cuMemsetD8Async, "cuMemsetD8Async", DevicePointer, unsigned char, std::size_t, Stream)
    FUNCTION(cuStreamCreate, "cuStreamCreate", Stream*, unsigned)
    FUNCTION(cuStreamDestroy, "cuStreamDestroy_v2", Stream)
    FUNCTION(cuStreamSynchronize, "cuStreamSynchronize", Stream)
    FUNCTION(cuStreamBeginCapture, "cuStreamBeginCapture_v2", Stream, int)
    FUNCTION(cuStreamEndCapture, "cuStreamEndCapture", Stream, Graph*)
    FUNCTION(cuEventCreate, "cuEventCreate", Event*, unsigned)
    FUNCTION(cuEventRecord, "cuEventRecord", Event, Stream)
    FUNCTION(cuEventQuery, "cuEventQuery", Event)
    FUNCTION(cuMemcpyHtoD, "cuMemcpyHtoD_v2", DevicePointer, const void*, std::size_t)
    FUNCTION(cuMemcpyDtoH, "cuMemcpyDtoH_v2", void*, DevicePointer, std::size_t)
    FUNCTION(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", DevicePointer, const void*, std::size_t, Stream)
    FUNCTION(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void*, DevicePointer, std::size_t, Stream)
    FUNCTION(cuMemcpy, "cuMemcpy", DevicePointer, DevicePointer, std::size_t)
    FUNCTION(cuMemcpyAsync, "cuMemcpyAsync", DevicePointer, DevicePointer, std::size_t, Stream)
    FUNCTION(cuMemcpy2D, "cuMemcpy2D_v2", const Copy2d*)
    FUNCTION(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", const Copy2d*, Stream)
    FUNCTION(cuMemcpy3D, "cuMemcpy3D_v2", const Copy3d*)
    FUNCTION(cuMemcpy3DAsync, "cuMemcpy3DAsync_v2", const Copy3d*, Stream)
#undef FUNCTION
    Code (*cuMemcpyBatchAsync)(DevicePointer*, DevicePointer*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*,
                               std::size_t, std::size_t*, Stream) =
        get<Code(DevicePointer*, DevicePointer*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*, std::size_t,
                 std::size_t*, Stream)>("cuMemcpyBatchAsync", "cuMemcpyBatchAsync");
};
const Driver* driver = nullptr;

void say(const std::string& what, long number) {
    std::printf("%s: %ld\n", what.c_str(), number);
    std::fflush(stdout);
}

DevicePointer at(const void* host) {
    return reinterpret_cast<DevicePointer>(host);
}

std::vector<std::byte> bytes_of(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::byte> made(bytes);
    std::mt19937_64 random(seed);
    std::size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        const std::uint64_t word = random();
        std::memcpy(made.data() + i, &word, 8);
    }
    for (; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 31 + seed);
    return made;
}

// In parts that are too small for the library to look at.
void fetch(std::byte* to, DevicePointer from, std::size_t bytes) {
    constexpr std::size_t part = 128 << 10;
    for (std::size_t i = 0; i < bytes; i += part) {
        if (driver->cuMemcpyDtoH(to + i, from + i, std::min(part, bytes - i)) != success) ++wrong;
    }
}
void put(DevicePointer to, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t part = 128 << 10;
    for (std::size_t i = 0; i < bytes; i += part) {
        if (driver->cuMemcpyHtoD(to + i, from + i, std::min(part, bytes - i)) != success) ++wrong;
    }
}

void expect(bool right) {
    if (!right) ++wrong;
}

struct Block {
    explicit Block(std::size_t bytes) { expect(driver->cuMemAlloc(&address, bytes) == success); }
    ~Block() { driver->cuMemFree(address); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    DevicePointer address = 0;
};

// One copy there or back of a random form: right data, nothing beyond it touched, and only when it says so.
void round(std::mt19937_64& random, Block& block, std::size_t room, Stream stream) {
    const std::size_t exponent = 14 + random() % 11;
    const std::size_t bytes =
        std::min<std::size_t>((std::size_t{1} << exponent) + random() % (std::size_t{1} << exponent), room - 8192);
    const std::size_t host_begin = random() % 4096;
    const std::size_t device_begin = random() % 4096;
    const bool to_device = random() % 2 != 0;
    const unsigned form = static_cast<unsigned>(random() % 8);
    std::vector<std::byte> host = bytes_of(bytes + 8192, random());
    const std::vector<std::byte> before_host = host;
    std::vector<std::byte> on_device = bytes_of(bytes + 8192, random());
    put(block.address, on_device.data(), on_device.size());
    // Such copies have read their source when they return, and need not have arrived.
    driver->cuStreamSynchronize(nullptr);
    std::byte* const mine = host.data() + host_begin;
    const DevicePointer theirs = block.address + device_begin;
    Code code = success;
    // Rows: as many bytes, cut and laid apart as they fit.
    const std::size_t width = 1 + random() % std::min<std::size_t>(bytes, 3 * mib);
    const std::size_t host_pitch = width + random() % 64;
    const std::size_t device_pitch = width + random() % 64;
    const std::size_t height = std::max<std::size_t>(1, bytes / std::max(host_pitch, device_pitch));
    bool rows = false;
    std::vector<DevicePointer> to, from;
    std::vector<std::size_t> sizes;
    bool waits = true;
    switch (form) {
        case 0:
            code = to_device ? driver->cuMemcpyHtoD(theirs, mine, bytes) : driver->cuMemcpyDtoH(mine, theirs, bytes);
            break;
        case 1:
        case 2:
            waits = form == 1;
            code = to_device ? driver->cuMemcpyHtoDAsync(theirs, mine, bytes, stream)
                             : driver->cuMemcpyDtoHAsync(mine, theirs, bytes, stream);
            break;
        case 3:
            code = to_device ? driver->cuMemcpy(theirs, at(mine), bytes) : driver->cuMemcpy(at(mine), theirs, bytes);
            break;
        case 4:
            code = to_device ? driver->cuMemcpyAsync(theirs, at(mine), bytes, stream)
                             : driver->cuMemcpyAsync(at(mine), theirs, bytes, stream);
            break;
        case 5:
        case 6: {
            rows = true;
            Copy2d copy{};
            copy.width_bytes = width;
            copy.height = height;
            copy.source_type = to_device ? 1 : 2;
            copy.destination_type = to_device ? 2 : 1;
            copy.source_host = mine;
            copy.destination_host = mine;
            copy.source_device = copy.destination_device = theirs;
            copy.source_pitch_bytes = to_device ? host_pitch : device_pitch;
            copy.destination_pitch_bytes = to_device ? device_pitch : host_pitch;
            code = form == 5 ? driver->cuMemcpy2D(&copy) : driver->cuMemcpy2DAsync(&copy, stream);
            break;
        }
        default: {
            if (driver->cuMemcpyBatchAsync == nullptr || stream == nullptr) return;
            const std::size_t pieces = 1 + random() % 40;
            const std::size_t piece = bytes / pieces;
            for (std::size_t i = 0; i < pieces && piece != 0; ++i) {
                to.push_back(to_device ? theirs + i * piece : at(mine + i * piece));
                from.push_back(to_device ? at(mine + i * piece) : theirs + i * piece);
                sizes.push_back(piece - (piece > 1 ? random() % 2 : 0));
            }
            CopyAttributes attributes{};
            attributes.source_access_order = 1;
            std::size_t first = 0, failed = 0;
            code = driver->cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), to.size(), &attributes, &first, 1,
                                              &failed, stream);
            break;
        }
    }
    expect(code == success);
    // What an asynchronous copy to the device has read is the program's again; what comes after it in the stream sees
    // what it brought.
    const std::vector<std::byte> given = host;
    if (to_device && form != 7) std::memset(host.data(), 0, host.size());
    if (!waits || form != 0) expect(driver->cuStreamSynchronize(stream) == success);
    // What should be where now.
    std::vector<std::byte> device_now(on_device.size());
    fetch(device_now.data(), block.address, device_now.size());
    std::vector<std::byte> host_should = before_host;
    std::vector<std::byte> device_should = on_device;
    const auto moved = [&](std::size_t host_at, std::size_t device_at, std::size_t count) {
        std::byte* target = to_device ? device_should.data() + device_at : host_should.data() + host_at;
        const std::byte* source = to_device ? before_host.data() + host_at : on_device.data() + device_at;
        std::memcpy(target, source, count);
    };
    if (rows) {
        for (std::size_t y = 0; y < height; ++y) {
            moved(host_begin + y * host_pitch, device_begin + y * device_pitch, width);
        }
    } else if (!to.empty()) {
        for (std::size_t i = 0; i < to.size(); ++i) {
            const DevicePointer there = to_device ? to[i] : from[i];
            const DevicePointer here = to_device ? from[i] : to[i];
            moved(here - at(host.data()), there - block.address, sizes[i]);
        }
    } else {
        moved(host_begin, device_begin, bytes);
    }
    expect(device_now == device_should);
    expect((to_device ? given : host) == host_should);
}

void rounds(int count, std::uint64_t seed, Context context) {
    driver->cuCtxSetCurrent(context);
    std::mt19937_64 random(seed);
    const std::size_t room = 33 * mib;
    Block block(room);
    Stream streams[3] = {};
    driver->cuStreamCreate(&streams[1], 0);
    driver->cuStreamCreate(&streams[2], 1);
    for (int i = 0; i < count; ++i) {
        // The default stream of all waits for others' streams, which is not what a thread alone can foresee.
        round(random, block, room, streams[reach == "thread" ? random() % 3 : 1 + random() % 2]);
    }
    for (Stream stream : {streams[1], streams[2]}) driver->cuStreamDestroy(stream);
}

// Work before and after a copy stays before and after it.
void keeps_order(Context) {
    const std::size_t bytes = 5 * mib + 17;
    Block block(bytes);
    std::vector<std::byte> ones = bytes_of(bytes, 1), back(bytes);
    Stream stream = nullptr;
    driver->cuStreamCreate(&stream, 0);
    for (Stream used : {stream, Stream(nullptr)}) {
        driver->cuMemsetD8Async(block.address, 7, bytes, used);
        driver->cuMemcpyHtoDAsync(block.address, ones.data(), bytes, used);
        driver->cuMemcpyDtoHAsync(back.data(), block.address, bytes, used);
        driver->cuMemsetD8Async(block.address, 9, bytes, used);
        driver->cuStreamSynchronize(used);
        expect(back == ones);
        driver->cuMemcpyDtoH(back.data(), block.address, bytes);
        expect(back == std::vector<std::byte>(bytes, std::byte{9}));
        // The synchronous copy comes after what the default stream, or streams that wait for it, hold.
        driver->cuMemsetD8Async(block.address, 3, bytes, used);
        driver->cuStreamSynchronize(used);
        driver->cuMemcpyHtoD(block.address, ones.data(), bytes);
        std::memset(back.data(), 0, bytes);
        driver->cuMemcpyDtoH(back.data(), block.address, bytes);
        expect(back == ones);
    }
    Event event = nullptr;
    driver->cuEventCreate(&event, 0);
    driver->cuMemcpyDtoHAsync(back.data(), block.address, bytes, stream);
    driver->cuEventRecord(event, stream);
    driver->cuStreamSynchronize(stream);
    say("event has passed", driver->cuEventQuery(event));
    driver->cuMemcpyHtoDAsync(block.address, ones.data(), bytes, stream);
    say("stream destroyed behind a copy", driver->cuStreamDestroy(stream));
}

// The driver's codes.
void fails_alike(Context context) {
    const std::size_t bytes = 2 * mib;
    Block block(bytes);
    std::vector<std::byte> host = bytes_of(2 * bytes, 5);
    const auto code = [](const char* what, Code found) { say(what, found); };
    code("no bytes", driver->cuMemcpyHtoD(block.address, host.data(), 0));
    code("beyond the block", driver->cuMemcpyHtoD(block.address, host.data(), 2 * bytes));
    code("from beyond the block", driver->cuMemcpyDtoH(host.data(), block.address, 2 * bytes));
    code("host to host", driver->cuMemcpy(at(host.data()), at(host.data() + bytes), bytes));
    driver->cuCtxSetCurrent(nullptr);
    code("in no context", driver->cuMemcpyHtoD(block.address, host.data(), bytes));
    driver->cuCtxSetCurrent(context);
    Copy2d copy{};
    copy.source_type = 1;
    copy.destination_type = 2;
    copy.source_host = host.data();
    copy.destination_device = block.address;
    copy.width_bytes = 2048;
    copy.height = 512;
    copy.source_pitch_bytes = copy.destination_pitch_bytes = 1024;
    code("pitches too short", driver->cuMemcpy2D(&copy));
    std::vector<std::byte> back(bytes);
    fetch(back.data(), block.address, 4096);
}

void records_graphs(Context) {
    const std::size_t bytes = 4 * mib;
    Block block(bytes);
    std::vector<std::byte> host = bytes_of(bytes, 3);
    Stream stream = nullptr, other = nullptr;
    driver->cuStreamCreate(&stream, 1);
    driver->cuStreamCreate(&other, 1);
    say("begin", driver->cuStreamBeginCapture(stream, 2));
    say("copy in a capture", driver->cuMemcpyHtoDAsync(block.address, host.data(), bytes, stream));
    say("copy beside it", driver->cuMemcpyHtoDAsync(block.address, host.data(), bytes, other));
    Graph graph = nullptr;
    say("end", driver->cuStreamEndCapture(stream, &graph));
    say("graph", graph != nullptr);
    driver->cuStreamSynchronize(other);
    std::vector<std::byte> back(bytes);
    fetch(back.data(), block.address, bytes);
    expect(back == host);
    driver->cuStreamDestroy(stream);
    driver->cuStreamDestroy(other);
}

// Memory that is the driver's matter.
void other_memory(Context) {
    const std::size_t bytes = 3 * mib;
    Block block(bytes);
    void* pinned = nullptr;
    driver->cuMemHostAlloc(&pinned, bytes, 0);
    const std::vector<std::byte> data = bytes_of(bytes, 11);
    std::memcpy(pinned, data.data(), bytes);
    say("pinned", driver->cuMemcpyHtoD(block.address, pinned, bytes));
    std::vector<std::byte> back(bytes);
    fetch(back.data(), block.address, bytes);
    expect(back == data);
    driver->cuMemFreeHost(pinned);
    auto* pages =
        static_cast<std::byte*>(mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    driver->cuMemHostRegister(pages, bytes, 0);
    std::memcpy(pages, data.data(), bytes);
    say("registered", driver->cuMemcpyHtoD(block.address, pages, bytes));
    say("registered in part", driver->cuMemcpyHtoD(block.address, pages + mib, bytes));
    driver->cuMemHostUnregister(pages);
    std::memset(pages, 1, 2 * bytes);
    // Read-only memory is a good source.
    mprotect(pages, 2 * bytes, PROT_READ);
    say("read-only", driver->cuMemcpyHtoD(block.address, pages, bytes));
    fetch(back.data(), block.address, bytes);
    expect(back == std::vector<std::byte>(bytes, std::byte{1}));
    munmap(pages, 2 * bytes);
}

void on_threads(int count, std::uint64_t seed, Context context) {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(rounds, count / 4, seed + i, context);
    for (std::thread& thread : threads) thread.join();
}

// All that the context had is gone; a new one works.
Context resets(Context) {
    if (driver->cuDevicePrimaryCtxReset == nullptr) return nullptr;
    say("reset", driver->cuDevicePrimaryCtxReset(0));
    Context context = nullptr;
    driver->cuDevicePrimaryCtxRetain(&context, 0);
    driver->cuCtxSetCurrent(context);
    return context;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    reach = words[1];
    const int copies = std::atoi(words[2]);
    const std::uint64_t seed = count > 3 ? std::strtoull(words[3], nullptr, 10) : 1;
    const Driver functions;
    driver = &functions;
    if (driver->cuInit(0) != success) return 77;
    Context context = nullptr;
    driver->cuDevicePrimaryCtxRetain(&context, 0);
    driver->cuCtxSetCurrent(context);
    keeps_order(context);
    fails_alike(context);
    records_graphs(context);
    other_memory(context);
    rounds(copies, seed, context);
    on_threads(copies, seed + 100, context);
    if (Context anew = resets(context)) {
        keeps_order(anew);
        rounds(copies / 4 + 1, seed + 200, anew);
    }
    say("wrong", wrong);
    return wrong == 0 ? 0 : 1;
}
