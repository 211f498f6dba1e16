// How many blocks kernels that copy get, so that others have the rest of the device.
#include "backend/kernel_blocks.hpp"

#include <array>
#include <cmath>

#include "backend/device_info.hpp"

namespace isthmus {
namespace {

// GB/s of one lane in one direction, by generation; after the encoding of each.
constexpr std::array<double, 8> lane_rates{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563, 15.125};
constexpr double block_rate = 32;  // of one lane of 16 of generation 4 and less than half of 5
constexpr std::uint32_t least_blocks = 2;

}  // namespace

KernelBlocks KernelBlocks::for_link(const LinkReading& link) {
    // The greatest that it can have: it rests at a lower one.
    const unsigned generation = link.max_generation.value_or(link.generation.value_or(0));
    const unsigned width = link.max_width.value_or(link.width.value_or(0));
    if (generation == 0 || generation >= lane_rates.size() || width == 0) return {};
    const auto blocks = static_cast<std::uint32_t>(std::ceil(lane_rates[generation] * width / block_rate));
    const std::uint32_t enough = std::max(blocks, least_blocks);
    return {enough, enough, gathering(enough), 0};
}

}  // namespace isthmus
