// Rows of a table, changed here and there, are mirrored on the device by a small copy each: thousands a step.
#include <algorithm>
#include <random>
#include <vector>

#include "program.hpp"

constexpr std::size_t ROWS = 32768, CHANGED = 4096, ROW_VALUES = 256;
constexpr std::size_t ROW_BYTES = ROW_VALUES * sizeof(std::uint32_t);
constexpr std::size_t VALUES = ROWS * ROW_VALUES;

__global__ void accumulate(const std::uint32_t* table, std::uint32_t* sums) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < VALUES) sums[at] += table[at];
}

int main(int argc, char** argv) {
    const long steps = argument(argc, argv, 1, 100);
    const auto table = pinned<std::uint32_t>(VALUES);
    const auto sums = pinned<std::uint32_t>(VALUES);
    const auto device_table = on_device<std::uint32_t>(VALUES);
    const auto device_sums = on_device<std::uint32_t>(VALUES);
    for (std::size_t at = 0; at < VALUES; ++at) table[at] = static_cast<std::uint32_t>(at);
    std::vector<std::uint32_t> rows(ROWS);
    for (std::size_t row = 0; row < ROWS; ++row) rows[row] = static_cast<std::uint32_t>(row);
    std::shuffle(rows.begin(), rows.end(), std::mt19937(7));
    rows.resize(CHANGED);
    copy(device_table.get(), table.get(), VALUES * sizeof(std::uint32_t), cudaMemcpyHostToDevice);

    const auto advance = [&](long number) {
        for (const std::uint32_t row : rows) table[row * ROW_VALUES] = static_cast<std::uint32_t>(number);
        for (const std::uint32_t row : rows) {
            const std::size_t first = row * ROW_VALUES;
            copy_async(device_table.get() + first, table.get() + first, ROW_BYTES, cudaMemcpyHostToDevice);
        }
        accumulate<<<blocks(VALUES), THREADS>>>(device_table.get(), device_sums.get());
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(nullptr));
    };
    advance(0);

    const Clock clock;
    for (long number = 1; number <= steps; ++number) advance(number);
    const double seconds = clock.seconds();

    copy(sums.get(), device_sums.get(), VALUES * sizeof(std::uint32_t), cudaMemcpyDeviceToHost);
    for (const std::uint32_t row : rows) {
        const std::size_t first = row * ROW_VALUES;
        expect(sums[first] == static_cast<std::uint32_t>(steps * (steps + 1) / 2), "the sums of changed values");
        table[first] = 0, sums[first] = 0;
    }
    std::uint64_t checksum = 0;
    for (std::size_t at = 0; at < VALUES; ++at) {
        expect(sums[at] == static_cast<std::uint32_t>((steps + 1) * table[at]), "the sums of values that stay");
        checksum += sums[at];
    }
    report("small_copies", seconds, checksum);
}
