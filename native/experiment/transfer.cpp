// One timed case: bytes that go in one direction, or in both at once, again and again.
#include "experiment/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "backend/device_info.hpp"
#include "backend/launch.hpp"
#include "base/cache.hpp"
#include "base/threads.hpp"
#include "experiment/session_copy.hpp"
#include "transfer/copy/ends.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::experiment {
namespace {

// From here on the events' cost (1 to 2 us) is below 0.2 % of what is timed.
constexpr double long_seconds = 1e-3;
// A gate costs more than a small copy, so the device's clock gets fewer samples of those.
constexpr std::size_t most_gated = 64;
// Faster than any link yet: what takes a millisecond at this rate is long without asking.
constexpr double fastest_bytes_per_second = 200e9;
constexpr auto metrics = {host_seconds, enqueue_seconds, device_seconds};

Side destination_side(Direction direction) {
    return direction == Direction::h2d ? Side::device : Side::host;
}
Side opposite(Side side) {
    return side == Side::host ? Side::device : Side::host;
}

}  // namespace

TimedTransfer::TimedTransfer(Method method, std::shared_ptr<OpenDevice> session, std::size_t bytes, bool from_caches)
    : method_(method),
      session_(std::move(session)),
      from_caches_(from_caches),
      last_seconds_(static_cast<double>(bytes) / fastest_bytes_per_second) {}

Result<std::unique_ptr<TimedTransfer>> TimedTransfer::create(Method method, std::vector<TimedLane> lanes,
                                                             std::size_t offset, std::size_t bytes, std::uint64_t seed,
                                                             bool from_caches, bool untouched,
                                                             std::shared_ptr<Session> copies) {
    const bool opposite_ways = lanes.size() == 2 && lanes[0].direction != lanes[1].direction;
    if (lanes.size() != 1 && !opposite_ways) return invalid("a transfer has one lane, or one each way");
    auto session = lanes.front().memory->session_handle();
    std::unique_ptr<TimedTransfer> transfer(new TimedTransfer(method, std::move(session), bytes, from_caches));
    ISTHMUS_TRY(transfer->device().bind_thread());
    transfer->untouched_ = untouched;
    if (copies != nullptr && (method != Method::isthmus || name_of(copies->device()) != name_of(transfer->device()))) {
        return invalid("a session is for copies by the library with its own device");
    }
    transfer->copies_ = std::move(copies);
    if (method == Method::isthmus && transfer->copies_ == nullptr) {
        ISTHMUS_TRY(assign(transfer->copies_, transfer->session_->copies()));
    }
    for (TimedLane& lane : lanes) ISTHMUS_TRY(transfer->add(std::move(lane), offset, bytes, seed));
    return transfer;
}

Status TimedTransfer::add(TimedLane lane, std::size_t offset, std::size_t bytes, std::uint64_t seed) {
    if ((method_ == Method::prefetch) != (lane.device == nullptr)) {
        return invalid("copies need a device buffer, prefetches none");
    }
    Track track;
    ISTHMUS_TRY(assign(track.memory, lane.memory->region(offset, bytes)));
    if (lane.device != nullptr) ISTHMUS_TRY(assign(track.device, lane.device->region(offset, bytes)));
    const bool between_devices = is_on_device(lane.memory->kind()) && lane.device != nullptr;
    if (between_devices) {
        if (auto reason = device().why_no_peer(lane.device->session().device())) return unsupported(*reason);
    }
    // Each direction has its own contents, so that one cannot pass for the other.
    const bool in_memory = lane.device == nullptr || lane.direction == Direction::d2h;
    arrivals_.push_back(
        {in_memory ? lane.memory : lane.device, offset, bytes, lane.direction == Direction::h2d ? seed : seed + 1});
    ISTHMUS_TRY_ASSIGN(shared, session_->track(tracks_.size()));
    track.stream = shared->stream.get();
    track.start = shared->start.get();
    track.stop = shared->stop.get();
    blocks_ =
        blocks_ || method_ == Method::isthmus || (method_ == Method::copy && device().copy_blocks(lane.memory->kind()));
    const bool cpu_copies = blocks_ || (device().info().shares_host_memory && !between_devices);
    evicts_ = evicts_ || (cpu_copies && !from_caches_ && bytes <= last_level_cache_bytes());
    track.lane = std::move(lane);
    tracks_.push_back(std::move(track));
    return {};
}

Status TimedTransfer::enqueue(Track& track) {
    const bool to_device = track.lane.direction == Direction::h2d;
    const std::size_t bytes = track.memory.bytes;
    switch (method_) {
        case Method::copy:
            return to_device ? device().copy(*track.stream, track.device, track.memory)
                             : device().copy(*track.stream, track.memory, track.device);
        case Method::kernel:
            return to_device ? launch(device(), *track.stream, kernel::copy, track.device, track.memory, bytes)
                             : launch(device(), *track.stream, kernel::copy, track.memory, track.device, bytes);
        case Method::prefetch:
            track.side = opposite(track.side);
            return device().prefetch(*track.stream, track.memory, track.side);
        case Method::isthmus:
            return to_device ? copy_by_session(*copies_, track.device, track.memory)
                             : copy_by_session(*copies_, track.memory, track.device);
    }
    return {};
}

Status TimedTransfer::prepare_sample() {
    if (untouched_) {
        for (const Track& track : tracks_) {
            if (track.lane.direction == Direction::d2h) ISTHMUS_TRY(track.lane.memory->forget_pages(track.memory));
        }
    } else if (evicts_) {
        for (const Track& track : tracks_) ISTHMUS_TRY(track.lane.memory->evict(track.memory));
    }
    // Before a prefetch can be timed in one direction, its pages must be on the other side. With two lanes nothing is
    // to do: the lanes change places with each sample.
    if (method_ != Method::prefetch || tracks_.size() != 1) return {};
    Track& track = tracks_.front();
    if (track.side != destination_side(track.lane.direction)) return {};
    ISTHMUS_TRY(enqueue(track));
    return track.stream->synchronize();
}

Status TimedTransfer::poison() {
    if (method_ != Method::prefetch) return Timed::poison();
    ISTHMUS_TRY(device().bind_thread());
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
        Track& track = tracks_[i];
        // Filled by the side that the pages start from, once they are there: faults would bring them more slowly.
        track.side = opposite(destination_side(track.lane.direction));
        arrivals_[i].seed += 0x9E3779B97F4A7C15U;
        ISTHMUS_TRY(device().prefetch(*track.stream, track.memory, track.side));
        ISTHMUS_TRY(track.stream->synchronize());
        ISTHMUS_TRY(track.lane.memory->fill_pattern(track.memory, arrivals_[i].seed, track.side));
    }
    return {};
}

Result<std::vector<Mismatch>> TimedTransfer::verify() {
    for (std::size_t i = 0; i < tracks_.size(); ++i) arrivals_[i].side = tracks_[i].side;
    return Timed::verify();
}

Result<Samples> TimedTransfer::run(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(device().bind_thread());
    const auto pass = [this](Quota q, bool host, bool device_time) {
        return blocks_ && tracks_.size() == 2 ? run_threads(q, device_time) : run_tracks(q, host, device_time);
    };
    if (warmups > 0) {
        ISTHMUS_TRY_ASSIGN(warm, pass({warmups, warmups, 0}, true, false));
        last_seconds_ = warm[host_seconds].back();
    }
    if (method_ == Method::isthmus) {
        ISTHMUS_TRY_ASSIGN(samples, pass(quota, true, false));
        samples[enqueue_seconds].clear();
        return std::move(samples);
    }
    lane_samples_.assign(tracks_.size() == 2 ? 2 : 0, {});
    if (last_seconds_ >= long_seconds) return pass(quota, true, true);
    quota.seconds /= 2;
    ISTHMUS_TRY_ASSIGN(samples, pass(quota, true, false));
    last_seconds_ = samples[host_seconds].back();
    quota.most = std::min(quota.most, std::max(quota.least, most_gated));
    ISTHMUS_TRY_ASSIGN(timed, pass(quota, false, true));
    samples[device_seconds] = std::move(timed[device_seconds]);
    return std::move(samples);
}

// One thread feeds all tracks. `host`: keep the host's times; `device_time`: record events.
Result<Samples> TimedTransfer::run_tracks(Quota quota, bool host, bool device_time) {
    return taken(metrics, 0, quota, [=, this](Samples& samples) {
        Status status = sample_tracks(samples, host, device_time);
        if (status.ok()) return status;
        // What was enqueued before the failure still uses the caller's memory.
        for (const Track& track : tracks_) (void)track.stream->synchronize();
        return status;
    });
}

Status TimedTransfer::sample_tracks(Samples& samples, bool host, bool device_time) {
    const bool gated = device_time && !host && gates_work_ && !blocks_ && method_ != Method::prefetch;
    ISTHMUS_TRY(prepare_sample());
    std::unique_ptr<Gate> gate;
    if (gated) {
        std::vector<Stream*> streams;
        streams.reserve(tracks_.size());
        for (const Track& track : tracks_) streams.push_back(track.stream);
        ISTHMUS_TRY(assign(gate, device().close_gate(streams)));
    }
    if (device_time) {
        for (Track& track : tracks_) ISTHMUS_TRY(device().record(*track.start, *track.stream));
    }
    const TimePoint start = now();
    for (Track& track : tracks_) ISTHMUS_TRY(enqueue(track));
    const TimePoint queued = now();
    if (device_time) {
        for (Track& track : tracks_) ISTHMUS_TRY(device().record(*track.stop, *track.stream));
    }
    if (gate) ISTHMUS_TRY(gate->open());
    for (Track& track : tracks_) ISTHMUS_TRY(track.stream->synchronize());
    const TimePoint end = now();
    if (host) {
        samples[host_seconds].push_back(seconds_between(start, end));
        samples[enqueue_seconds].push_back(seconds_between(start, queued));
    }
    // A gate that gave up (CUDA_LAUNCH_BLOCKING=1 makes the host wait for it) let the queueing into the device's time.
    if (gate) gates_work_ = !gate->gave_up();
    return device_time ? add_device_times(samples) : Status();
}

// Each of two directions has a thread of its own, started together for every sample.
Result<Samples> TimedTransfer::run_threads(Quota quota, bool device_time) {
    std::atomic<std::size_t> go = 0;    // number of the sample that the other thread may run
    std::atomic<std::size_t> done = 0;  // number of the last one that it has run
    std::atomic<bool> stop = false;
    Status other_failed;
    const auto transfer = [&](Track& track) -> Status {
        const auto enqueue_all = [&]() -> Status {
            if (device_time) ISTHMUS_TRY(device().record(*track.start, *track.stream));
            ISTHMUS_TRY(enqueue(track));
            return device_time ? device().record(*track.stop, *track.stream) : Status();
        };
        Status status = enqueue_all();
        Status ended = track.stream->synchronize();
        return status.ok() ? std::move(ended) : std::move(status);
    };
    std::optional<std::jthread> started = start_thread("isthmus-measure", [&] {
        Status status = device().bind_thread();
        for (std::size_t sample = 1; true; ++sample) {
            // Spinning, since waking a sleeping thread takes longer than a small copy; it yields, for machines on
            // which both threads share a processor.
            while (go.load(std::memory_order_acquire) < sample) {
                if (stop.load(std::memory_order_relaxed)) return;
                std::this_thread::yield();
            }
            if (status.ok()) status = caught([&] { return transfer(tracks_[1]); });
            if (!status.ok() && other_failed.ok()) other_failed = status.copy();
            done.store(sample, std::memory_order_release);
        }
    });
    if (!started)
        return Status(Code::call_failed, "no second thread for the second direction: the limit on threads is reached");
    std::size_t i = 0;
    auto samples = taken(metrics, 0, quota, [&](Samples& samples) -> Status {
        ISTHMUS_TRY(prepare_sample());
        const TimePoint start = now();
        go.store(++i, std::memory_order_release);
        Status status = caught([&] { return transfer(tracks_[0]); });
        while (done.load(std::memory_order_acquire) < i) std::this_thread::yield();
        samples[host_seconds].push_back(seconds_between(start, now()));
        ISTHMUS_TRY(std::move(status));
        ISTHMUS_TRY(other_failed.copy());
        return device_time ? add_device_times(samples) : Status();
    });
    stop = true;
    started->join();
    return samples;
}

Status TimedTransfer::add_device_times(Samples& samples) {
    double longest = 0;
    for (Track& from : tracks_) {
        for (std::size_t i = 0; i < tracks_.size(); ++i) {
            ISTHMUS_TRY_ASSIGN(seconds, device().seconds_between(*from.start, *tracks_[i].stop));
            longest = std::max(longest, seconds);
            if (&from != &tracks_[i] || tracks_.size() != 2) continue;
            // The lanes of a prefetch change places: the one that came from the host is the h2d one.
            const bool to_device =
                method_ == Method::prefetch ? from.side == Side::device : from.lane.direction == Direction::h2d;
            lane_samples_[to_device ? 0 : 1].push_back(seconds);
        }
    }
    samples[device_seconds].push_back(longest);
    return {};
}

Result<LinkReading> read_link_under_load(Buffer& memory, Buffer& on_device) {
    constexpr std::size_t most_bytes = std::size_t{256} << 20;
    constexpr int copies = 8;
    constexpr double least_seconds = 0.1;
    const std::size_t bytes = std::min({memory.bytes(), on_device.bytes(), most_bytes});
    OpenDevice& session = memory.session();
    LinkReading link;
    const TimePoint begin = now();
    do {
        ISTHMUS_TRY_ASSIGN(from, memory.region(0, bytes));
        ISTHMUS_TRY_ASSIGN(to, on_device.region(0, bytes));
        ISTHMUS_TRY(session.run([&](Stream& stream) -> Status {
            for (int i = 0; i < copies; ++i) ISTHMUS_TRY(session.device().copy(stream, to, from));
            link = session.device().read_link();
            return {};
        }));
    } while (seconds_between(begin, now()) < least_seconds);
    return link;
}

}  // namespace isthmus::experiment
