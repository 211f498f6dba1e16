// How many threads a kernel gets, and launches that need several.
#include "backend/launch.hpp"

#include <algorithm>

#include "kernels/kernels.hpp"

namespace isthmus {

Status fill_on_device(Device& device, Stream& stream, Region region, std::uint64_t seed) {
    for (std::uint64_t at = 0; at < region.bytes; at += max_region_bytes) {
        const std::uint64_t bytes = std::min<std::uint64_t>(max_region_bytes, region.bytes - at);
        ISTHMUS_TRY(
            launch(device, stream, kernel::fill, {region.allocation, region.offset + at, bytes}, bytes, seed, at / 8));
    }
    return {};
}

Grid grid_of(KernelId kernel, std::span<const KernelArgument> arguments, std::uint32_t multiprocessors,
             std::uint32_t most_blocks) {
    const KernelRow& row = row_of(kernel);
    const auto blocks = [&](std::uint64_t bytes) { return Grid{block_count(bytes, multiprocessors), block_threads}; };
    const auto count = [&](std::size_t after = 0) { return arguments[row.counted + after].bits; };
    const auto copying = [&](std::uint64_t units) {
        return Grid{copy_blocks(units, multiprocessors, most_blocks), copy_threads};
    };
    switch (row.threads) {
        case Threads::one: break;
        case Threads::per_64_bytes: return blocks(count());
        case Threads::per_4_words: return copying(count() / 16 + (count() % 16 != 0));
        case Threads::per_4_units: return copying(count());
        case Threads::per_16_words: return blocks(count() * sizeof(std::uint32_t));
        case Threads::per_unit: return blocks(count() * 64);
        case Threads::per_point: return blocks(count() * count(1) * 64);
        case Threads::whole_device: return {work_blocks(multiprocessors), block_threads};
    }
    return {1, 1};
}

}  // namespace isthmus
