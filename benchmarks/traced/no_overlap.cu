// Frames go to the device, are worked on and come back, one after the other: no copy runs under a kernel.
#include <vector>

#include "program.hpp"

// Frames under way at the same time.
constexpr long SLOTS = 1;
constexpr std::size_t VALUES = 4 << 20;
constexpr std::size_t BYTES = VALUES * sizeof(std::uint32_t);
// Work for about as long as both copies of a frame take together, on an H200 behind PCI Express 5.
constexpr int ROUNDS = 384;

__host__ __device__ std::uint32_t stirred(std::uint32_t value) {
    for (int round = 0; round < ROUNDS; ++round) {
        value ^= value << 13;
        value ^= value >> 17;
        value ^= value << 5;
    }
    return value;
}

__global__ void stir(std::uint32_t* frame) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < VALUES) frame[at] = stirred(frame[at]);
}

struct Slot {
    Memory<std::uint32_t> frame = pinned<std::uint32_t>(VALUES);
    Memory<std::uint32_t> result = pinned<std::uint32_t>(VALUES);
    Memory<std::uint32_t> on_the_device = on_device<std::uint32_t>(VALUES);
    cudaStream_t stream = nullptr;
};

int main(int argc, char** argv) {
    const long frames = argument(argc, argv, 1, 800);
    std::vector<Slot> slots(SLOTS);
    for (Slot& slot : slots) {
        CHECK(cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking));
        for (std::size_t at = 0; at < VALUES; ++at) slot.frame[at] = static_cast<std::uint32_t>(at);
    }
    const auto submit = [&](long number) {
        Slot& slot = slots[number % SLOTS];
        slot.frame[0] = static_cast<std::uint32_t>(number);  // The next frame.
        copy_async(slot.on_the_device.get(), slot.frame.get(), BYTES, cudaMemcpyHostToDevice, slot.stream);
        stir<<<blocks(VALUES), THREADS, 0, slot.stream>>>(slot.on_the_device.get());
        CHECK(cudaGetLastError());
        copy_async(slot.result.get(), slot.on_the_device.get(), BYTES, cudaMemcpyDeviceToHost, slot.stream);
    };
    std::uint64_t checksum = 0;
    const auto collect = [&](long number) {
        const Slot& slot = slots[number % SLOTS];
        CHECK(cudaStreamSynchronize(slot.stream));
        checksum += slot.result[0];
    };
    for (long number = 0; number < SLOTS; ++number) submit(number);
    for (long number = 0; number < SLOTS; ++number) collect(number);

    checksum = 0;
    const Clock clock;
    for (long number = 0; number < frames; ++number) {
        if (number >= SLOTS) collect(number - SLOTS);
        submit(number);
    }
    for (long number = frames < SLOTS ? 0 : frames - SLOTS; number < frames; ++number) collect(number);
    const double seconds = clock.seconds();

    std::uint64_t expected = 0;
    for (long number = 0; number < frames; ++number) expected += stirred(static_cast<std::uint32_t>(number));
    expect(checksum == expected, "the first value of each result");
    for (const Slot& slot : slots) {
        for (std::size_t at = 0; at < VALUES; at += 1021) {
            expect(slot.result[at] == stirred(slot.frame[at]), "the last results");
        }
        CHECK(cudaStreamDestroy(slot.stream));
    }
    report("no_overlap", seconds, checksum);
}
