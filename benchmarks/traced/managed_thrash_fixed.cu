// Device and host touch a managed array in turns, and it is prefetched to whoever comes next.
#include "program.hpp"

constexpr std::size_t VALUES = 32 << 20;
constexpr std::size_t BYTES = VALUES * sizeof(std::uint32_t);
constexpr std::size_t PAGE_VALUES = 4096 / sizeof(std::uint32_t);

__host__ __device__ std::uint32_t next(std::uint32_t value) {
    return 3 * value + 1;
}

__global__ void advance(std::uint32_t* array) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < VALUES) array[at] = next(array[at]);
}

void prefetch(void* memory, std::size_t bytes, bool to_host) {
    int device = 0;
    CHECK(cudaGetDevice(&device));
#if CUDART_VERSION >= 13000
    const cudaMemLocation place{to_host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, to_host ? 0 : device};
    CHECK(cudaMemPrefetchAsync(memory, bytes, place, 0, nullptr));
#else
    CHECK(cudaMemPrefetchAsync(memory, bytes, to_host ? cudaCpuDeviceId : device, nullptr));
#endif
}

int main(int argc, char** argv) {
    const long turns = argument(argc, argv, 1, 30);
    const auto array = managed<std::uint32_t>(VALUES);
    for (std::size_t at = 0; at < VALUES; ++at) array[at] = static_cast<std::uint32_t>(at);

    const auto take_turns = [&] {
        prefetch(array.get(), BYTES, false);
        advance<<<blocks(VALUES), THREADS>>>(array.get());
        CHECK(cudaGetLastError());
        prefetch(array.get(), BYTES, true);
        CHECK(cudaStreamSynchronize(nullptr));
        for (std::size_t at = 0; at < VALUES; at += PAGE_VALUES) array[at] += 1;
    };
    take_turns();

    const Clock clock;
    for (long turn = 0; turn < turns; ++turn) take_turns();
    const double seconds = clock.seconds();

    for (std::size_t at = 0; at < VALUES; at += PAGE_VALUES / 2) {
        std::uint32_t expected = static_cast<std::uint32_t>(at);
        for (long turn = 0; turn <= turns; ++turn) expected = next(expected) + (at % PAGE_VALUES == 0 ? 1 : 0);
        expect(array[at] == expected, "the array after the last turn");
    }
    std::uint64_t checksum = 0;
    for (std::size_t at = 0; at < VALUES; ++at) checksum += array[at];
    report("managed_thrash_fixed", seconds, checksum);
}
