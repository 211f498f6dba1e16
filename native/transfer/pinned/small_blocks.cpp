// Small blocks of page-locked memory, cut from slabs.
#include "transfer/pinned/small_blocks.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace isthmus {
namespace {

constexpr std::size_t least_block_bytes = 64;
constexpr std::uint32_t steps = 8;  // classes from one power of two to the next
constexpr std::size_t first_slab_bytes = std::size_t{2} << 20, most_slab_bytes = std::size_t{32} << 20;
constexpr std::size_t most_alignment = 4096;

}  // namespace

std::uint32_t SmallBlocks::class_of(std::size_t bytes) {
    const std::size_t units = (std::max(bytes, std::size_t{1}) - 1) / least_block_bytes;  // less one
    if (units < steps) return static_cast<std::uint32_t>(units);
    const auto doublings = static_cast<std::uint32_t>(std::bit_width(units) - std::bit_width(std::size_t{steps}));
    return steps + doublings * steps + static_cast<std::uint32_t>((units >> doublings) - steps);
}

std::size_t SmallBlocks::bytes_of(std::uint32_t size_class) {
    if (size_class < steps) return (size_class + 1) * least_block_bytes;
    const std::uint32_t doublings = size_class / steps - 1;
    return (std::size_t{steps} + size_class % steps + 1) * (least_block_bytes << doublings);
}

std::optional<SmallBlocks::Block> SmallBlocks::take(std::size_t bytes) {
    const std::uint32_t size_class = class_of(bytes);
    Free& free = free_[size_class];
    if (!free.blocks.empty()) {
        const Block block = free.blocks.back();
        free.blocks.pop_back();
        ++block.slab->live;
        return block;
    }
    const std::size_t size = bytes_of(size_class);
    const std::size_t alignment = std::min(size & (~size + 1), most_alignment);  // the largest that divides the size
    for (auto slab = slabs_.rbegin(); slab != slabs_.rend(); ++slab) {
        Slab& chosen = **slab;
        const std::size_t begin = (chosen.cut + alignment - 1) / alignment * alignment;
        if (begin + size > chosen.memory->bytes()) continue;
        if (free.cut == free.blocks.capacity()) free.blocks.reserve(std::max<std::size_t>(2 * free.cut, 8));
        ++free.cut;
        ++chosen.live;
        chosen.cut = begin + size;
        return Block{chosen.memory->host() + begin, &chosen, size_class};
    }
    return std::nullopt;
}

void SmallBlocks::give_back(const Block& block) noexcept {
    --block.slab->live;
    free_[block.size_class].blocks.push_back(block);
}

std::size_t SmallBlocks::next_slab_bytes() const {
    return std::clamp(std::bit_floor(held_bytes_), first_slab_bytes, most_slab_bytes);
}

void SmallBlocks::add(std::unique_ptr<Allocation> memory) {
    const std::size_t bytes = memory->bytes();
    auto slab = std::make_unique<Slab>();
    slabs_.reserve(slabs_.size() + 1);
    slab->memory = std::move(memory);
    slabs_.push_back(std::move(slab));
    held_bytes_ += bytes;
}

std::vector<std::unique_ptr<Allocation>> SmallBlocks::take_unused() {
    std::vector<std::unique_ptr<Allocation>> unused;
    unused.reserve(slabs_.size());
    for (Free& free : free_) {
        free.cut -= std::erase_if(free.blocks, [](const Block& block) { return block.slab->live == 0; });
    }
    for (const auto& slab : slabs_) {
        if (slab->live != 0) continue;
        held_bytes_ -= slab->memory->bytes();
        unused.push_back(std::move(slab->memory));
    }
    std::erase_if(slabs_, [](const auto& slab) { return slab->memory == nullptr; });
    return unused;
}

}  // namespace isthmus
