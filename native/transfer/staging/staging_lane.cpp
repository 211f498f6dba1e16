// One direction's page-locked memory and threads, used by one transfer at a time.
#include "transfer/staging/staging_lane.hpp"

#include <utility>

#include "backend/device_info.hpp"
#include "transfer/pinned/on_node.hpp"

namespace isthmus {
namespace {

// For so long after a job, the next one finds threads awake.
constexpr double awake_seconds = 150e-6;

std::optional<Staging::Options> options_of(const std::optional<LanePlan>& plan, std::size_t threads,
                                           const KernelBlocks& blocks) {
    if (!plan) return std::nullopt;
    Staging::Options options;
    options.bytes = plan->ring.bytes;
    options.pieces = plan->pieces;
    options.threads = threads;
    options.blocks = blocks;
    options.group.awake_seconds = awake_seconds;
    return options;
}

}  // namespace

StagingLane::StagingLane(std::shared_ptr<Device> device, const std::optional<LanePlan>& plan, std::size_t threads,
                         const KernelBlocks& blocks)
    : device_(std::move(device)),
      node_(node_of_pci_device(device_->info().pci_address)),
      ring_(plan ? plan->ring : Ring{}),
      options_(options_of(plan, threads, blocks)) {
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
    // Ends without the mutex: the driver may wait for all that the device does before it takes memory back.
    std::shared_ptr<Staging> given_back;
    const std::lock_guard lock(mutex_);
    if (staging_ == nullptr || staging_.use_count() > 1) return;
    given_back.swap(staging_);
    pinned_bytes_ = 0;
}

void StagingLane::forget() {
    // Never freed: its destructor would wait for threads, and call the driver.
    static_cast<void>(new std::shared_ptr<Staging>(std::move(staging_)));
}

}  // namespace isthmus
