// Small blocks of page-locked memory, cut from slabs: a driver takes a millisecond for each that it is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/region.hpp"

namespace isthmus {

// One thread at a time. Blocks have sizes of eight steps to a doubling, so that an eighth of a block at most is unused,
// and begin at multiples of 64 bytes at least.
class SmallBlocks {
  public:
    static constexpr std::size_t most_bytes = std::size_t{1} << 20;

    struct Slab {
        std::unique_ptr<Allocation> memory;
        std::size_t cut = 0;   // bytes that were ever part of a block, from the beginning
        std::size_t live = 0;  // blocks in use
    };
    struct Block {
        std::byte* data = nullptr;
        Slab* slab = nullptr;
        std::uint32_t size_class = 0;
    };

    // None where no slab has room. Precondition: at most `most_bytes`, and not 0. May throw bad_alloc, and has then
    // taken nothing.
    std::optional<Block> take(std::size_t bytes);
    void give_back(const Block& block) noexcept;
    // How large the next slab should be: ever larger ones, since each costs a call of the driver.
    std::size_t next_slab_bytes() const;
    void add(std::unique_ptr<Allocation> memory);
    // The slabs that no block is in use of.
    std::vector<std::unique_ptr<Allocation>> take_unused();
    std::size_t held_bytes() const { return held_bytes_; }

    static std::size_t bytes_of(std::uint32_t size_class);
    static std::uint32_t class_of(std::size_t bytes);

  private:
    static constexpr std::size_t classes = 128;
    std::vector<std::unique_ptr<Slab>> slabs_;  // the newest last
    struct Free {
        std::vector<Block> blocks;  // with room for all that were ever cut, so that giving back takes no memory
        std::size_t cut = 0;
    };
    std::array<Free, classes> free_;
    std::size_t held_bytes_ = 0;
};

}  // namespace isthmus
