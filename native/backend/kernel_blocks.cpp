// How many blocks kernels that copy get, so that others have the rest of the device.
#include "backend/kernel_blocks.hpp"

#include <array>
#include <cmath>

#include "backend/device_info.hpp"

namespace isthmus {
namespace {

// GB/s of one lane in one direction, by generation; after the encoding of each.
constexpr std::array<double, 8> lane_rates{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563, 15.125};
// The rate of one block, in GB/s of the encoding: two such to the host, and four to the device, for a link of 16 lanes
// of generation 5.
constexpr double to_host_rate = 32, to_device_rate = 16;
constexpr std::uint32_t least_blocks = 2;

}  // namespace

KernelBlocks KernelBlocks::for_link(const LinkReading& link) {
    // The greatest that it can have: it rests at a lower one.
    const unsigned generation = link.max_generation.value_or(link.generation.value_or(0));
    const unsigned width = link.max_width.value_or(link.width.value_or(0));
    if (generation == 0 || generation >= lane_rates.size() || width == 0) return {};
    const auto enough = [link_rate = lane_rates[generation] * width](double block_rate) {
        return std::max(static_cast<std::uint32_t>(std::ceil(link_rate / block_rate)), least_blocks);
    };
    const std::uint32_t to_host = enough(to_host_rate);
    return {enough(to_device_rate), to_host, gathering(to_host), 0};
}

}  // namespace isthmus
