// Chooses how a copy is made, and says why.
#include <algorithm>
#include <string>

#include "backend/device.hpp"
#include "base/demoting_copy.hpp"
#include "transfer/pieces/kernel_copies.hpp"
#include "transfer/pieces/method_names.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/session/session_impl.hpp"

namespace isthmus {
namespace {

constexpr std::size_t most_recent = 8;

bool alike(const PieceRule& one, const PieceRule& other) {
    return one.to_device == other.to_device && one.pageable == other.pageable &&
           one.apart_on_host == other.apart_on_host && one.apart_on_device == other.apart_on_device &&
           one.scattered == other.scattered && one.width_bytes == other.width_bytes && one.pieces == other.pieces;
}

const char* memory_name(MemoryKind kind) {
    if (kind == MemoryKind::managed) return "managed";
    return kind == MemoryKind::pinned ? "pinned" : "pageable";
}

// How so many threads store what they pack. Demoting costs them time and saves the device's: it does not pay with much
// fewer threads than the rule's.
Stores stores_of(const BufferRule& rule, std::size_t threads) {
    const bool demotes = rule.stores == Stores::demoted && can_demote() && 4 * threads >= 3 * rule.threads;
    return rule.stores == Stores::demoted && !demotes ? Stores::streaming : rule.stores;
}

// Of a copy between this device and the other one of the job.
std::string between(const Device& device, const CopyJob& job) {
    const std::string sides = "the sides are on " + name_of(device) + " and " + name_of(*job.other) + ": ";
    if (!job.is_contiguous() && job.is_reached) return sides + "a kernel of the first reads and writes both";
    const std::string what =
        job.is_contiguous() ? "the driver copies between them"
                            : "the driver copies each of " + std::to_string(job.extent.pieces()) + " pieces by itself";
    return sides + what +
           (device.why_no_peer_reach(*job.other) ? ", by way of the host, since they do not reach each other's memory"
                                                 : "");
}

}  // namespace

Packing SessionImpl::packing(bool to_device, std::size_t threads) const {
    Packing packing;
    packing.threads = std::min(threads == 0 ? threads_ : threads, threads_);
    packing.turns = &lanes_[to_device ? 0 : 1].turns();
    packing.waits_forever = true;  // callers get their memory back
    return packing;
}

KernelBlocks SessionImpl::blocks_between(const Layout& destination, const Layout& source) const {
    const bool within = is_on_device(destination.allocation->kind()) && is_on_device(source.allocation->kind());
    return within ? blocks_.within_device() : blocks_;
}

std::uint32_t SessionImpl::explained_blocks(const CopyJob& job, const Choice& choice) const {
    const bool from_device = is_on_device(job.source.allocation->kind());
    if (choice.way == Choice::Way::device) return job.is_contiguous() ? 0 : blocks_.at_most(0);
    if (choice.way != Choice::Way::pieces) return 0;
    // What crosses the link by itself, and what is gathered or spread on the device beside it.
    const bool by_kernel = choice.method == PieceMethod::kernel || choice.method == PieceMethod::pack_kernel;
    const bool gathers = choice.method == PieceMethod::device_pack || choice.method == PieceMethod::pack ||
                         choice.method == PieceMethod::pack_threads;
    const std::size_t unit = units_of(job.destination, job.source, job.extent).bytes;
    if (by_kernel) return blocks_.of(from_device, !from_device, unit);
    return gathers && needs_kernel(job.device_side(), job.extent) ? blocks_.of(true, true, unit) : 0;
}

Choice SessionImpl::choose_buffer(const Ends& ends, std::size_t bytes) const {
    Choice choice;
    if (ends.route == Route::h2h || ends.route == Route::d2d) {
        choice.way = ends.route == Route::h2h ? Choice::Way::host : Choice::Way::device;
        return choice;
    }
    if (!is_pageable(ends.host_kind())) {
        choice.way = Choice::Way::direct;
        // Managed pages may have to move first.
        const bool is_pinned = ends.host_kind() == MemoryKind::pinned;
        choice.seconds = is_pinned ? table_.direct_seconds(ends.route == Route::h2d, bytes) : 0;
        return choice;
    }
    const bool to_device = ends.route == Route::h2d;
    const BufferRule& rule = table_.buffer(to_device, bytes);
    choice.seconds = table_.seconds(rule, bytes);
    choice.way = Choice::Way::driver;
    if (rule.method != BufferMethod::staged && !ends.partly_locked) return choice;
    if (!lane(to_device).has_room()) {
        choice.no_room = true;
        choice.seconds = 0;
        return choice;
    }
    if (ends.partly_locked) choice.seconds = 0;
    choice.way = Choice::Way::staged;
    choice.method = PieceMethod::pack_threads;
    // Two links take what twice as many threads pack. What arrives by two is unpacked by as many as by one: with more,
    // devices write again to what is still in their caches.
    choice.packing = packing(to_device, to_device && !neighbours_->is_own() ? 2 * rule.threads : rule.threads);
    choice.packing.chunk_bytes = lane(to_device).ring().chunk_bytes(bytes, rule.chunk_bytes);
    choice.packing.stores = stores_of(rule, choice.packing.threads);
    return choice;
}

Choice SessionImpl::choose(const CopyJob& job) {
    if (job.is_contiguous() || job.ends.route == Route::h2h || job.ends.route == Route::d2d) {
        return choose_buffer(job.ends, job.extent.bytes());
    }
    if (is_long_row(job.extent.width_bytes)) {
        // What threads pack goes through the ring as one, wherever a piece ends.
        Choice choice = choose_buffer(job.ends, job.extent.bytes());
        if (choice.way == Choice::Way::staged) {
            choice.way = Choice::Way::pieces;
            return choice;
        }
        choice = choose_buffer(job.ends, job.extent.width_bytes);
        choice.seconds *= static_cast<double>(job.extent.pieces());
        choice.way = Choice::Way::rows;
        return choice;
    }
    return choose_pieces(job);
}

Choice SessionImpl::choose_pieces(const CopyJob& job) {
    if (job.is_repeated()) {
        // As one without gaps, of which threads write the bytes out where they would read them.
        Choice choice = choose_buffer(job.ends, job.extent.bytes());
        if (choice.way != Choice::Way::staged) {
            choice.packing = packing(true, 0);
            choice.seconds = 0;
        }
        choice.way = Choice::Way::pieces;
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

bool SessionImpl::is_long_row(std::size_t bytes) {
    return bytes >= long_piece_bytes;
}

Choice SessionImpl::choose_pieces(const PieceRule& asked, const Ends& ends) {
    const Nearest found = nearest(asked);
    const PieceRule* const rule = found.rule;
    Choice choice;
    choice.way = Choice::Way::pieces;
    choice.no_rule = rule == nullptr;
    if (rule != nullptr) {
        choice.method = rule->method;
        choice.seconds = found.seconds;
    } else if (asked.pageable) {
        choice.method = PieceMethod::pack_threads;
    } else {
        choice.method = device_->kernels_reach(ends.host_kind()) ? PieceMethod::kernel : PieceMethod::section;
    }
    if (ends.partly_locked) {
        choice.method = PieceMethod::pack_threads;
        choice.seconds = 0;
    }
    choice.packing = packing(asked.to_device, rule != nullptr ? rule->threads : 0);
    // For a copy engine threads pack pieces as they pack one of so many bytes.
    const BufferRule& buffer = table_.buffer(asked.to_device, asked.width_bytes * asked.pieces);
    if (choice.method == PieceMethod::pack_threads && buffer.method == BufferMethod::staged) {
        choice.packing.threads = std::max(choice.packing.threads, std::min(buffer.threads, threads_));
        choice.packing.stores = stores_of(buffer, choice.packing.threads);
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

SessionImpl::Nearest SessionImpl::nearest(const PieceRule& asked) {
    const std::lock_guard lock(recent_mutex_);
    for (const Nearest& before : recent_) {
        if (alike(before.asked, asked)) return before;
    }
    const PieceRule* rule = table_.piece(asked);
    const double seconds = rule != nullptr ? table_.seconds(*rule, asked.width_bytes, asked.pieces) : 0;
    if (recent_.size() == most_recent) recent_.erase(recent_.begin());
    return recent_.emplace_back(Nearest{asked, rule, seconds});
}

Explanation SessionImpl::explain(const CopyJob& job) {
    const Choice choice = choose(job);
    const Route route = job.ends.route;
    Explanation explanation;
    explanation.direction = name_of(route);
    if (route == Route::h2d || route == Route::d2h) explanation.host_memory = memory_name(job.ends.host_kind());
    explanation.bytes = job.extent.bytes();
    explanation.pieces = job.extent.pieces();
    explanation.width_bytes = job.extent.width_bytes;
    explanation.seconds = choice.seconds;
    std::string table = table_.built_in ? "the built-in table" : "this machine's table";
    if (options_.table) table = "the table that the session was given, of " + table_.origin;
    switch (choice.way) {
        case Choice::Way::nothing: explanation.method = "nothing"; break;
        case Choice::Way::host:
            explanation.method = "host";
            explanation.why = "both sides are host memory: the calling thread copies";
            break;
        case Choice::Way::device:
            explanation.method = "device";
            explanation.why = "both sides are on the device, which copies by itself";
            if (job.other != nullptr) {
                explanation.method = "peer";
                explanation.why = between(*device_, job);
            }
            break;
        case Choice::Way::direct:
            explanation.method = "direct";
            explanation.why =
                "the host's memory is " + explanation.host_memory + ": the device reads or writes it itself";
            break;
        case Choice::Way::driver:
            explanation.method = "driver";
            explanation.why = "the driver's own copy is fastest for this size, says " + table;
            break;
        case Choice::Way::staged:
            explanation.method = "staged";
            explanation.why =
                "threads copy between pageable memory and page-locked chunks that cross the link "
                "meanwhile: fastest for this size, says " +
                table;
            break;
        case Choice::Way::rows:
            explanation.method = name_of(choose_buffer(job.ends, job.extent.width_bytes).way);
            explanation.why = "each of " + std::to_string(explanation.pieces) + " rows is long enough to go by itself";
            break;
        case Choice::Way::pieces:
            explanation.method = name_of(choice.method);
            if (job.is_repeated()) {
                explanation.why =
                    "the source repeats its elements (strides of 0): threads write them out into "
                    "page-locked chunks, as of an array without repetition";
                break;
            }
            explanation.why =
                std::to_string(explanation.pieces) + " pieces of " + std::to_string(explanation.width_bytes) + " bytes";
            explanation.why = choice.no_rule ? table + " has nothing like " + explanation.why +
                                                   ": a method that serves most; `isthmus calibrate` finds the best"
                                             : "fastest for " + explanation.why + ", says " + table;
            break;
    }
    if (packs_on_threads(choice.method)) {
        explanation.threads = choice.packing.threads;
        explanation.chunk_bytes = choice.packing.chunk_bytes;
        explanation.stores = choice.packing.stores.value_or(
            suitable_stores(job.to_device(), choice.method == PieceMethod::pack_kernel, explanation.bytes));
    }
    explanation.kernel_blocks = explained_blocks(job, choice);
    explain_ways(job, choice, explanation);
    if (job.ends.partly_locked && !choice.no_room) {
        explanation.why =
            "the host's memory is page-locked in part, which the driver does not copy: threads copy between it and "
            "page-locked chunks";
    }
    if (choice.no_room) {
        explanation.why = "the pinned budget of " + std::to_string(budget_) +
                          " bytes holds no ring of chunks: the driver's own copies, which are slower; give the session "
                          "a budget of 2 MiB or more";
    }
    return explanation;
}

void SessionImpl::explain_ways(const CopyJob& job, const Choice& choice, Explanation& explanation) {
    const bool threads = choice.method == PieceMethod::pack_threads && !needs_kernel(job.device_side(), job.extent);
    const bool large = explanation.bytes > part_bytes && cut_of(choice, job.ends) == Cut::ways;
    if (neighbours_->is_own() || (!threads && !large)) return;
    const Ways::Shares shares = ways(job.to_device()).shares(explanation.bytes);
    if (!shares.of_neighbours.empty()) {
        explanation.ways.emplace_back(name_of(*device_), shares.own);
        explanation.ways.insert(explanation.ways.end(), shares.of_neighbours.begin(), shares.of_neighbours.end());
        explanation.why += "; its chunks go over the device's own link and by way of ";
        for (std::size_t i = 0; i < shares.of_neighbours.size(); ++i) {
            explanation.why += (i == 0 ? "" : ", ") + shares.of_neighbours[i].first;
        }
        // What packs them may be slower than two links.
        if (large) explanation.seconds *= shares.own;
    }
    for (const std::string& sentence : shares.not_used) explanation.why += "; " + sentence;
}

Explanation SessionImpl::explain(const std::vector<std::shared_ptr<CopyJob>>& jobs, const char* parts) {
    const auto largest = std::max_element(jobs.begin(), jobs.end(), [](const auto& one, const auto& other) {
        return one->extent.bytes() < other->extent.bytes();
    });
    Explanation explanation = explain(**largest);
    explanation.bytes = explanation.pieces = 0;
    explanation.seconds = 0;
    for (const std::shared_ptr<CopyJob>& job : jobs) {
        explanation.bytes += job->extent.bytes();
        explanation.pieces += job->extent.pieces();
        explanation.seconds += choose(*job).seconds;
    }
    if (jobs.size() > 1) {
        explanation.why = "pieces of " + std::to_string(jobs.size()) + " " + parts +
                          " go one after the other; of the largest: " + explanation.why;
    }
    return explanation;
}

Explanation SessionImpl::nothing(const char* why) {
    Explanation explanation;
    explanation.method = "nothing";
    explanation.pieces = 0;
    explanation.why = why;
    return explanation;
}

Result<Explanation> SessionImpl::explain(const ArrayView& destination, const ArrayView& source) {
    Call call(*this);
    ISTHMUS_TRY(call.status());
    Binding binding(*device_);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(job, resolve(destination, source));
    if (job == nullptr) {
        return nothing("the arrays are empty");
    }
    return explain(*job);
}

}  // namespace isthmus
