// Memory of results that are gone, kept for later results: the kernel clears its pages once, not for every result.
#include "base/memory/result_pool.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>

#include "base/limits/memory_room.hpp"
#include "base/text_file.hpp"

namespace isthmus {
namespace {

constexpr std::size_t step_bytes = std::size_t{64} << 10, huge_page_bytes = std::size_t{2} << 20;
// A block serves what is at most this part smaller.
constexpr std::size_t spare_part = 8;
// Unused memory that stays resident, of the budget: so much is a whole result of most programs.
constexpr std::size_t warm_part = 8;

std::size_t rounded(std::size_t bytes) {
    return (bytes + step_bytes - 1) / step_bytes * step_bytes;
}

// Whether the kernel takes what is unused when it is short: not in each sandbox, and not of memory that is locked.
bool frees_lazily() {
    const auto bytes = static_cast<std::size_t>(std::max(sysconf(_SC_PAGE_SIZE), 1L));
    void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const bool frees = madvise(page, bytes, MADV_FREE) == 0;
    munmap(page, bytes);
    return frees;
}

// An eighth of what the process may have; nothing where what is unused would be missing elsewhere.
std::size_t default_budget() {
    // 2: memory counts as used before it is touched.
    if (!frees_lazily() || first_line("/proc/sys/vm/overcommit_memory") == "2") return 0;
    const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
    std::uint64_t bytes = pages * static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGE_SIZE), 0L));
    for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limit{};
        if (getrlimit(resource, &limit) == 0) bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
    }
    return std::min(bytes, group_memory_limit("").value_or(bytes)) / 8;
}

// Null without memory.
void* map(std::size_t bytes) noexcept {
    void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    if (bytes >= 2 * huge_page_bytes) madvise(address, bytes, MADV_HUGEPAGE);
    return address;
}

}  // namespace

ResultPool& ResultPool::get() {
    static auto* const pool = new ResultPool;
    return *pool;
}

ResultPool::ResultPool() : generation_(fork_generation()), budget_bytes_(default_budget()) {}

void* ResultPool::take(std::size_t bytes) noexcept {
    if (bytes > PTRDIFF_MAX) return nullptr;
    try {
        if (void* const address = reuse(bytes)) return address;
        const std::size_t size = rounded(bytes);
        void* address = map(size);
        if (address == nullptr) {
            trim();
            address = map(size);
        }
        if (address == nullptr) return nullptr;
        try {
            const std::lock_guard lock(mutex_);
            begin_generation();
            unused_.reserve(blocks_ + 1);
            lent_.emplace(address, Lent{size, generation_});
            ++blocks_;
        } catch (...) {
            munmap(address, size);
            throw;
        }
        return address;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// The smallest that suits, and of those the one that was used last, whose pages are likeliest still there.
void* ResultPool::reuse(std::size_t bytes) {
    Block block{};
    {
        const std::lock_guard lock(mutex_);
        begin_generation();
        auto best = unused_.end();
        for (auto each = unused_.begin(); each != unused_.end(); ++each) {
            const bool suits = each->bytes >= bytes && each->bytes <= rounded(bytes + bytes / spare_part);
            if (suits && (best == unused_.end() || each->bytes <= best->bytes)) best = each;
        }
        if (best == unused_.end()) return nullptr;
        lent_.emplace(best->address, Lent{best->bytes, generation_});
        block = remove(best);
        // With the mutex, which forks wait for: no child has a block as lent that it did not inherit. It fails where
        // the kernel has no room for another mapping.
        if (madvise(block.address, block.bytes, MADV_DOFORK) == 0) return block.address;
        lent_.erase(block.address);
    }
    unmap(block);
    return nullptr;
}

bool ResultPool::give_back(void* address) noexcept {
    Block block{address, 0};
    bool keeps = false;
    {
        const std::lock_guard lock(mutex_);
        begin_generation();
        const auto lent = lent_.find(address);
        if (lent == lent_.end()) return false;
        block.bytes = lent->second.bytes;
        // What a child inherited may have holes: pages that a driver or a library of the parent kept from it.
        keeps = lent->second.generation == generation_ && block.bytes <= budget_bytes_;
        lent_.erase(lent);
    }
    // Fails for memory that the program locked, which counts against its limit and is given back.
    void* const last_step = static_cast<std::byte*>(block.address) + block.bytes - step_bytes;
    if (!keeps || madvise(block.address, step_bytes, MADV_FREE) != 0 ||
        madvise(last_step, step_bytes, MADV_FREE) != 0 || madvise(block.address, block.bytes, MADV_DONTFORK) != 0) {
        unmap(block);
        return true;
    }
    {
        const std::lock_guard lock(mutex_);
        add(unused_.end(), block);
    }
    shrink(std::nullopt);
    cool();
    return true;
}

std::vector<ResultPool::Block>::iterator ResultPool::first_warm() noexcept {
    return std::find_if(unused_.begin(), unused_.end(), [](const Block& each) { return !each.may_lose_pages; });
}

ResultPool::Block ResultPool::remove(std::vector<Block>::iterator block) noexcept {
    const Block removed = *block;
    unused_.erase(block);
    unused_bytes_ -= removed.bytes;
    if (!removed.may_lose_pages) warm_bytes_ -= removed.bytes;
    return removed;
}

void ResultPool::add(std::vector<Block>::iterator before, const Block& block) noexcept {
    unused_.insert(before, block);
    unused_bytes_ += block.bytes;
    if (!block.may_lose_pages) warm_bytes_ += block.bytes;
}

void ResultPool::cool() noexcept {
    while (true) {
        Block oldest{};
        {
            const std::lock_guard lock(mutex_);
            begin_generation();
            if (warm_bytes_ <= budget_bytes_ / warm_part) return;
            oldest = remove(first_warm());
        }
        // Locked memory cannot be freed lazily.
        if (madvise(oldest.address, oldest.bytes, MADV_FREE) != 0) {
            unmap(oldest);
            continue;
        }
        oldest.may_lose_pages = true;
        {
            const std::lock_guard lock(mutex_);
            add(first_warm(), oldest);
        }
        shrink(std::nullopt);  // the budget may have become less meanwhile
    }
}

std::size_t ResultPool::bytes_of(void* address) noexcept {
    const std::lock_guard lock(mutex_);
    const auto lent = lent_.find(address);
    return lent == lent_.end() ? 0 : lent->second.bytes;
}

bool ResultPool::keeps(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    return bytes >= least_bytes && bytes <= budget_bytes_;
}

void ResultPool::set_budget(std::size_t bytes) noexcept {
    {
        const std::lock_guard lock(mutex_);
        budget_bytes_ = bytes;
    }
    shrink(std::nullopt);
    cool();
}

ResultPool::Sizes ResultPool::sizes() noexcept {
    const std::lock_guard lock(mutex_);
    begin_generation();
    return {unused_bytes_, budget_bytes_};
}

// In a child, what was unused is not mapped, and another mapping may be there.
void ResultPool::begin_generation() noexcept {
    if (generation_ == fork_generation()) return;
    generation_ = fork_generation();
    blocks_ -= unused_.size();
    unused_.clear();
    unused_bytes_ = warm_bytes_ = 0;
}

void ResultPool::unmap(const Block& block) noexcept {
    munmap(block.address, block.bytes);
    const std::lock_guard lock(mutex_);
    --blocks_;
}

void ResultPool::shrink(std::optional<std::size_t> most) noexcept {
    while (true) {
        Block oldest{};
        {
            const std::lock_guard lock(mutex_);
            begin_generation();
            const bool fits = unused_bytes_ <= most.value_or(budget_bytes_) && unused_.size() <= most_unused;
            if (fits) return;
            oldest = remove(unused_.begin());
        }
        unmap(oldest);
    }
}

}  // namespace isthmus
