// Says how a copy is made, and why.
#include <algorithm>
#include <string>

#include "backend/device.hpp"
#include "transfer/pieces/kernel_copies.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/session/chooser.hpp"

namespace isthmus {
namespace {

const char* memory_name(MemoryKind kind) {
    if (kind == MemoryKind::managed) return "managed";
    return kind == MemoryKind::pinned ? "pinned" : "pageable";
}

// For a copy between this device and the other one of the job.
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

std::uint32_t Chooser::explained_blocks(const CopyJob& job, const Choice& choice) const {
    const bool from_device = is_on_device(job.source.allocation->kind());
    if (choice.kind == Choice::Kind::device) return job.is_contiguous() ? 0 : blocks_.at_most(0);
    if (choice.kind != Choice::Kind::pieces) return 0;
    // What crosses the link by itself, and what is gathered or spread on the device next to it.
    const bool by_kernel = choice.method == PieceMethod::kernel || choice.method == PieceMethod::pack_kernel;
    const bool gathers = choice.method == PieceMethod::device_pack || choice.method == PieceMethod::pack ||
                         choice.method == PieceMethod::pack_threads;
    const std::size_t unit = units_of(job.destination, job.source, job.extent).bytes;
    if (by_kernel) return blocks_.of(from_device, !from_device, unit);
    return gathers && needs_kernel(job.device_side(), job.extent) ? blocks_.of(true, true, unit) : 0;
}

Explanation Chooser::explain(const CopyJob& job) {
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
    const std::string through_ring =
        "threads copy between pageable memory and page-locked chunks that cross the link meanwhile";
    switch (choice.kind) {
        case Choice::Kind::nothing: explanation.method = "nothing"; break;
        case Choice::Kind::host:
            explanation.method = "host";
            explanation.why = "both sides are host memory: the calling thread copies";
            break;
        case Choice::Kind::device:
            explanation.method = "device";
            explanation.why = "both sides are on the device, which copies by itself";
            if (job.other != nullptr) {
                explanation.method = "peer";
                explanation.why = between(device_, job);
            }
            break;
        case Choice::Kind::direct:
            explanation.method = "direct";
            explanation.why =
                "the host's memory is " + explanation.host_memory + ": the device reads or writes it itself";
            break;
        case Choice::Kind::driver:
            explanation.method = "driver";
            explanation.why = "the driver's own copy is fastest for this size, says " + table;
            break;
        case Choice::Kind::staged:
            explanation.method = "staged";
            explanation.why = through_ring + ": fastest for this size, says " + table;
            break;
        case Choice::Kind::rows:
            explanation.method = name_of(choose_buffer(job.ends, job.extent.width_bytes).kind);
            explanation.why = "each of " + std::to_string(explanation.pieces) + " rows is long enough to go by itself";
            break;
        case Choice::Kind::pieces:
            explanation.method = name_of(choice.method);
            if (job.is_repeated()) {
                explanation.why =
                    "the source repeats its elements (strides of 0): threads write them out into "
                    "page-locked chunks, as of an array without repetition";
                break;
            }
            explanation.why =
                std::to_string(explanation.pieces) + " pieces of " + std::to_string(explanation.width_bytes) + " bytes";
            if (are_long_pieces(explanation.width_bytes) && choice.method == PieceMethod::pack_threads) {
                explanation.why = through_ring + ", " + explanation.why +
                                  " as if they were one: fastest for so many bytes, says " + table;
                break;
            }
            explanation.why = choice.no_rule ? table + " has nothing like " + explanation.why +
                                                   ": a method that serves most; `isthmus calibrate` finds the best"
                                             : "fastest for " + explanation.why + ", says " + table;
            break;
    }
    if (packs_on_threads(choice.method)) {
        if (choice.packing.clears_pages.value_or(false)) {
            explanation.why += "; most of the memory was never touched: all threads put its pages in place, too";
        }
        explanation.threads = choice.packing.threads;
        explanation.chunk_bytes = choice.packing.chunk_bytes;
        explanation.stores = choice.packing.stores.value_or(
            suitable_stores(job.to_device(), choice.method == PieceMethod::pack_kernel, explanation.bytes));
    }
    explanation.kernel_blocks = explained_blocks(job, choice);
    explain_links(job, choice, explanation);
    if (job.ends.partly_locked && !choice.no_room) {
        explanation.why =
            "the host's memory is page-locked in part, which the driver does not copy: threads copy between it and "
            "page-locked chunks";
    }
    if (choice.no_room) {
        explanation.why = "the pinned budget of " + std::to_string(options_.pinned_budget_bytes.value_or(0)) +
                          " bytes holds no ring of chunks: the driver's own copies, which are slower; give the session "
                          "a budget of 2 MiB or more";
    }
    return explanation;
}

void Chooser::explain_links(const CopyJob& job, const Choice& choice, Explanation& explanation) {
    const bool threads = choice.method == PieceMethod::pack_threads && !choice.packing.clears_pages.value_or(false) &&
                         !needs_kernel(job.device_side(), job.extent);
    const bool large = explanation.bytes > part_bytes && cut_of(choice, job.ends) == Cut::links;
    if (has_own_link_alone() || (!threads && !large)) return;
    const Links::Shares shares = links_[job.to_device() ? 0 : 1].shares(explanation.bytes);
    if (!shares.of_neighbours.empty()) {
        explanation.links.emplace_back(name_of(device_), shares.own);
        explanation.links.insert(explanation.links.end(), shares.of_neighbours.begin(), shares.of_neighbours.end());
        explanation.why += "; its chunks go over the device's own link and by way of ";
        for (std::size_t i = 0; i < shares.of_neighbours.size(); ++i) {
            explanation.why += (i == 0 ? "" : ", ") + shares.of_neighbours[i].first;
        }
        // What packs them may be slower than two links.
        if (large) explanation.seconds *= shares.own;
    }
    for (const std::string& sentence : shares.not_used) explanation.why += "; " + sentence;
}

Explanation Chooser::explain(const std::vector<std::shared_ptr<CopyJob>>& jobs, const char* parts) {
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

Explanation Explanation::nothing(const char* why) {
    Explanation explanation;
    explanation.method = "nothing";
    explanation.pieces = 0;
    explanation.why = why;
    return explanation;
}

}  // namespace isthmus
