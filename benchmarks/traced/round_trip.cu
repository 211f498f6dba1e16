// A state that only the device works on goes there and comes back in every step.
#include "program.hpp"

constexpr std::size_t VALUES = 8 << 20;
constexpr std::size_t BYTES = VALUES * sizeof(std::uint32_t);

__host__ __device__ std::uint32_t next(std::uint32_t value) {
    return 1664525 * value + 1013904223;
}

__global__ void advance(std::uint32_t* state) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < VALUES) state[at] = next(state[at]);
}

int main(int argc, char** argv) {
    const long steps = argument(argc, argv, 1, 800);
    const auto state = pinned<std::uint32_t>(VALUES);
    const auto device_state = on_device<std::uint32_t>(VALUES);
    for (std::size_t at = 0; at < VALUES; ++at) state[at] = static_cast<std::uint32_t>(at);

    const auto send = [&] { copy_async(device_state.get(), state.get(), BYTES, cudaMemcpyHostToDevice); };
    const auto fetch = [&] { copy_async(state.get(), device_state.get(), BYTES, cudaMemcpyDeviceToHost); };
    const auto work = [&] {
        advance<<<blocks(VALUES), THREADS>>>(device_state.get());
        CHECK(cudaGetLastError());
    };
    const auto wait = [&] { CHECK(cudaStreamSynchronize(nullptr)); };
    send(), work(), fetch(), wait();

    const Clock clock;
    for (long step = 0; step < steps; ++step) send(), work(), fetch(), wait();
    const double seconds = clock.seconds();

    for (std::size_t at = 0; at < VALUES; at += 4099) {
        std::uint32_t expected = static_cast<std::uint32_t>(at);
        for (long step = 0; step <= steps; ++step) expected = next(expected);
        expect(state[at] == expected, "the last state");
    }
    std::uint64_t checksum = 0;
    for (std::size_t at = 0; at < VALUES; ++at) checksum += state[at];
    report("round_trip", seconds, checksum);
}
