// One timed case on many host threads: buffers that are copied in slices or chunks, on one lane or several at once.
#include "experiment/concurrent.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/cache.hpp"
#include "base/numa.hpp"
#include "base/slices.hpp"
#include "base/threads.hpp"

namespace isthmus::experiment {
OpenDevice& ConcurrentLane::session() const {
    return source->kind() == MemoryKind::device ? source->session() : destination->session();
}

// All that the threads use. It is shared with them, so that one which is left behind finds it at any later time.
struct ConcurrentTransfer::Work {
    struct Track {
        ConcurrentLane lane;
        Region source, destination;
        std::vector<std::unique_ptr<Stream>> streams;
    };
    // What one thread writes is in no cache line of another.
    struct alignas(cache_line) Counter {
        std::atomic<std::size_t> taken = 0;
    };
    struct alignas(cache_line) End {
        TimePoint time;
    };

    Work(std::size_t lanes, std::size_t bytes_of_each, Division how)
        : bytes(bytes_of_each), division(how), chunks(lanes), ends(lanes * how.threads) {}

    Status bind(std::size_t worker) const;
    Status transfer(std::size_t worker, const std::atomic<bool>& stop);
    // Nothing is in flight when it returns.
    Status copy(const Track& track, Stream& stream, Slice part) const;
    Status copy_all(const Track& track, std::size_t thread, Counter& counter, const std::atomic<bool>& stop) const;
    // The last end of a lane's threads.
    TimePoint end_of(std::size_t lane) const;
    void reset();

    const std::size_t bytes;
    const Division division;
    std::vector<Track> tracks;
    std::vector<Counter> chunks;  // by lane
    std::vector<End> ends;        // by worker
};

Status ConcurrentTransfer::Work::bind(std::size_t worker) const {
    const ConcurrentLane& lane = tracks[worker / division.threads].lane;
    if (lane.node) ISTHMUS_TRY(bind_to_node(lane.node->node, lane.node->processors));
    return lane.session().device().bind_thread();
}

Status ConcurrentTransfer::Work::transfer(std::size_t worker, const std::atomic<bool>& stop) {
    const std::size_t lane = worker / division.threads;
    const std::size_t thread = worker % division.threads;
    const Track& track = tracks[lane];
    Status status = copy_all(track, thread, chunks[lane], stop);
    ends[worker].time = now();
    if (status.ok()) return status;
    return std::move(status).in(track.lane.name + ", " + std::to_string(bytes) + " bytes, thread " +
                                std::to_string(thread + 1) + " of " + std::to_string(division.threads));
}

Status ConcurrentTransfer::Work::copy_all(const Track& track, std::size_t thread, Counter& counter,
                                          const std::atomic<bool>& stop) const {
    Stream& stream = *track.streams[division.own_streams ? thread : 0];
    if (division.chunk_bytes == 0) return copy(track, stream, slice_of(bytes, thread, division.threads));
    while (!stop) {
        const std::size_t begin = counter.taken++ * division.chunk_bytes;
        if (begin >= bytes) break;
        ISTHMUS_TRY(copy(track, stream, {begin, std::min(bytes, begin + division.chunk_bytes)}));
    }
    return {};
}

Status ConcurrentTransfer::Work::copy(const Track& track, Stream& stream, Slice part) const {
    if (part.begin == part.end) return {};
    const auto cut = [part](const Region& region) {
        return Region{region.allocation, region.offset + part.begin, part.end - part.begin};
    };
    Status status = track.lane.session().device().copy(stream, cut(track.destination), cut(track.source));
    // Also after a failure: what was enqueued before it still uses the caller's memory.
    Status ended = stream.synchronize();
    return status.ok() ? std::move(ended) : std::move(status);
}

TimePoint ConcurrentTransfer::Work::end_of(std::size_t lane) const {
    const auto first = ends.begin() + static_cast<std::ptrdiff_t>(lane * division.threads);
    const auto last = first + static_cast<std::ptrdiff_t>(division.threads);
    return std::max_element(first, last, [](const End& a, const End& b) { return a.time < b.time; })->time;
}

void ConcurrentTransfer::Work::reset() {
    for (Counter& counter : chunks) counter.taken = 0;
}

ConcurrentTransfer::ConcurrentTransfer(std::vector<ConcurrentLane> lanes, std::size_t bytes, Division division,
                                       double limit_seconds)
    : lanes_(std::move(lanes)), bytes_(bytes), division_(division), limit_seconds_(limit_seconds) {
    for (const ConcurrentLane& lane : lanes_) arrivals_.push_back({lane.destination, 0, bytes, lane.seed});
}

Result<std::unique_ptr<ConcurrentTransfer>> ConcurrentTransfer::create(std::vector<ConcurrentLane> lanes,
                                                                       std::size_t bytes, Division division,
                                                                       double limit_seconds) {
    if (lanes.empty() || division.threads == 0) {
        return invalid("a concurrent transfer has at least one lane and one thread");
    }
    for (const ConcurrentLane& lane : lanes) {
        ISTHMUS_TRY_ASSIGN(source, lane.source->region(0, bytes));
        ISTHMUS_TRY_ASSIGN(destination, lane.destination->region(0, bytes));
        if (source.allocation->kind() != MemoryKind::device && destination.allocation->kind() != MemoryKind::device) {
            return invalid("one side of " + lane.name + " must be device memory");
        }
        if (source.allocation->kind() == MemoryKind::device && destination.allocation->kind() == MemoryKind::device) {
            auto reason = lane.session().device().why_no_peer(lane.destination->session().device());
            if (reason) return unsupported(*reason);
        }
    }
    return std::unique_ptr<ConcurrentTransfer>(
        new ConcurrentTransfer(std::move(lanes), bytes, division, limit_seconds));
}

Status ConcurrentTransfer::evict() {
    if (bytes_ > last_level_cache_bytes()) return {};
    for (const ConcurrentLane& lane : lanes_) {
        Device& device = lane.session().device();
        for (Buffer* buffer : {lane.source.get(), lane.destination.get()}) {
            if (buffer->kind() == MemoryKind::device) continue;
            if (!device.copy_blocks(buffer->kind()) && !device.info().shares_host_memory) continue;
            ISTHMUS_TRY_ASSIGN(region, buffer->region(0, bytes_));
            ISTHMUS_TRY(buffer->evict(region));
        }
    }
    return {};
}

Result<std::shared_ptr<ConcurrentTransfer::Work>> ConcurrentTransfer::prepare_work() {
    auto work = std::make_shared<Work>(lanes_.size(), bytes_, division_);
    for (const ConcurrentLane& lane : lanes_) {
        ISTHMUS_TRY_ASSIGN(source, lane.source->region(0, bytes_));
        ISTHMUS_TRY_ASSIGN(destination, lane.destination->region(0, bytes_));
        Work::Track track{lane, source, destination, {}};
        ISTHMUS_TRY(lane.session().device().bind_thread());
        for (std::size_t i = 0; i < (division_.own_streams ? division_.threads : 1); ++i) {
            ISTHMUS_TRY(assign(track.streams.emplace_back(), lane.session().borrow_stream()));
        }
        work->tracks.push_back(std::move(track));
    }
    return work;
}

std::string ConcurrentTransfer::description() const {
    std::string names;
    for (const ConcurrentLane& lane : lanes_) names += (names.empty() ? "" : " and ") + lane.name;
    return names + ", " + std::to_string(bytes_) + " bytes, " + std::to_string(division_.threads) + " threads" +
           (lanes_.size() > 1 ? " each" : "");
}

Result<Samples> ConcurrentTransfer::run(std::size_t warmups, Quota quota) {
    const std::size_t threads = lanes_.size() * division_.threads;
    const WorkerGroup::Limit limit{limit_seconds_, description()};
    ISTHMUS_TRY_ASSIGN(work, prepare_work());
    std::unique_ptr<WorkerGroup> group;
    WorkerGroup::Job job = [work](std::size_t worker, const std::atomic<bool>& stop) {
        return work->transfer(worker, stop);
    };
    if (division_.spawn) {
        job = [work](std::size_t worker, const std::atomic<bool>& stop) -> Status {
            ISTHMUS_TRY(work->bind(worker));
            return work->transfer(worker, stop);
        };
    } else {
        ISTHMUS_TRY(assign(group, WorkerGroup::start(threads)));
        ISTHMUS_TRY(group->run([work](std::size_t worker, const auto&) { return work->bind(worker); }, limit));
    }
    lane_samples_.assign(lanes_.size(), {});
    const auto sample = [&](Samples& samples) -> Status {
        ISTHMUS_TRY(evict());
        work->reset();
        WorkerGroup::Job part = job;  // copied here, since copying allocates
        const TimePoint start = now();
        Status status =
            group ? group->run(std::move(part), limit) : WorkerGroup::run_once(threads, std::move(part), limit);
        if (status.code() == Code::timed_out) lose_buffers();
        ISTHMUS_TRY(std::move(status));
        samples[host_seconds].push_back(seconds_between(start, now()));
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
            lane_samples_[lane].push_back(seconds_between(start, work->end_of(lane)));
        }
        return {};
    };
    auto samples = taken({host_seconds}, warmups, quota, sample, forgets_lanes());
    // After a failure they are not given back: a stream may keep it, or still be at work.
    if (!samples.ok()) return samples;
    for (Work::Track& track : work->tracks) {
        for (std::unique_ptr<Stream>& stream : track.streams) track.lane.session().give_back(std::move(stream));
    }
    return samples;
}

// A thread that was left behind writes when it comes round, the right data perhaps: a later transfer that did nothing
// would pass for verified.
void ConcurrentTransfer::lose_buffers() {
    const Status reason = caught([this]() -> Status {
        return {Code::call_failed, "a thread that was left behind may still use this buffer: " + description()};
    });
    for (const ConcurrentLane& lane : lanes_) {
        for (const auto& buffer : {lane.source, lane.destination}) buffer->lose(reason);
    }
}

}  // namespace isthmus::experiment
