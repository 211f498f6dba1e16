// Frames go to the device and sums come back, with nothing to gain: pinned memory, large copies, all under kernels.
#include <vector>

#include "program.hpp"

constexpr long SLOTS = 4;
constexpr std::size_t VALUES = 8 << 20, SUMS = 1 << 18;
constexpr std::size_t BYTES = VALUES * sizeof(std::uint32_t);
// Work for longer than the copy of a frame takes, on an H200 behind PCI Express 5.
constexpr int ROUNDS = 320;

__host__ __device__ std::uint32_t stirred(std::uint32_t value) {
    for (int round = 0; round < ROUNDS; ++round) {
        value ^= value << 13;
        value ^= value >> 17;
        value ^= value << 5;
    }
    return value;
}

// Every thread sums values that lie SUMS apart.
__global__ void sum(const std::uint32_t* frame, std::uint32_t* sums) {
    const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    std::uint32_t total = 0;
    for (std::size_t at = first; at < VALUES; at += SUMS) total += stirred(frame[at]);
    sums[first] = total;
}

struct Slot {
    Memory<std::uint32_t> frame = pinned<std::uint32_t>(VALUES);
    Memory<std::uint32_t> sums = pinned<std::uint32_t>(SUMS);
    Memory<std::uint32_t> device_frame = on_device<std::uint32_t>(VALUES);
    Memory<std::uint32_t> device_sums = on_device<std::uint32_t>(SUMS);
    cudaStream_t stream = nullptr;
};

int main(int argc, char** argv) {
    const long frames = argument(argc, argv, 1, 1200);
    std::vector<Slot> slots(SLOTS);
    for (Slot& slot : slots) {
        CHECK(cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking));
        for (std::size_t at = 0; at < VALUES; ++at) slot.frame[at] = static_cast<std::uint32_t>(at);
    }
    const auto submit = [&](long number) {
        Slot& slot = slots[number % SLOTS];
        slot.frame[0] = static_cast<std::uint32_t>(number);  // The next frame.
        copy_async(slot.device_frame.get(), slot.frame.get(), BYTES, cudaMemcpyHostToDevice, slot.stream);
        sum<<<blocks(SUMS), THREADS, 0, slot.stream>>>(slot.device_frame.get(), slot.device_sums.get());
        CHECK(cudaGetLastError());
        copy_async(slot.sums.get(), slot.device_sums.get(), SUMS * sizeof(std::uint32_t), cudaMemcpyDeviceToHost,
                   slot.stream);
    };
    std::uint64_t checksum = 0;
    const auto collect = [&](long number) {
        const Slot& slot = slots[number % SLOTS];
        CHECK(cudaStreamSynchronize(slot.stream));
        checksum += slot.sums[0];
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

    // The rest of the first sum is the same in every frame.
    std::uint32_t rest = 0;
    for (std::size_t at = SUMS; at < VALUES; at += SUMS) rest += stirred(static_cast<std::uint32_t>(at));
    std::uint64_t expected = 0;
    for (long number = 0; number < frames; ++number) expected += stirred(static_cast<std::uint32_t>(number)) + rest;
    expect(checksum == expected, "the first sum of each frame");
    for (const Slot& slot : slots) {
        for (std::size_t first = 1; first < SUMS; first += 1021) {
            std::uint32_t total = 0;
            for (std::size_t at = first; at < VALUES; at += SUMS) total += stirred(static_cast<std::uint32_t>(at));
            expect(slot.sums[first] == total, "the sums of the last frames");
        }
        CHECK(cudaStreamDestroy(slot.stream));
    }
    report("right", seconds, checksum);
}
