// Chooses how a copy is made.
#include <algorithm>

#include "backend/device.hpp"
#include "base/cache_copies.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/session/chooser.hpp"

namespace isthmus {
namespace {

constexpr std::size_t most_recent = 8;

bool alike(const PieceRule& one, const PieceRule& other) {
    return one.to_device == other.to_device && one.pageable == other.pageable &&
           one.apart_on_host == other.apart_on_host && one.apart_on_device == other.apart_on_device &&
           one.scattered == other.scattered && one.width_bytes == other.width_bytes && one.pieces == other.pieces;
}

// How so many threads store what they pack. Demoting costs them time and saves the device's: it does not pay with much
// fewer threads than the rule's.
Stores stores_of(const BufferRule& rule, std::size_t threads) {
    const bool demotes = rule.stores == Stores::demoted && can_demote() && 4 * threads >= 3 * rule.threads;
    return rule.stores == Stores::demoted && !demotes ? Stores::streaming : rule.stores;
}

}  // namespace

Cut cut_of(const Choice& choice, const Ends& ends) {
    if (choice.kind != Choice::Kind::direct) return Cut::none;
    // Pages of managed memory may be anywhere.
    return ends.host_kind() == MemoryKind::pinned ? Cut::links : Cut::parts;
}

Packing Chooser::packing(bool to_device, std::size_t threads) const {
    Packing packing;
    packing.threads = std::min(threads == 0 ? threads_ : threads, threads_);
    packing.lane_mutex = &lane(to_device).mutex();
    packing.waits_forever = true;  // callers get their memory back
    return packing;
}

KernelBlocks Chooser::blocks_between(const Layout& destination, const Layout& source) const {
    const bool within = is_on_device(destination.allocation->kind()) && is_on_device(source.allocation->kind());
    return within ? blocks_.within_device() : blocks_;
}

Choice Chooser::choose_buffer(const Ends& ends, std::size_t bytes) const {
    Choice choice;
    if (ends.route == Route::h2h || ends.route == Route::d2d) {
        choice.kind = ends.route == Route::h2h ? Choice::Kind::host : Choice::Kind::device;
        return choice;
    }
    if (!is_pageable(ends.host_kind())) {
        choice.kind = Choice::Kind::direct;
        // Managed pages may have to move first.
        const bool is_pinned = ends.host_kind() == MemoryKind::pinned;
        choice.seconds = is_pinned ? table_.direct_seconds(ends.route == Route::h2d, bytes) : 0;
        return choice;
    }
    const bool to_device = ends.route == Route::h2d;
    const BufferRule& rule = table_.buffer(to_device, bytes);
    choice.seconds = table_.seconds(rule, bytes);
    choice.kind = Choice::Kind::driver;
    if (rule.method != BufferMethod::staged && !ends.partly_locked) return choice;
    if (!lane(to_device).has_room()) {
        choice.no_room = true;
        choice.seconds = 0;
        return choice;
    }
    if (ends.partly_locked) choice.seconds = 0;
    choice.kind = Choice::Kind::staged;
    choice.method = PieceMethod::pack_threads;
    // Two links take what twice as many threads pack. What arrives by two is unpacked by as many as by one: with more,
    // devices write again to what is still in their caches.
    choice.packing = packing(to_device, to_device && !has_own_link_alone() ? 2 * rule.threads : rule.threads);
    choice.packing.chunk_bytes = lane(to_device).ring().chunk_bytes(bytes, rule.chunk_bytes);
    choice.packing.stores = stores_of(rule, choice.packing.threads);
    return choice;
}

Choice Chooser::choose(const CopyJob& job) {
    Choice choice = choose_method(job);
    if (choice.method != PieceMethod::pack_threads || job.to_device()) return choice;
    const bool clears_pages = fills_untouched(job.destination, job.extent);
    choice.packing.clears_pages = clears_pages;
    if (clears_pages) {
        // Clearing pages is work for all threads, and leaves them in caches, where ordinary stores find them.
        choice.packing.threads = threads_;
        choice.packing.stores = Stores::ordinary;
    }
    return choice;
}

Choice Chooser::choose_method(const CopyJob& job) {
    if (job.is_contiguous() || job.ends.route == Route::h2h || job.ends.route == Route::d2d) {
        return choose_buffer(job.ends, job.extent.bytes());
    }
    if (are_long_pieces(job.extent.width_bytes)) {
        // What threads pack goes through the ring as one, wherever a piece ends.
        Choice choice = choose_buffer(job.ends, job.extent.bytes());
        if (choice.kind == Choice::Kind::staged) {
            choice.kind = Choice::Kind::pieces;
            return choice;
        }
        choice = choose_buffer(job.ends, job.extent.width_bytes);
        choice.seconds *= static_cast<double>(job.extent.pieces());
        choice.kind = Choice::Kind::rows;
        return choice;
    }
    return choose_pieces(job);
}

Choice Chooser::choose_pieces(const CopyJob& job) {
    if (job.is_repeated()) {
        // As one without gaps, of which threads write the bytes out where they would read them.
        Choice choice = choose_buffer(job.ends, job.extent.bytes());
        if (choice.kind != Choice::Kind::staged) {
            choice.packing = packing(true, 0);
            choice.seconds = 0;
        }
        choice.kind = Choice::Kind::pieces;
        choice.method = PieceMethod::pack_threads;
        return choice;
    }
    PieceRule asked;
    asked.to_device = job.to_device();
    asked.pageable = is_pageable(job.ends.host_kind());
    asked.apart_on_host = !job.host_side().is_contiguous(job.extent);
    asked.apart_on_device = !job.device_side().is_contiguous(job.extent);
    asked.scattered = job.is_scattered();
    asked.width_bytes = job.extent.width_bytes;
    asked.pieces = job.extent.pieces();
    return choose_pieces(asked, job.ends);
}

Choice Chooser::choose_pieces(const PieceRule& asked, const Ends& ends) {
    const Nearest closest = nearest(asked);
    const PieceRule* const rule = closest.rule;
    Choice choice;
    choice.kind = Choice::Kind::pieces;
    choice.no_rule = rule == nullptr;
    if (rule != nullptr) {
        choice.method = rule->method;
        choice.seconds = closest.seconds;
    } else if (asked.pageable) {
        choice.method = PieceMethod::pack_threads;
    } else {
        choice.method = device_.kernels_reach(ends.host_kind()) ? PieceMethod::kernel : PieceMethod::section;
    }
    if (ends.partly_locked) {
        choice.method = PieceMethod::pack_threads;
        choice.seconds = 0;
    }
    choice.packing = packing(asked.to_device, rule != nullptr ? rule->threads : 0);
    if (choice.method == PieceMethod::pack_threads) {
        // For a copy engine threads pack pieces as they pack one of so many bytes.
        const BufferRule& buffer = table_.buffer(asked.to_device, asked.width_bytes * asked.pieces);
        if (buffer.method == BufferMethod::staged) {
            choice.packing.threads = std::max(choice.packing.threads, std::min(buffer.threads, threads_));
            choice.packing.stores = stores_of(buffer, choice.packing.threads);
        }
    }
    const bool through_lane = choice.method == PieceMethod::pack || choice.method == PieceMethod::pack_threads ||
                              choice.method == PieceMethod::pack_kernel || choice.method == PieceMethod::device_pack;
    if (through_lane && !lane(asked.to_device).has_room()) {
        choice.no_room = true;
        choice.method = asked.scattered ? PieceMethod::copies : PieceMethod::section;
        choice.seconds = 0;
    }
    return choice;
}

Chooser::Nearest Chooser::nearest(const PieceRule& asked) {
    const std::lock_guard lock(recent_mutex_);
    for (const Nearest& before : recent_) {
        if (alike(before.asked, asked)) return before;
    }
    const PieceRule* rule = table_.piece(asked);
    const double seconds = rule != nullptr ? table_.seconds(*rule, asked.width_bytes, asked.pieces) : 0;
    if (recent_.size() == most_recent) recent_.erase(recent_.begin());
    return recent_.emplace_back(Nearest{asked, rule, seconds});
}

}  // namespace isthmus
