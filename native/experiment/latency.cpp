// What single steps cost: a hop of one thread of a device through memory, a launch, an event, a wait.
#include "experiment/latency.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "backend/launch.hpp"

namespace isthmus::experiment {
namespace {

// Steps shorter than what the host's clock takes to read.
constexpr int calls_of_sample = 16;
constexpr std::uint64_t shuffle_seed = 20260101;
constexpr std::string_view synchronize_seconds = "synchronize_seconds", query_seconds = "query_seconds";

// The stream and the events of the session that are timed on, with the device bound to the thread.
Result<OpenDevice::Track*> bound_track(OpenDevice& session) {
    ISTHMUS_TRY(session.device().bind_thread());
    return session.track(0);
}

// Mean seconds of a call.
template <typename Call>
Result<double> mean_seconds(const Call& call) {
    const TimePoint begin = now();
    for (int i = 0; i < calls_of_sample; ++i) ISTHMUS_TRY(call());
    return seconds_between(begin, now()) / calls_of_sample;
}

// Seconds on the device's clock between events around what `enqueue` puts on the stream. A gate holds the stream until
// all is queued, unless it was seen to give up.
template <typename Enqueue>
Result<double> seconds_on_device(Device& device, OpenDevice::Track& track, bool& gates_work, const Enqueue& enqueue) {
    std::unique_ptr<Gate> gate;
    if (gates_work) {
        Stream* const streams[] = {track.stream.get()};
        ISTHMUS_TRY(assign(gate, device.close_gate(streams)));
    }
    const auto queue = [&]() -> Status {
        ISTHMUS_TRY(device.record(*track.start, *track.stream));
        ISTHMUS_TRY(enqueue());
        return device.record(*track.stop, *track.stream);
    };
    Status queued = queue();
    if (gate != nullptr) {
        Status opened = gate->open();
        if (queued.ok()) queued = std::move(opened);
    }
    ISTHMUS_TRY(synchronized(std::move(queued), *track.stream));
    gates_work = gate == nullptr ? gates_work : !gate->gave_up();
    return device.seconds_between(*track.start, *track.stop);
}

Status check(const ChasePlan& plan) {
    const bool fits = plan.stride_bytes >= sizeof(std::uint64_t) && plan.stride_bytes % sizeof(std::uint64_t) == 0 &&
                      plan.offset % sizeof(std::uint64_t) == 0;
    if (fits && plan.bytes / plan.stride_bytes >= 2 && plan.hops > 0) return {};
    return invalid("no chase of " + std::to_string(plan.hops) + " hops from line to line of " +
                   std::to_string(plan.stride_bytes) + " in " + std::to_string(plan.bytes) +
                   " bytes; expected a hop or more, and two lines or more of a multiple of 8 bytes");
}

std::optional<std::string> why_no_chase(Device& device, Buffer& memory) {
    Device& owner = memory.session().device();
    if (&owner != &device && is_on_device(memory.kind())) return device.why_no_peer_reach(owner);
    return device.why_no_reach(memory.kind());
}

// Copies between the host's memory and a buffer of any kind.
Status move(Buffer& memory, Region region, std::byte* host, Side to) {
    OpenDevice& session = memory.session();
    ISTHMUS_TRY(session.device().bind_thread());
    if (!is_on_device(memory.kind())) return to == Side::host ? memory.read(region, host) : memory.write(region, host);
    ISTHMUS_TRY_ASSIGN(staging, Buffer::allocate(memory.session_handle(), MemoryKind::pinned, region.bytes));
    ISTHMUS_TRY_ASSIGN(staged, staging->region(0, region.bytes));
    if (to == Side::device) ISTHMUS_TRY(staging->write(staged, host));
    ISTHMUS_TRY(session.run([&](Stream& stream) {
        return to == Side::host ? session.device().copy(stream, staged, region)
                                : session.device().copy(stream, region, staged);
    }));
    return to == Side::host ? staging->read(staged, host) : Status();
}

}  // namespace

Chase::Chase(std::shared_ptr<OpenDevice> session, std::shared_ptr<Buffer> memory, std::shared_ptr<Buffer> result,
             ChasePlan plan)
    : session_(std::move(session)), memory_(std::move(memory)), result_(std::move(result)), plan_(plan) {
    std::vector<std::uint64_t> order(plan.bytes / plan.stride_bytes);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    // The first line stays the first.
    if (plan.shuffled) std::shuffle(order.begin() + 1, order.end(), std::mt19937_64(shuffle_seed));
    lines_.resize(order.size() * plan.stride_bytes);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::uint64_t next = order[(i + 1) % order.size()] * plan.stride_bytes;
        std::memcpy(lines_.data() + order[i] * plan.stride_bytes, &next, sizeof next);
    }
    end_ = order[plan.hops % order.size()] * plan.stride_bytes;
}

Result<std::unique_ptr<Chase>> Chase::create(std::shared_ptr<OpenDevice> session, std::shared_ptr<Buffer> memory,
                                             ChasePlan plan) {
    ISTHMUS_TRY(check(plan));
    ISTHMUS_TRY(session->device().bind_thread());
    if (auto reason = why_no_chase(session->device(), *memory)) return unsupported(*reason);
    ISTHMUS_TRY_ASSIGN(region, memory->region(plan.offset, plan.bytes));
    (void)region;
    ISTHMUS_TRY_ASSIGN(result, Buffer::allocate(session, MemoryKind::device, sizeof(std::uint64_t)));
    std::unique_ptr<Chase> chase(new Chase(std::move(session), std::move(memory), std::move(result), plan));
    ISTHMUS_TRY(chase->lay());
    ISTHMUS_TRY(chase->device().bind_thread());
    return chase;
}

Status Chase::lay() {
    ISTHMUS_TRY_ASSIGN(region, memory_->region(plan_.offset, lines_.size()));
    return move(*memory_, region, lines_.data(), Side::device);
}

Status Chase::sample(Samples& samples) {
    if (memory_->kind() == MemoryKind::managed) ISTHMUS_TRY(lay());
    ISTHMUS_TRY_ASSIGN(track, bound_track(*session_));
    ISTHMUS_TRY_ASSIGN(lines, memory_->region(plan_.offset, lines_.size()));
    ISTHMUS_TRY_ASSIGN(result, result_->region(0, sizeof(std::uint64_t)));
    ISTHMUS_TRY_ASSIGN(seconds, seconds_on_device(device(), *track, gates_work_, [&] {
                           return launch(device(), *track->stream, kernel::chase, lines, std::uint64_t{0}, plan_.hops,
                                         result);
                       }));
    samples[device_seconds].push_back(seconds / static_cast<double>(plan_.hops));
    return {};
}

Result<Samples> Chase::run(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(device().bind_thread());
    ISTHMUS_TRY_ASSIGN(result, result_->region(0, sizeof(std::uint64_t)));
    ISTHMUS_TRY(result_->set_bytes(result, poison_byte));
    auto samples = taken({device_seconds}, warmups, quota, [this](Samples& samples) { return sample(samples); });
    has_run_ = samples.ok();
    return samples;
}

Result<std::vector<Mismatch>> Chase::verify() {
    if (!has_run_) return invalid("a chase that has not been run has read nothing");
    ISTHMUS_TRY_ASSIGN(result, result_->region(0, sizeof(std::uint64_t)));
    std::uint64_t end = 0;
    ISTHMUS_TRY(move(*result_, result, reinterpret_cast<std::byte*>(&end), Side::host));
    return std::vector{end == end_ ? Mismatch{} : Mismatch{1, 0}};
}

Result<Samples> time_launches(OpenDevice& session, std::size_t warmups, Quota quota) {
    ISTHMUS_TRY_ASSIGN(track, bound_track(session));
    Stream& stream = *track->stream;
    ISTHMUS_TRY(stream.synchronize());
    return taken({enqueue_seconds, host_seconds}, warmups, quota, [&](Samples& samples) -> Status {
        const TimePoint begin = now();
        Status status = launch(session.device(), stream, kernel::nothing);
        const TimePoint enqueued = now();
        ISTHMUS_TRY(synchronized(std::move(status), stream));
        samples[host_seconds].push_back(seconds_between(begin, now()));
        samples[enqueue_seconds].push_back(seconds_between(begin, enqueued));
        return {};
    });
}

Result<Samples> time_events(OpenDevice& session, std::size_t warmups, Quota quota) {
    ISTHMUS_TRY_ASSIGN(track, bound_track(session));
    Device& device = session.device();
    Stream& stream = *track->stream;
    ISTHMUS_TRY(stream.synchronize());
    bool gates_work = true;
    return taken({host_seconds, device_seconds}, warmups, quota, [&](Samples& samples) -> Status {
        ISTHMUS_TRY_ASSIGN(record, mean_seconds([&] { return device.record(*track->start, stream); }));
        ISTHMUS_TRY(stream.synchronize());
        ISTHMUS_TRY_ASSIGN(apart, seconds_on_device(device, *track, gates_work, [] { return Status(); }));
        samples[host_seconds].push_back(record);
        samples[device_seconds].push_back(apart);
        return {};
    });
}

Result<Samples> time_waits(OpenDevice& session, std::size_t warmups, Quota quota) {
    ISTHMUS_TRY_ASSIGN(track, bound_track(session));
    Device& device = session.device();
    Stream& stream = *track->stream;
    ISTHMUS_TRY(device.record(*track->start, stream));
    ISTHMUS_TRY(stream.synchronize());
    return taken({synchronize_seconds, query_seconds}, warmups, quota, [&](Samples& samples) -> Status {
        ISTHMUS_TRY_ASSIGN(wait, mean_seconds([&] { return stream.synchronize(); }));
        ISTHMUS_TRY_ASSIGN(query, mean_seconds([&]() -> Status {
                               ISTHMUS_TRY_ASSIGN(passed, device.has_passed(*track->start));
                               return passed ? Status() : Status(Code::call_failed, "an event has not passed");
                           }));
        samples[synchronize_seconds].push_back(wait);
        samples[query_seconds].push_back(query);
        return {};
    });
}

}  // namespace isthmus::experiment
