// What the fake CUDA driver has allocated and locked: what is known of an address, how much there is, what was leaked.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "fake_contexts.hpp"
#include "fake_host_pages.hpp"

namespace fake {

using Address = unsigned long long;

enum class Kind { device, managed, pinned, registered, array };

struct Block {
    std::size_t bytes = 0;
    Kind kind = Kind::device;
    Context* context = nullptr;
    bool is_of_all = false;  // from a pool, which belongs to no context; or page-locked for every context
    bool is_locked() const { return kind == Kind::pinned || kind == Kind::registered; }
};

// Whether copies go past the protection of pages, as those of devices do (FAKE_CUDA_DMA). Shared memory has no such way
// in, so that page-locked memory is private then.
inline bool ignores_protection() {
    static const bool asked = std::getenv("FAKE_CUDA_DMA") != nullptr;
    return asked;
}

inline std::size_t limit(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : std::size_t{1} << 30;
}

// Whether the byte may be written, which is found out without writing another one there.
inline bool is_writable(void* byte) {
    int ends[2];
    if (pipe(ends) != 0) return true;
    const bool written = write(ends[1], byte, 1) == 1 && read(ends[0], byte, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return written;
}

// Told when the library is unloaded, which is after everything else.
struct Ledger {
    long live = 0, all = 0;
    ~Ledger() {
        const char* path = std::getenv("FAKE_CUDA_LIVE");
        if (path != nullptr && all > 0) std::ofstream(path) << live << ' ' << all;
    }
    void add() { ++live, ++all; }
    void remove() { --live; }
};
inline Ledger ledger;

// All functions: with `world` held.
class Memory {
  public:
    // Null when there is not so much left.
    void* take(std::size_t bytes, Kind kind, Context* context, bool is_of_all = false) {
        Block block{bytes, kind, context, is_of_all};
        if (!count(block)) return nullptr;
        constexpr std::size_t page = 4096;
        void* memory = kind == Kind::device ? next_to_others(bytes) : nullptr;
        const bool is_mapped = kind == Kind::pinned && bytes >= least_mapped_bytes && !ignores_protection();
        if (is_mapped && (memory = host_pages.take(bytes)) == nullptr) {
            return locked_ -= bytes, nullptr;
        }
        if (memory == nullptr) memory = std::aligned_alloc(page, (bytes / page + 1) * page);
        note(memory, block);
        return memory;
    }
    bool lock(void* pages, std::size_t bytes, Context* context, bool is_of_all) {
        const Block block{bytes, Kind::registered, context, is_of_all};
        if (!count(block)) return false;
        note(pages, block);
        return true;
    }
    // Whether there was such a block.
    bool give(void* memory, bool is_registered) {
        const auto found = blocks_.find(reinterpret_cast<Address>(memory));
        if (found == blocks_.end() || (found->second.kind == Kind::registered) != is_registered) return false;
        (found->second.is_locked() ? locked_ : used_) -= found->second.bytes;
        blocks_.erase(found);
        ledger.remove();
        if (!is_registered && !is_next_to_others(memory) && !host_pages.give(memory)) std::free(memory);
        return true;
    }
    // The block that an address lies in, with where it begins; null where nothing is known.
    const std::pair<const Address, Block>* find(Address address) const {
        const auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin()) return nullptr;
        const auto& found = *std::prev(after);
        return address - found.first < found.second.bytes ? &found : nullptr;
    }
    bool is_locked(const void* address) const {
        const auto* found = find(reinterpret_cast<Address>(address));
        return found != nullptr && found->second.is_locked();
    }
    bool is_pageable(const void* address) const { return find(reinterpret_cast<Address>(address)) == nullptr; }
    // In another context than the one that registered it without saying that it is for all.
    bool is_pageable_in(const Context* context, const void* address) const {
        const auto* found = find(reinterpret_cast<Address>(address));
        return found == nullptr ||
               (found->second.kind == Kind::registered && !found->second.is_of_all && found->second.context != context);
    }
    // Whether the block that they begin in, if any, ends within so many bytes, which the driver's copies then refuse.
    bool is_cut(Address address, std::size_t bytes) const {
        const auto* block = find(address);
        return block != nullptr && bytes > block->first + block->second.bytes - address;
    }
    // Whether a block ends within so many bytes, or one that is locked begins, which is then not locked.
    bool is_split(const void* memory, std::size_t bytes) const {
        const auto address = reinterpret_cast<Address>(memory);
        const auto* first = find(address);
        const auto* last = find(address + (bytes == 0 ? 0 : bytes - 1));
        return first != last && (first != nullptr || last->second.is_locked());
    }
    std::size_t used() const { return used_; }
    // What a context had goes with it.
    void forget(const Context* context) {
        std::vector<std::pair<Address, bool>> gone;
        for (const auto& [address, block] : blocks_) {
            if (block.context == context) gone.emplace_back(address, block.kind == Kind::registered);
        }
        for (const auto& [address, is_registered] : gone) give(reinterpret_cast<void*>(address), is_registered);
    }
    // Device memory is its own context's; what all of a device's may use is not meant.
    bool is_foreign(Address address, const void* context) const {
        const auto* found = find(address);
        return found != nullptr && found->second.kind == Kind::device && !found->second.is_of_all &&
               found->second.context != context;
    }

    const void* owner(Address address) const {
        const auto* found = find(address);
        return found == nullptr ? nullptr : found->second.context;
    }

  private:
    // With FAKE_CUDA_ADJACENT the device's blocks begin where others end, as drivers cut small ones out of large ones;
    // else sanitizers see what is written beyond them. Null where there is no room: nothing is used twice.
    void* next_to_others(std::size_t bytes) {
        if (std::getenv("FAKE_CUDA_ADJACENT") == nullptr) return nullptr;
        constexpr std::size_t granularity = 512;
        static std::byte* const begin = static_cast<std::byte*>(std::aligned_alloc(4096, room_));
        static std::size_t used = 0;
        const std::size_t taken = (bytes + granularity - 1) / granularity * granularity;
        if (taken > room_ - used) return nullptr;
        room_begin_ = begin;
        return begin + std::exchange(used, used + taken);
    }
    bool is_next_to_others(const void* memory) const {
        const auto* const byte = static_cast<const std::byte*>(memory);
        return room_begin_ != nullptr && byte >= room_begin_ && byte < room_begin_ + room_;
    }
    bool count(const Block& block) {
        std::size_t& sum = block.is_locked() ? locked_ : used_;
        const std::size_t most = limit(block.is_locked() ? "FAKE_CUDA_LOCKED" : "FAKE_CUDA_MEMORY");
        if (sum > most || block.bytes > most - sum) return false;
        sum += block.bytes;
        return true;
    }
    void note(void* memory, const Block& block) {
        ledger.add();
        blocks_[reinterpret_cast<Address>(memory)] = block;
    }
    std::map<Address, Block> blocks_;
    std::size_t used_ = 0, locked_ = 0;
    static constexpr std::size_t room_ = std::size_t{64} << 20;
    const std::byte* room_begin_ = nullptr;
};
// Never destroyed: programs give back what they hold at the very end.
inline Memory& memory = *new Memory;

// A device in confidential mode has no page-locked memory: what is asked for is managed.
inline bool is_confidential() {
    return std::getenv("FAKE_CUDA_CONFIDENTIAL") != nullptr;
}

// Allocators may map the device's memory part by part into a range of their own (cuMemMap): FAKE_CUDA_SEGMENTS bytes a
// part; 0 where each block is in one piece.
inline std::size_t segment_bytes() {
    const char* text = std::getenv("FAKE_CUDA_SEGMENTS");
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

// Where an address's memory begins, and how much it is: of what is mapped, its segment.
inline std::pair<Address, std::size_t> segment_of(const std::pair<const Address, Block>& block, Address address) {
    const auto& [begin, of] = block;
    const std::size_t segment = segment_bytes();
    if (segment == 0 || of.kind != Kind::device) return {begin, of.bytes};
    const std::size_t first = (address - begin) / segment * segment;
    return {begin + first, std::min(segment, of.bytes - first)};
}

// What a pointer's attribute is, and how many bytes the driver writes of it.
inline std::pair<std::uint64_t, std::size_t> attribute_of(int attribute, Address address) {
    const auto* found = memory.find(address);
    const bool is_locked = found != nullptr && found->second.is_locked();
    const bool is_known = found != nullptr && found->second.kind != Kind::array;
    // No context owns it, and behind it the range that was reserved goes on.
    const bool is_mapped = is_known && found->second.kind == Kind::device && segment_bytes() != 0;
    switch (attribute) {
        case 1:
            return {is_known && !is_mapped && !found->second.is_of_all
                        ? reinterpret_cast<std::uint64_t>(found->second.context)
                        : 0,
                    8};
        case 2: return {!is_known ? 0 : is_locked ? 1 : 2, 4};
        case 3: return {is_known ? address : 0, 8};
        case 8:
            return {is_known && (found->second.kind == Kind::managed || (is_locked && is_confidential())),
                    sizeof(unsigned)};
        case 9: return {is_known ? static_cast<std::uint64_t>(found->second.context->device) : std::uint64_t(-2), 4};
        case 11: return {is_known ? found->first : 0, 8};
        case 12: return {is_known ? found->second.bytes + (is_mapped ? segment_bytes() : 0) : 0, 8};
        default: return {0, 0};
    }
}

}  // namespace fake
