// How many blocks kernels that copy get, so that others have the rest of the device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace isthmus {

struct LinkReading;  // backend/device_info.hpp

// Blocks are of copy_threads, and keep 64 KiB in flight each. 0 means as many as fill the device.
struct KernelBlocks {
    std::uint32_t to_device = 0, to_host = 0;  // of kernels that copy over the link
    std::uint32_t on_device = 0;               // of those that gather or spread what crosses it in one piece
    std::uint32_t limit = 0;                   // of any, if somebody bounds them

    // Four times what fills the link, lest it hold up the link.
    static constexpr std::uint32_t gathering(std::uint32_t over_link) { return 4 * over_link; }
    // What fills a PCI Express link. Over one of generation 5 with 16 lanes two blocks of an H100 move 51 GB/s to the
    // host, and four 49 GB/s to the device, where two move 44: reads wait for the link, writes do not. Wider links get
    // more in proportion, none fewer than two. Where the link is not known: 0.
    static KernelBlocks for_link(const LinkReading& link);

    // The blocks of a launch from one side to the other, with units of so many bytes: narrower ones than 16 keep fewer
    // bytes under way, for which there are more blocks. At most limit.
    std::uint32_t of(bool from_device, bool to_device, std::size_t unit_bytes = 16) const {
        const std::uint32_t blocks = !from_device ? this->to_device : !to_device ? to_host : on_device;
        return at_most(blocks * static_cast<std::uint32_t>(16 / unit_bytes));
    }
    // For copies that never leave the device.
    KernelBlocks within_device() const { return {at_most(0), at_most(0), at_most(0), limit}; }
    std::uint32_t at_most(std::uint32_t blocks) const {
        if (limit == 0) return blocks;
        return blocks == 0 ? limit : std::min(blocks, limit);
    }
};

}  // namespace isthmus
