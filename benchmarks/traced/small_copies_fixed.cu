// Rows of a table, changed here and there, are packed, sent by one copy a step, and put in their places by a kernel.
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

__global__ void unpack(std::uint32_t* table, const std::uint32_t* rows, const std::uint32_t* packed) {
    table[rows[blockIdx.x] * ROW_VALUES + threadIdx.x] = packed[blockIdx.x * ROW_VALUES + threadIdx.x];
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
    const auto packed = pinned<std::uint32_t>(CHANGED * ROW_VALUES);
    const auto device_packed = on_device<std::uint32_t>(CHANGED * ROW_VALUES);
    const auto device_rows = on_device<std::uint32_t>(CHANGED);
    copy(device_rows.get(), rows.data(), CHANGED * sizeof(std::uint32_t), cudaMemcpyHostToDevice);

    const auto advance = [&](long number) {
        for (const std::uint32_t row : rows) table[row * ROW_VALUES] = static_cast<std::uint32_t>(number);
        for (std::size_t place = 0; place < CHANGED; ++place) {
            std::memcpy(packed.get() + place * ROW_VALUES, table.get() + rows[place] * ROW_VALUES, ROW_BYTES);
        }
        copy_async(device_packed.get(), packed.get(), CHANGED * ROW_BYTES, cudaMemcpyHostToDevice);
        unpack<<<CHANGED, ROW_VALUES>>>(device_table.get(), device_rows.get(), device_packed.get());
        CHECK(cudaGetLastError());
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
    report("small_copies_fixed", seconds, checksum);
}
