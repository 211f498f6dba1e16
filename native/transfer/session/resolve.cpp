// Two arrays as a job, and the other device that one of them may be on.
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "transfer/session/resolver.hpp"

namespace isthmus {

Resolver::Resolver(Device& device, const KernelBlocks& blocks, Chooser& chooser, StreamPool& streams,
                   const std::array<StagingLane, 2>& lanes, const std::array<std::shared_ptr<RingPool>, 2>& rings)
    : device_(device),
      blocks_(blocks),
      chooser_(chooser),
      streams_(streams),
      lanes_(lanes),
      rings_(rings),
      has_addresses_(has_addresses(device)) {}

Result<std::shared_ptr<Device>> Resolver::other_device(int index) {
    const std::lock_guard lock(others_mutex_);
    for (const std::shared_ptr<Device>& other : others_) {
        if (other->info().index == index) return other;
    }
    ISTHMUS_TRY_ASSIGN(opened, device_.open_other(index));
    return others_.emplace_back(std::move(opened));
}

Result<std::shared_ptr<CopyJob>> Resolver::resolve(const ArrayView& destination, const ArrayView& source) {
    ISTHMUS_TRY_ASSIGN(job, job_of(
                                device_, [this](int index) { return other_device(index); }, destination, source));
    // Without a ring there is nowhere to write a repeated source out.
    if (job != nullptr && job->to_device() && !lanes_[0].has_room()) ISTHMUS_TRY(job->scatter());
    return std::move(job);
}

}  // namespace isthmus
