// One direction's page-locked memory and threads, used by one transfer at a time.
#include "transfer/staging/staging_lane.hpp"

#include <algorithm>
#include <utility>

#include "base/pages.hpp"
#include "transfer/pieces/on_node.hpp"

namespace isthmus {
namespace {

// Handing less than this to the driver takes longer than its own copy.
constexpr std::size_t least_slot_bytes = std::size_t{80} << 10;
// Of the budget, for the offsets of scattered pieces; at least for as many as fill a page.
constexpr std::size_t share_of_offsets = 32;
// For so long after a job, the next one finds threads awake.
constexpr double awake_seconds = 150e-6;
constexpr std::size_t offsets_bytes_a_piece = 2 * sizeof(std::uint64_t);

std::optional<Staging::Options> fit(std::size_t budget, std::size_t threads, const StagingLane::Needs& needs) {
    const std::size_t most_table = in_pages(needs.pieces * offsets_bytes_a_piece);
    const std::size_t table =
        std::max(std::min(budget / share_of_offsets / least_page * least_page, most_table), least_page);
    if (budget <= table) return std::nullopt;
    // Chunks of the ring begin at pages.
    const std::size_t slot =
        std::min((budget - table) / Staging::slots / least_page * least_page, in_pages(needs.chunk_bytes));
    if (slot < least_slot_bytes) return std::nullopt;
    Staging::Options options;
    options.bytes = slot * Staging::slots;
    options.pieces = table / offsets_bytes_a_piece;
    options.threads = threads;
    options.group.awake_seconds = awake_seconds;
    return options;
}

}  // namespace

StagingLane::StagingLane(std::shared_ptr<Device> device, std::size_t pinned_budget_bytes, std::size_t threads,
                         const Needs& needs)
    : device_(std::move(device)),
      node_(node_of_pci_device(device_->info().pci_address)),
      options_(fit(pinned_budget_bytes, threads, needs)) {
    if (!options_ || !node_) return;
    // Where a container forbids it, threads run anywhere.
    options_->group.begin = [node = *node_] { (void)bind_to_node(node.index, node.processors); };
}

Result<std::shared_ptr<Staging>> StagingLane::staging() {
    if (staging_ == nullptr) {
        ISTHMUS_TRY_ASSIGN(made, made_on_node<std::shared_ptr<Staging>>(
                                     node_, *device_, [this] { return Staging::create(device_, *options_); }));
        staging_ = std::move(made);
        pinned_bytes_ = staging_->pinned_bytes();
    }
    return staging_;
}

void StagingLane::trim() {
    // Ends without the turn: the driver may wait for all that the device does before it takes memory back.
    std::shared_ptr<Staging> given_back;
    const Turn turn(turns_);
    if (staging_ == nullptr || staging_.use_count() > 1) return;
    given_back.swap(staging_);
    pinned_bytes_ = 0;
}

void StagingLane::forget() {
    // Never freed: its destructor would wait for threads, and call the driver.
    static_cast<void>(new std::shared_ptr<Staging>(std::move(staging_)));
}

}  // namespace isthmus
