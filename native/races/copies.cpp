// Pinned memory of the program, and the copies of it that it has not waited for.
#include "races/copies.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/pages.hpp"

namespace isthmus::races {
namespace {

// Past the program's own hooks, and ours.
constinit std::atomic<std::uint64_t> all_changes = 0, all_forgotten = 0;

bool change(const Range& pages, int protection) {
    ++all_changes;
    return pages.empty() || syscall(SYS_mprotect, pages.begin, pages.end - pages.begin, protection) == 0;
}

Range pages_within(const Range& bytes) {
    const std::uintptr_t page = system_page();
    return {(bytes.begin + page - 1) / page * page, bytes.end / page * page};
}
Range both(const Range& one, const Range& other) {
    return {std::max(one.begin, other.begin), std::min(one.end, other.end)};
}

}  // namespace

constinit std::array<std::atomic<bool>, BlockParts::parts> BlockParts::has_blocks{};

Range Copies::pages_around(const Range& bytes) {
    const std::uintptr_t page = system_page();
    return {bytes.begin / page * page, (bytes.end + page - 1) / page * page};
}

std::uint64_t Copies::changes() {
    return all_changes;
}

void Copies::add_block(Range block, bool is_registered) {
    forget_blocks(block);
    if (block_count_ == most_blocks) return;
    blocks_[block_count_++] = {block, is_registered, false};
    ++uncopied_;
    BlockParts::each(block, [](std::atomic<bool>& part) {
        part.store(true, std::memory_order_relaxed);
        return false;
    });
}

std::uint64_t Copies::forgotten() {
    return all_forgotten.load(std::memory_order_relaxed);
}

void Copies::forget_blocks(const Range& range) {
    ++all_forgotten;
    for (std::size_t i = block_count_; i-- > 0;) {
        if (!blocks_[i].range.overlaps(range)) continue;
        for (std::size_t k = count_; k-- > 0;) {
            if (!copies_[k].bytes.overlaps(blocks_[i].range)) continue;
            unprotect(copies_[k]);
            if (!copies_[k].is_under_way) remove(k);
        }
        // Threads may wait for words in memory that is registered again.
        if (!blocks_[i].is_registered) open_pages.forget(pages_around(blocks_[i].range));
        if (!blocks_[i].is_copied) --uncopied_;
        blocks_[i] = blocks_[--block_count_];
    }
}

Copies::Block* Copies::block_of(const Range& range) {
    auto* const end = blocks_.begin() + block_count_;
    auto* const first =
        std::find_if(blocks_.begin(), end, [&](const Block& block) { return block.range.contains(range); });
    return first == end ? nullptr : first;
}
const Copies::Block* Copies::block_of(const Range& range) const {
    return const_cast<Copies*>(this)->block_of(range);
}
bool Copies::any_uncopied() const {
    return uncopied_ != 0;
}
bool Copies::in_block(const Range& range) const {
    return block_of(range) != nullptr;
}
bool Copies::meets_block(const Range& range) const {
    return std::any_of(blocks_.begin(), blocks_.begin() + block_count_,
                       [&](const Block& block) { return block.range.overlaps(range); });
}

bool Copies::begin(const Access& host) {
    if (count_ == most_copies) {
        auto* const oldest =
            std::find_if(copies_.begin(), copies_.end(), [](const Copy& each) { return !each.is_under_way; });
        ++without_room_;
        if (oldest == copies_.end()) return false;
        unprotect(*oldest);
        remove(static_cast<std::size_t>(oldest - copies_.begin()));
    }
    Block* const block = block_of(host.rows.range());
    if (block != nullptr && !std::exchange(block->is_copied, true)) --uncopied_;
    copies_[count_++] = {host, host.rows.range(), {}, true};
    return true;
}

void Copies::end(std::uint64_t work, bool is_kept) {
    auto* const last = copies_.begin() + count_;
    auto* const copy = std::find_if(copies_.begin(), last, [work](const Copy& each) { return each.work == work; });
    if (copy == last) return;
    copy->is_under_way = false;
    if (!is_kept) return remove(static_cast<std::size_t>(copy - copies_.begin()));
    protect(*copy);
}

void Copies::finish(const Clock& clock) {
    for (std::size_t i = count_; i-- > 0;) {
        if (copies_[i].is_under_way || !clock.covers(copies_[i].line, copies_[i].work)) continue;
        unprotect(copies_[i]);
        remove(i);
    }
}

void Copies::protect(Copy& copy) {
    const Block* block = block_of(copy.bytes);
    if (block == nullptr || !protects_) return;
    copy.pages = block->is_registered ? pages_within(copy.bytes) : pages_around(copy.bytes);
    if (copy.pages.empty()) return;
    // The kernel splits a mapping for this, and has a limit to how many there may be.
    if (!change_closed(copy.pages, copy.is_write ? PROT_NONE : PROT_READ)) {
        ++without_room_;
        unprotect(copy);
        return;
    }
    if (!copy.is_write) protect_again(copy.pages);
}

bool Copies::change_closed(Range pages, int protection) const {
    bool is_done = true;
    while (!pages.empty()) {
        const Range open = open_pages.first_in(pages), closed{pages.begin, open.begin};
        is_done = (closed.empty() || change(closed, protection)) && is_done;
        pages.begin = open.end;
    }
    return is_done;
}

void Copies::open_part(const Range& range) {
    for (std::size_t i = 0; i < count_; ++i) {
        if (!change(both(copies_[i].pages, pages_around(range)), PROT_READ | PROT_WRITE)) unprotect(copies_[i]);
    }
}

void Copies::protect_again(const Range& pages) {
    // The stricter ones last.
    for (const bool is_write : {false, true}) {
        for (std::size_t i = 0; i < count_; ++i) {
            const Range shared = both(copies_[i].pages, pages);
            if (copies_[i].is_write != is_write || shared.empty()) continue;
            if (!change_closed(shared, is_write ? PROT_NONE : PROT_READ)) copies_[i].pages = {};
        }
    }
}

void Copies::unprotect(Copy& copy) {
    const Range pages = copy.pages;
    copy.pages = {};
    if (pages.empty()) return;
    if (change(pages, PROT_READ | PROT_WRITE)) return protect_again(pages);
    // There may be no room for more mappings, of which an open block as a whole needs none.
    const Block* const block = block_of(copy.bytes);
    const Range all = block == nullptr ? pages : pages_around(block->range);
    for (std::size_t i = 0; i < count_; ++i) {
        if (!both(copies_[i].pages, all).empty()) copies_[i].pages = {};
    }
    change(all, PROT_READ | PROT_WRITE);
    ++without_room_;
}

void Copies::unprotect_at(Copy& copy, std::uintptr_t address) {
    const Range one = pages_around({address, address + 1});
    if (one.begin == copy.pages.begin) {
        copy.pages.begin = one.end;
    } else if (one.end == copy.pages.end) {
        copy.pages.end = one.begin;
    } else {
        return unprotect(copy);
    }
    change(one, PROT_READ | PROT_WRITE);
    protect_again(one);
}

void Copies::open_all() {
    for (std::size_t i = 0; i < count_; ++i) unprotect(copies_[i]);
}

void Copies::remove(std::size_t index) {
    // In the order in which they came, so that the oldest one goes where there is no room.
    std::move(copies_.begin() + index + 1, copies_.begin() + count_, copies_.begin() + index);
    --count_;
}

}  // namespace isthmus::races
