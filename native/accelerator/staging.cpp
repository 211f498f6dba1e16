// Programs that stage by themselves: their memcpy into page-locked memory, and out of it, by several threads.
#include "accelerator/staging.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "accelerator/crowd.hpp"
#include "base/clock.hpp"
#include "base/pages.hpp"
#include "base/processors.hpp"
#include "base/streaming_copy.hpp"

namespace isthmus::accelerator {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{512} << 10;
// As many as fill a link, with the caller.
constexpr std::size_t useful_threads = 10;
// The next copy follows soon, in a program that stages.
constexpr double awake_seconds = 100e-6;
// None is given up: the program's memory is in use until all have ended.
constexpr double for_good_seconds = 1e9;

}  // namespace

PinnedMemory& PinnedMemory::of_process() {
    // Never destroyed; and without the heap, which may be exhausted when a program's memcpy first asks for it.
    alignas(PinnedMemory) static std::array<std::byte, sizeof(PinnedMemory)> room;
    static PinnedMemory& known = *new (room.data()) PinnedMemory;
    return known;
}

void PinnedMemory::add(std::uintptr_t begin, std::size_t bytes, bool of_one_context) {
    const std::unique_lock lock(mutex_);
    known_[begin] = {bytes, of_one_context};
    blocks_ = known_.size();
}

void PinnedMemory::remove(std::uintptr_t begin) {
    const std::unique_lock lock(mutex_);
    known_.erase(begin);
    blocks_ = known_.size();
}

std::vector<std::uintptr_t> PinnedMemory::begins() const {
    std::vector<std::uintptr_t> all;
    const std::shared_lock lock(mutex_);
    for (const auto& block : known_) all.push_back(block.first);
    return all;
}

const std::pair<const std::uintptr_t, PinnedMemory::Block>* PinnedMemory::find(std::uintptr_t address) const {
    const auto after = known_.upper_bound(address);
    if (after == known_.begin()) return nullptr;
    const auto& block = *std::prev(after);
    return address - block.first < block.second.bytes ? &block : nullptr;
}

bool PinnedMemory::holds(std::uintptr_t begin, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    const auto* block = find(begin);
    return block != nullptr && bytes <= block->second.bytes - (begin - block->first);
}

bool PinnedMemory::meets(std::uintptr_t begin, std::size_t bytes) const {
    if (is_empty()) return false;
    const std::shared_lock lock(mutex_);
    if (find(begin) != nullptr) return true;
    const auto next = known_.upper_bound(begin);
    return next != known_.end() && next->first - begin < bytes;
}

bool PinnedMemory::is_of_one_context(std::uintptr_t address) const {
    const std::shared_lock lock(mutex_);
    const auto* block = find(address);
    return block != nullptr && block->second.of_one_context;
}

bool Staging::copy(void* to, const void* from, std::size_t bytes, MemoryCopy plain, const void* site) {
    const std::uintptr_t destination = reinterpret_cast<std::uintptr_t>(to);
    const std::uintptr_t source = reinterpret_cast<std::uintptr_t>(from);
    if (destination < source + bytes && source < destination + bytes) return false;
    const PinnedMemory& pinned = PinnedMemory::of_process();
    const bool to_pinned = pinned.holds(destination, bytes);
    if (!to_pinned && !pinned.holds(source, bytes)) return false;
    if (!eager_ && is_crowded()) return false;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const auto [row, turn] = learning_.next({site, to_pinned ? Way::into_pinned : Way::out_of_pinned, bytes});
    if (turn == Learning::Turn::driver && !eager_) return false;
    Learning::Part alone;
    if (turn == Learning::Turn::sample) {
        alone.bytes = std::min(bytes / 2, most_sampled_bytes) / least_page * least_page;
        const TimePoint begun = now();
        plain(to, from, alone.bytes);
        alone.seconds = seconds_between(begun, now());
    }
    const TimePoint begun = now();
    const std::size_t rest = bytes - alone.bytes;
    // Without room for threads the caller's part is all of it, in vain.
    if (!by_threads(static_cast<std::byte*>(to) + alone.bytes, static_cast<const std::byte*>(from) + alone.bytes, rest,
                    to_pinned)) {
        return false;
    }
    learning_.saw(row, {rest, seconds_between(begun, now())}, alone);
    return true;
}

bool Staging::by_threads(std::byte* to, const std::byte* from, std::size_t bytes, bool to_pinned) {
    if (group_ == nullptr) {
        const std::size_t all = std::min(most_threads_ != 0 ? most_threads_ : allowed_processors(), useful_threads);
        if (all < 2) return false;
        WorkerGroup::Options options;
        options.awake_seconds = awake_seconds;
        auto started = WorkerGroup::start(all - 1, std::move(options));
        if (!started.ok()) return false;
        group_ = std::move(started.value());
    }
    ahead_.begin(to, to_pinned ? 0 : bytes);
    std::atomic<std::size_t> next = 0;
    const auto part = [&](std::size_t, const std::atomic<bool>&) {
        for (std::size_t begin = next.fetch_add(chunk_bytes); begin < bytes; begin = next.fetch_add(chunk_bytes)) {
            const std::size_t length = std::min(chunk_bytes, bytes - begin);
            (void)ahead_.take(begin + length + FaultAhead::bytes_ahead);
            copy_streaming(to + begin, from + begin, length);
        }
        end_streaming();
        return Status();
    };
    return group_->run_with_caller(part, {for_good_seconds, "copying into page-locked memory"}).ok();
}

}  // namespace isthmus::accelerator
