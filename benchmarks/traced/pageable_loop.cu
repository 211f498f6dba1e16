// Frames go to the device and results come back, each through memory of malloc: every copy is a pageable one.
#include "program.hpp"

constexpr std::size_t VALUES = 16 << 20;
constexpr std::size_t BYTES = VALUES * sizeof(std::uint32_t);

__host__ __device__ std::uint32_t brighter(std::uint32_t value) {
    return 3 * value + 1;
}

__global__ void brighten(const std::uint32_t* frame, std::uint32_t* result) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < VALUES) result[at] = brighter(frame[at]);
}

int main(int argc, char** argv) {
    const long frames = argument(argc, argv, 1, 100);
    const auto frame = pageable<std::uint32_t>(VALUES);
    const auto result = pageable<std::uint32_t>(VALUES);
    const auto device_frame = on_device<std::uint32_t>(VALUES);
    const auto device_result = on_device<std::uint32_t>(VALUES);
    for (std::size_t at = 0; at < VALUES; ++at) frame[at] = static_cast<std::uint32_t>(at);

    std::uint64_t checksum = 0;
    const auto process = [&](long number) {
        frame[0] = static_cast<std::uint32_t>(number);  // The next frame.
        copy(device_frame.get(), frame.get(), BYTES, cudaMemcpyHostToDevice);
        brighten<<<blocks(VALUES), THREADS>>>(device_frame.get(), device_result.get());
        CHECK(cudaGetLastError());
        copy(result.get(), device_result.get(), BYTES, cudaMemcpyDeviceToHost);
        checksum += result[0];
    };
    process(0);

    const Clock clock;
    for (long number = 1; number <= frames; ++number) process(number);
    const double seconds = clock.seconds();

    std::uint64_t expected = 0;
    for (long number = 0; number <= frames; ++number) expected += brighter(static_cast<std::uint32_t>(number));
    expect(checksum == expected, "the first value of each result");
    for (std::size_t at = 0; at < VALUES; ++at) expect(result[at] == brighter(frame[at]), "the last result");
    report("pageable_loop", seconds, checksum);
}
