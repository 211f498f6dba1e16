// Programs that stage by themselves: their memcpy into page-locked memory, and out of it, by several threads.
#include "accelerator/staging.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "accelerator/crowd.hpp"
#include "base/cache_copies.hpp"
#include "base/clock.hpp"
#include "base/memory/access.hpp"
#include "base/pages.hpp"
#include "base/processors.hpp"

namespace isthmus::accelerator {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{512} << 10;
// Signals that come meanwhile wait until a slice is moved, a few milliseconds.
constexpr std::size_t slice_bytes = std::size_t{128} << 20;
// As many as fill a link, the caller included.
constexpr std::size_t useful_threads = 10;
// The next copy follows soon, in a program that stages.
constexpr double awake_seconds = 100e-6;
// No copy is abandoned: the program's memory is in use until all threads have ended.
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
    blocks = known_.size();
}

void PinnedMemory::remove(std::uintptr_t begin) {
    const std::unique_lock lock(mutex_);
    known_.erase(begin);
    blocks = known_.size();
}

std::vector<std::uintptr_t> PinnedMemory::begins() const {
    std::vector<std::uintptr_t> all;
    const std::shared_lock lock(mutex_);
    all.reserve(known_.size());
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
    if (!is_any()) return false;
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

StagedStep Staging::go_on(StagedCopy& copy) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (copy.stage == StagedCopy::Stage::fresh) {
        if (!lock.try_lock()) return StagedStep::plain;
        if (const auto step = begin(copy)) return *step;
    } else {
        // Another thread of the program may have ours for the time of a slice.
        lock.lock();
        if (copy.stage == StagedCopy::Stage::sampled) copy.plain.seconds = seconds_between(copy.begun, now());
    }
    if (copy.stage != StagedCopy::Stage::begun) copy.done = copy.plain.bytes;
    copy.stage = StagedCopy::Stage::begun;
    const TimePoint begun = now();
    const std::size_t bytes = std::min(copy.bytes - copy.done, slice_bytes);
    if (!move(copy, bytes)) return StagedStep::plain;
    copy.done += bytes;
    copy.ours.bytes += bytes;
    copy.ours.seconds += seconds_between(begun, now());
    if (copy.done < copy.bytes) return StagedStep::again;
    learning_.record(copy.row, copy.ours, copy.plain);
    return StagedStep::done;
}

std::optional<StagedStep> Staging::begin(StagedCopy& copy) {
    const auto destination = reinterpret_cast<std::uintptr_t>(copy.to);
    const auto source = reinterpret_cast<std::uintptr_t>(copy.from);
    if (destination < source + copy.bytes && source < destination + copy.bytes) return StagedStep::plain;
    const PinnedMemory& pinned = PinnedMemory::of_process();
    const bool to_pinned = pinned.holds(destination, copy.bytes);
    if (!to_pinned && !pinned.holds(source, copy.bytes)) return StagedStep::plain;
    if (!eager_ && is_crowded()) return StagedStep::plain;
    const auto [row, maker] =
        learning_.next({copy.site, to_pinned ? Way::into_pinned : Way::out_of_pinned, copy.bytes});
    if (maker == Learning::Maker::driver && !eager_) return StagedStep::plain;
    copy.row = row;
    if (maker != Learning::Maker::sample) return std::nullopt;
    // What threads cannot move the program copies in one call, as it would without the library.
    if (!is_there(Access::read, source, copy.bytes) || !is_there(Access::write, destination, copy.bytes)) {
        return StagedStep::plain;
    }
    copy.plain.bytes = std::min(copy.bytes / 2, most_sampled_bytes) / least_page * least_page;
    copy.stage = StagedCopy::Stage::sampled;
    copy.begun = now();
    return StagedStep::sample;
}

bool Staging::start_threads() {
    if (group_ != nullptr) return true;
    const std::size_t all = std::min(most_threads_ != 0 ? most_threads_ : allowed_processors(), useful_threads);
    if (all < 2) return false;
    WorkerGroup::Options options;
    options.awake_seconds = awake_seconds;
    auto started = WorkerGroup::start(all - 1, std::move(options));
    if (started.ok()) {
        group_ = std::move(started.value());
    } else {
        learning_.keep(started.take_status().message());
    }
    return group_ != nullptr;
}

// Page-locked memory has all its pages.
bool Staging::look(std::size_t bytes) {
    const auto may = [&](Access access, const std::byte* data, Slice::Check& check) {
        Mappings mappings;
        const Mappings::Answer answer = mappings.may(access, data, bytes);
        const bool is_pinned = PinnedMemory::of_process().holds(reinterpret_cast<std::uintptr_t>(data), bytes);
        check = Slice::Check::none;
        if (mappings.met_file()) check = Slice::Check::ends;
        if (answer == Mappings::Answer::unknown && !is_pinned) check = Slice::Check::pages;
        return answer != Mappings::Answer::no;
    };
    return may(Access::read, slice_.from, slice_.check_from) && may(Access::write, slice_.to, slice_.check_to);
}

bool Staging::move(const StagedCopy& copy, std::size_t bytes) {
    if (!start_threads()) return false;
    slice_.to = copy.to + copy.done;
    slice_.from = copy.from + copy.done;
    slice_.bytes = bytes;
    if (!look(bytes)) return false;
    slice_.next = 0;
    slice_.failed = false;
    const bool is_pinned = PinnedMemory::of_process().holds(reinterpret_cast<std::uintptr_t>(slice_.to), bytes);
    ahead_.begin(slice_.to, is_pinned ? 0 : bytes, slice_.check_to == Slice::Check::pages);
    const auto part = [this](std::size_t, const std::atomic<bool>&) {
        move_chunks();
        return Status();
    };
    const Status moved = group_->run_with_caller(part, {for_good_seconds, "copying into page-locked memory"});
    return moved.ok() && !slice_.failed;
}

void Staging::move_chunks() {
    Slice& all = slice_;
    for (std::size_t begin = all.next.fetch_add(chunk_bytes); begin < all.bytes && !all.failed;
         begin = all.next.fetch_add(chunk_bytes)) {
        const std::size_t length = std::min(chunk_bytes, all.bytes - begin);
        (void)ahead_.take(begin + length + FaultAhead::bytes_ahead);
        const auto can = [&](Access access, const std::byte* data, Slice::Check check) {
            switch (check) {
                case Slice::Check::none: return true;
                case Slice::Check::ends: return is_accessible_at_ends(access, data, length);
                case Slice::Check::pages: break;
            }
            return make_accessible(access, data, length);
        };
        if (!can(Access::read, all.from + begin, all.check_from) || !can(Access::write, all.to + begin, all.check_to)) {
            all.failed = true;
            break;
        }
        copy_streaming(all.to + begin, all.from + begin, length);
    }
    end_streaming();
}

}  // namespace isthmus::accelerator
