// Pinned memory of the program, and the copies of it that it has not waited for: their pages are protected until then.
//
// The source is protected against writes, the destination against reads, too. Where copies share pages the stricter one
// counts. Nothing here allocates, for a thread that touches a protected page may be inside an allocation; the caller
// holds the lock. Pages are opened a moment too early rather than late.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "races/access.hpp"
#include "races/open_pages.hpp"

namespace isthmus::races {

// The host's side of a copy.
struct Copy : Access {
    Range bytes{}, pages{};  // from its first byte to the last; `pages` are protected, none where empty
    bool is_under_way = false;
};

// The parts of memory that blocks ever were in; some addresses share one, 128 GiB apart.
class BlockParts {
  public:
    // Whether any of a range is as asked.
    template <typename Ask>
    static bool each(const Range& range, const Ask& ask) {
        const std::size_t first = range.begin / part_bytes;
        const std::size_t more = range.empty() ? parts : std::min((range.end - 1) / part_bytes - first, parts - 1);
        if (more == 0) return ask(has_blocks[first % parts]);
        for (std::size_t i = 0; more != parts && i <= more; ++i) {
            if (ask(has_blocks[(first + i) % parts])) return true;
        }
        return false;
    }

  private:
    static constexpr std::size_t part_bytes = std::size_t{2} << 20, parts = 65536;
    static constinit std::array<std::atomic<bool>, parts> has_blocks;
};

class Copies {
  public:
    // Pages of the host that the driver has locked. Pages of registered memory also hold what is not the program's
    // buffer, such as words that the kernel reads: of these none is protected but what a copy fills.
    void add_block(Range block, bool is_registered);
    // What was known of blocks that overlap the range.
    void forget_blocks(const Range& range);
    bool in_block(const Range& range) const;
    // Whether there is memory that no copy was made of yet: what else would it be for than for kernels to write?
    bool any_uncopied() const;
    bool meets_block(const Range& range) const;
    // False where no block ever was, and mostly where none is near. Without the lock.
    static bool may_be_block(const Range& range) {
        return BlockParts::each(range,
                                [](const std::atomic<bool>& part) { return part.load(std::memory_order_relaxed); });
    }
    // Pages on which these are not protected, or not any more.
    OpenPages open_pages;
    void open_part(const Range& range);

    // A copy that the driver is about to be given, known by its number of work; false where there are too many.
    bool begin(const Access& host);
    // The driver has it; `is_kept`: else it refused it.
    void end(std::uint64_t work, bool is_kept);
    // The program has waited for these.
    void finish(const Clock& clock);
    void finish_all() { finish(Clock::everything()); }
    // Before the kernel is given the range: its pages are opened. Calls `meet` with each copy that it touches.
    template <typename Meet>
    void open(const Range& range, bool writes, const Meet& meet) {
        for (std::size_t i = count_; i-- > 0;) {
            Copy& copy = copies_[i];
            const bool may_stay = !writes && !copy.is_write;
            if (may_stay || copy.pages.empty() || !copy.pages.overlaps(range)) continue;
            if (copy.rows.meets(range)) {
                meet(copy);
                unprotect(copy);
            }
            // Only a neighbour's, which shares the first or the last page.
            for (const std::uintptr_t at : {range.begin, range.end - 1}) {
                if (copy.pages.contains(at)) unprotect_at(copy, at);
            }
            if (copy.pages.overlaps(range)) unprotect(copy);
        }
    }
    // The copies whose pages an address is on.
    template <typename Meet>
    bool at(std::uintptr_t address, const Meet& meet) {
        bool any = false;
        for (std::size_t i = count_; i-- > 0;) {
            if (!copies_[i].pages.contains(address)) continue;
            any = true;
            meet(copies_[i]);
        }
        return any;
    }
    // No page of the copy is protected any more, but what others protect.
    void unprotect(Copy& copy);
    // Only the page with an address, at the edge of the copy's pages; else all.
    void unprotect_at(Copy& copy, std::uintptr_t address);
    // In a forked child, and where nothing is followed any more.
    void open_all();
    // From now on no page is protected.
    void protect_none() {
        open_all();
        protects_ = false;
    }

    static Range pages_around(const Range& bytes);
    // How often the protection of pages was changed.
    static std::uint64_t changes();
    // And how often blocks were forgotten, with what is kept open of them.
    static std::uint64_t forgotten();
    std::uint64_t without_room() const { return without_room_; }
    bool any() const { return count_ != 0; }

  private:
    static constexpr std::size_t most_copies = 4096, most_blocks = 16384;
    struct Block {
        Range range;
        bool is_registered = false, is_copied = false;
    };
    const Block* block_of(const Range& range) const;
    Block* block_of(const Range& range);
    void protect(Copy& copy);
    bool change_closed(Range pages, int protection) const;
    // As the copies have it that still protect something there.
    void protect_again(const Range& pages);
    void remove(std::size_t index);

    bool protects_ = true;
    std::size_t count_ = 0, block_count_ = 0, uncopied_ = 0;
    std::uint64_t without_room_ = 0;
    std::array<Copy, most_copies> copies_{};
    std::array<Block, most_blocks> blocks_{};
};

}  // namespace isthmus::races
