// Memory of results that are gone, kept for later results: the kernel clears its pages once, not for every result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/fork.hpp"

namespace isthmus {

// One a process, whose functions any thread may call at any time, until the process has ended. Blocks are private
// mappings of whole pages. No child inherits one that is unused (MADV_DONTFORK); but for an eighth of the budget, those
// that were used last, it may lose its pages to whatever runs short of memory (MADV_FREE, which stops each processor
// for each huge page where threads run). A child has copies of those in use, and keeps none of them when they are gone.
class ResultPool {
  public:
    static constexpr std::size_t least_bytes = std::size_t{1} << 20;  // malloc caches smaller ones itself
    static constexpr std::size_t most_unused = 1024;                  // the kernel bounds a process's mappings
    static ResultPool& get();

    // Holds anything. Null where there is no memory, even after all that is unused was given back.
    void* take(std::size_t bytes) noexcept;
    // False where no block begins there, which changes nothing.
    bool give_back(void* address) noexcept;
    // 0 where no block begins there.
    std::size_t bytes_of(void* address) noexcept;

    // Whether a block of so many bytes may be kept; others are better got elsewhere.
    bool keeps(std::size_t bytes) noexcept;
    // Keeps at most so many bytes unused, and 1,024 blocks; those that were unused longest go first.
    void set_budget(std::size_t bytes) noexcept;
    void trim() noexcept { shrink(0); }
    struct Sizes {
        std::size_t unused_bytes, budget_bytes;
    };
    Sizes sizes() noexcept;

  private:
    struct Block {
        void* address;
        std::size_t bytes;
        bool may_lose_pages = false;
    };
    struct Lent {
        std::size_t bytes;
        unsigned generation;  // of the process that took it: forks so far
    };
    ResultPool();
    void* reuse(std::size_t bytes);  // null where no block suits
    void begin_generation() noexcept;
    void unmap(const Block& block) noexcept;
    // Lets those that were unused longest lose their pages.
    void cool() noexcept;
    std::vector<Block>::iterator first_warm() noexcept;
    Block remove(std::vector<Block>::iterator block) noexcept;
    void add(std::vector<Block>::iterator before, const Block& block) noexcept;
    // Gives back until at most so many bytes are unused: the budget by default.
    void shrink(std::optional<std::size_t> most) noexcept;

    ProcessMutex mutex_;  // guards what follows; not held while pages are taken or given back
    unsigned generation_;
    std::map<void*, Lent> lent_;
    std::vector<Block> unused_;  // the longest unused first; with room for all blocks, so that it never grows
    std::size_t blocks_ = 0, unused_bytes_ = 0, warm_bytes_ = 0, budget_bytes_;  // warm: may not lose its pages
};

}  // namespace isthmus
