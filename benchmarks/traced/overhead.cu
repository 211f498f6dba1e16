// Loops of equal copies to the device, and a step of copies and a kernel again and again: what tracing them adds.
//
// overhead COUNT BYTES sync|async pageable|pinned   so many copies
// overhead COUNT                                    so many steps: 1 MiB and 64 KiB there, a kernel, 64 KiB back
#include "program.hpp"

constexpr std::size_t LARGE = 1 << 20, SMALL = 64 << 10, VALUES = LARGE / sizeof(std::uint32_t);
// Of the step's kernel: work for about as long as the step's copies take, on an H200.
constexpr int ROUNDS = 400;

__global__ void stir(std::uint32_t* values) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at >= VALUES) return;
    std::uint32_t value = values[at];
    for (int round = 0; round < ROUNDS; ++round) {
        value ^= value << 13;
        value ^= value >> 17;
        value ^= value << 5;
    }
    values[at] = value;
}

double seconds_of_copies(long count, std::size_t bytes, bool waits, bool locked) {
    const auto host = locked ? pinned<std::uint8_t>(bytes) : pageable<std::uint8_t>(bytes);
    const auto device = on_device<std::uint8_t>(bytes);
    const auto make = [&](long copies) {
        for (long number = 0; number < copies; ++number) {
            if (waits) {
                copy(device.get(), host.get(), bytes, cudaMemcpyHostToDevice);
            } else {
                copy_async(device.get(), host.get(), bytes, cudaMemcpyHostToDevice);
            }
        }
    };
    make(count / 10 + 1);
    const Clock clock;
    make(count);
    return clock.seconds();
}

double seconds_of_steps(long count) {
    const auto input = pinned<std::uint32_t>(VALUES);
    const auto parameters = pinned<std::uint8_t>(SMALL);
    const auto output = pinned<std::uint32_t>(SMALL / sizeof(std::uint32_t));
    const auto device_input = on_device<std::uint32_t>(VALUES);
    const auto device_parameters = on_device<std::uint8_t>(SMALL);
    const auto make = [&](long steps) {
        for (long number = 0; number < steps; ++number) {
            copy_async(device_input.get(), input.get(), LARGE, cudaMemcpyHostToDevice);
            copy_async(device_parameters.get(), parameters.get(), SMALL, cudaMemcpyHostToDevice);
            stir<<<blocks(VALUES), THREADS>>>(device_input.get());
            CHECK(cudaGetLastError());
            copy_async(output.get(), device_input.get(), SMALL, cudaMemcpyDeviceToHost);
            CHECK(cudaStreamSynchronize(nullptr));
        }
    };
    make(count / 10 + 1);
    const Clock clock;
    make(count);
    return clock.seconds();
}

bool chosen(const char* found, const char* one, const char* other) {
    if (std::strcmp(found, one) == 0) return true;
    if (std::strcmp(found, other) == 0) return false;
    std::fprintf(stderr, "overhead: expected %s or %s, found %s\n", one, other, found);
    std::exit(2);
}

int main(int argc, char** argv) {
    if (argc != 2 && argc != 5) {
        std::fprintf(stderr, "usage: overhead COUNT [BYTES sync|async pageable|pinned]\n");
        return 2;
    }
    const long count = argument(argc, argv, 1, 1);
    const double seconds =
        argc == 2 ? seconds_of_steps(count)
                  : seconds_of_copies(count, static_cast<std::size_t>(argument(argc, argv, 2, 1)),
                                      chosen(argv[3], "sync", "async"), chosen(argv[4], "pinned", "pageable"));
    report("overhead", seconds, 0);
}
