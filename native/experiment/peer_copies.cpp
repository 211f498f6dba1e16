// One timed case: copies between devices, one or several at the same time, on the devices' clocks.
#include "experiment/peer_copies.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "backend/launch.hpp"

namespace isthmus::experiment {
namespace {

// Links that rest and caches of addresses need a few copies; a share of a sample's, which is not timed.
constexpr std::size_t warm_share = 4;
// A sample of so many copies is long next to what a clock, a start and the end of a queue add.
constexpr double least_seconds = 8e-3;
constexpr double most_needed = 1e6;

OpenDevice& copying_session(const PeerLane& lane) {
    const bool from = is_on_device(lane.source->kind()), to = is_on_device(lane.destination->kind());
    return to && (lane.is_read || !from) ? lane.destination->session() : lane.source->session();
}

bool is_between_devices(const PeerLane& lane) {
    return is_on_device(lane.source->kind()) && is_on_device(lane.destination->kind());
}

// Why the lane cannot be copied so; nothing when it can.
std::optional<std::string> why_not(const PeerLane& lane, bool by_kernel) {
    Device& device = copying_session(lane).device();
    if (!is_between_devices(lane)) {
        const Buffer& host = is_on_device(lane.source->kind()) ? *lane.destination : *lane.source;
        return by_kernel ? device.why_no_reach(host.kind()) : std::nullopt;
    }
    Device& from = lane.source->session().device();
    Device& to = lane.destination->session().device();
    if (auto reason = from.why_no_peer(to)) return reason;
    Device& other = &device == &from ? to : from;
    return by_kernel ? device.why_no_peer_reach(other) : std::nullopt;
}

bool goes_by_host(const PeerLane& lane) {
    Device& from = lane.source->session().device();
    return is_between_devices(lane) && from.why_no_peer_reach(lane.destination->session().device()).has_value();
}

}  // namespace

Result<std::unique_ptr<PeerCopies>> PeerCopies::create(PeerPlan plan, std::vector<PeerLane> lanes) {
    if (lanes.empty() || plan.bytes == 0 || plan.copies == 0) {
        return invalid("copies between devices are at least one, of at least one byte");
    }
    const bool gates_work = std::none_of(lanes.begin(), lanes.end(), goes_by_host);
    std::unique_ptr<PeerCopies> made(new PeerCopies(plan, gates_work));
    for (PeerLane& lane : lanes) {
        made->arrivals_.push_back({lane.destination, 0, plan.bytes, lane.seed});
        ISTHMUS_TRY_ASSIGN(track, prepare(std::move(lane), plan));
        made->tracks_.push_back(std::move(track));
    }
    return made;
}

Result<PeerCopies::Track> PeerCopies::prepare(PeerLane lane, const PeerPlan& plan) {
    if (!is_on_device(lane.source->kind()) && !is_on_device(lane.destination->kind())) {
        return invalid("one side of " + lane.name + " must be device memory");
    }
    if (auto reason = why_not(lane, plan.by_kernel)) return unsupported(lane.name + ": " + *reason);
    Track track;
    track.session = &copying_session(lane);
    ISTHMUS_TRY(assign(track.destination, lane.destination->region(0, plan.bytes)));
    ISTHMUS_TRY(assign(track.source, lane.source->region(0, plan.bytes)));
    track.lane = std::move(lane);
    return track;
}

Status PeerCopies::begin() {
    for (Track& track : tracks_) {
        ISTHMUS_TRY(track.device().bind_thread());
        ISTHMUS_TRY(assign(track.stream, track.session->borrow_stream()));
        ISTHMUS_TRY(assign(track.start, track.device().create_event()));
        ISTHMUS_TRY(assign(track.stop, track.device().create_event()));
    }
    Device& first = tracks_.front().device();
    ISTHMUS_TRY(first.bind_thread());
    return assign(all_ended_, first.create_event());
}

void PeerCopies::end(bool is_idle) {
    for (Track& track : tracks_) {
        if (is_idle && track.stream != nullptr) track.session->give_back(std::move(track.stream));
        track.stream.reset();
        track.start.reset();
        track.stop.reset();
    }
    all_ended_.reset();
}

// Precondition: the lane's device is bound to the thread.
Status PeerCopies::copy(const Track& track, std::size_t times) const {
    for (std::size_t i = 0; i < times; ++i) {
        Status status = plan_.by_kernel ? launch(track.device(), *track.stream, kernel::copy, track.destination,
                                                 track.source, std::uint64_t{plan_.bytes})
                                        : track.device().copy(*track.stream, track.destination, track.source);
        if (!status.ok()) return std::move(status).in(track.lane.name);
    }
    return {};
}

Status PeerCopies::close(std::vector<std::unique_ptr<Gate>>& gates) {
    for (Track& track : tracks_) {
        ISTHMUS_TRY(track.device().bind_thread());
        Stream* const streams[] = {track.stream.get()};
        ISTHMUS_TRY_ASSIGN(closed, track.device().close_gate(streams));
        gates.push_back(std::move(closed));
    }
    return {};
}

Status PeerCopies::enqueue() {
    Track& first = tracks_.front();
    for (Track& track : tracks_) {
        ISTHMUS_TRY(track.device().bind_thread());
        ISTHMUS_TRY(copy(track, std::max<std::size_t>(1, copies_ / warm_share)));
    }
    for (Track& track : tracks_) {
        ISTHMUS_TRY(track.device().bind_thread());
        if (&track != &first) ISTHMUS_TRY(track.device().wait(*track.stream, *first.start));
        ISTHMUS_TRY(track.device().record(*track.start, *track.stream));
    }
    for (Track& track : tracks_) {
        ISTHMUS_TRY(track.device().bind_thread());
        ISTHMUS_TRY(copy(track, copies_));
        ISTHMUS_TRY(track.device().record(*track.stop, *track.stream));
    }
    ISTHMUS_TRY(first.device().bind_thread());
    for (Track& track : tracks_) {
        if (&track != &first) ISTHMUS_TRY(first.device().wait(*first.stream, *track.stop));
    }
    return first.device().record(*all_ended_, *first.stream);
}

Status PeerCopies::sample(Samples& samples) {
    std::vector<std::unique_ptr<Gate>> gates;
    Status status = gates_work_ ? close(gates) : Status();
    if (status.ok()) status = enqueue();
    for (const auto& gate : gates) {
        Status opened = gate->open();
        if (status.ok()) status = std::move(opened);
    }
    ISTHMUS_TRY(ended(std::move(status)));
    gates_work_ =
        gates_work_ && std::none_of(gates.begin(), gates.end(), [](const auto& gate) { return gate->gave_up(); });
    const auto per_copy = 1.0 / static_cast<double>(copies_);
    Track& first = tracks_.front();
    ISTHMUS_TRY(first.device().bind_thread());
    ISTHMUS_TRY_ASSIGN(all, first.device().seconds_between(*first.start, *all_ended_));
    samples[device_seconds].push_back(all * per_copy);
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
        ISTHMUS_TRY(tracks_[i].device().bind_thread());
        ISTHMUS_TRY_ASSIGN(seconds, tracks_[i].device().seconds_between(*tracks_[i].start, *tracks_[i].stop));
        lane_samples_[i].push_back(seconds * per_copy);
    }
    return {};
}

Result<Samples> PeerCopies::run(std::size_t warmups, Quota quota) {
    Status begun = begin();
    if (!begun.ok()) {
        end(true);
        return begun;
    }
    auto samples = run_begun(warmups, quota);
    // After a failure a stream may still be at work: it is not given back.
    end(samples.ok());
    return samples;
}

// What the driver does first, behind a gate it might wait for what the gate holds: it connects devices and loads
// kernels.
Status PeerCopies::connect() {
    if (copies_ != 0) return {};
    ISTHMUS_TRY(copy_each());
    const TimePoint begin = now();
    ISTHMUS_TRY(copy_each());
    const double seconds = std::max(seconds_between(begin, now()), least_seconds / most_needed);
    copies_ = std::clamp(static_cast<std::size_t>(std::ceil(least_seconds / seconds)), std::size_t{1}, plan_.copies);
    return {};
}

// One copy of each lane, all of which have ended when it returns.
Status PeerCopies::copy_each() {
    Status status;
    for (Track& track : tracks_) {
        if (status.ok()) status = track.device().bind_thread();
        if (status.ok()) status = copy(track, 1);
    }
    return ended(std::move(status));
}

// Waits for all lanes, also after a failure: what was enqueued before it still uses the caller's memory.
Status PeerCopies::ended(Status status) {
    for (Track& track : tracks_) {
        Status bound = track.device().bind_thread();
        status = synchronized(std::move(status), *track.stream);
        if (status.ok()) status = std::move(bound);
    }
    return status;
}

Result<Samples> PeerCopies::run_begun(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(connect());
    lane_samples_.assign(tracks_.size(), {});
    return taken(
        {device_seconds}, warmups, quota, [this](Samples& samples) { return sample(samples); }, forgets_lanes());
}

}  // namespace isthmus::experiment
