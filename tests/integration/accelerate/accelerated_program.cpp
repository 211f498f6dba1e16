// A program that copies in every way that a program can, and says what came of it. What it prints is to be the same
// with and without the library that accelerates.
//
// accelerated_program REACH ROUNDS [SEED]: REACH is how it gets at the driver (driver.hpp). ROUNDS are copies of random
// forms and sizes, there or back, each of which is checked.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "driver.hpp"
#include "random_copies.hpp"

namespace {

constexpr std::size_t mib = 1 << 20;
// Two thirds of them are of sizes that the library looks at.
#ifndef MOST_MIB
#define MOST_MIB 32
#endif
constexpr Sizes sizes{MOST_MIB * mib, mib / 4, 667};

void say(const std::string& what, long number) {
    std::printf("%s: %ld\n", what.c_str(), number);
    std::fflush(stdout);
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
    // As often as the library looks which way is faster, when a part of each would go by either.
    for (int turn = 0; turn < 5; ++turn) {
        code("beyond the block", driver->cuMemcpyHtoD(block.address, host.data(), 2 * bytes));
        code("from beyond the block", driver->cuMemcpyDtoH(host.data(), block.address, 2 * bytes));
    }
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
    const int copies = std::atoi(words[2]);
    const std::uint64_t seed = count > 3 ? std::strtoull(words[3], nullptr, 10) : 1;
    Context context = begin_driver(words[1]);
    if (context == nullptr) return 77;
    keeps_order(context);
    fails_alike(context);
    records_graphs(context);
    other_memory(context);
    copy_on_threads(1, copies, sizes, seed, context);
    copy_on_threads(4, copies, sizes, seed + 100, context);
    if (Context anew = resets(context)) {
        keeps_order(anew);
        copy_on_threads(1, copies / 4 + 1, sizes, seed + 200, anew);
    }
    say("wrong", wrong);
    return wrong == 0 ? 0 : 1;
}
