// One timed case: data goes to the device in chunks, is worked on, and comes back, with as much of that at once as the
// program's way allows.
#include "experiment/pipeline.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "backend/device_info.hpp"
#include "backend/launch.hpp"
#include "base/cache.hpp"
#include "base/slices.hpp"

namespace isthmus::experiment {
namespace {

// What `rounds` rounds of isthmus_work do to a word: value * factor + term.
struct Affine {
    std::uint32_t factor = 1, term = 0;
};
Affine after(std::uint32_t rounds) {
    Affine all;
    Affine power{1664525U, 1013904223U};  // of 2^i rounds
    for (; rounds != 0; rounds /= 2) {
        if (rounds % 2 != 0) all = {all.factor * power.factor, all.term * power.factor + power.term};
        power = {power.factor * power.factor, power.term * power.factor + power.term};
    }
    return all;
}

}  // namespace

// Everything that a pass works on.
struct Pipeline::State {
    PipelinePlan plan;
    std::shared_ptr<Buffer> source, work, results;
    std::shared_ptr<Staging> staging;
    std::size_t chunk_bytes = 0;
    WorkerGroup::Limit limit{};
    std::vector<std::unique_ptr<Stream>> streams;
    std::atomic<std::size_t> next_chunk = 0;
    // Before the copy in, and after each stage; recorded while they are there.
    std::vector<std::array<std::unique_ptr<Event>, 4>> marks;

    ~State() {
        for (auto& stream : streams) source->session().give_back(std::move(stream));
    }
    Device& device() const { return source->session().device(); }
    Status mark(std::size_t chunk, std::size_t index, Stream& stream) {
        return marks.empty() ? Status() : device().record(*marks[chunk][index], stream);
    }
    Status start_chunk(std::size_t chunk, Stream& stream);
    Status start_chunk(std::size_t chunk, Stream& stream, const Region& from, const Region& to);
    Status direct();
    Status staged(std::size_t worker, const std::atomic<bool>& stop);
    Result<Region> part(Buffer& buffer, std::size_t chunk) const {
        return buffer.region(chunk * chunk_bytes, chunk_bytes);
    }
};

Pipeline::Pipeline(std::shared_ptr<State> state) : state_(std::move(state)) {
    arrivals_.push_back({state_->results, 0, state_->plan.bytes});
}

Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::create(const PipelinePlan& plan, std::shared_ptr<Buffer> source,
                                                   std::shared_ptr<Buffer> work, std::shared_ptr<Buffer> results,
                                                   std::shared_ptr<Staging> staging) {
    constexpr std::size_t word = sizeof(std::uint32_t);
    if (plan.bytes == 0 || plan.chunks == 0 || plan.streams == 0 || plan.bytes % word != 0 ||
        plan.bytes / word % plan.chunks != 0) {
        return invalid(std::to_string(plan.bytes) + " bytes on " + std::to_string(plan.streams) + " streams are not " +
                       std::to_string(plan.chunks) + " chunks of whole 32-bit words");
    }
    for (const auto& buffer : {source, results}) {
        if (is_on_device(buffer->kind()) || !is_on_device(work->kind())) {
            return invalid("source and results must be host memory, the work's device memory");
        }
    }
    for (const auto& buffer : {source, work, results}) {
        if (buffer->session().device_handle() != source->session().device_handle()) {
            return invalid("the buffers belong to different devices");
        }
        if (auto region = buffer->region(0, plan.bytes); !region.ok()) return region.take_status();
    }
    if (staging != nullptr && (staging->bytes() < plan.bytes || staging->threads() < plan.streams)) {
        return invalid("the staging memory has too few bytes or threads");
    }
    auto state = std::make_shared<State>();
    state->plan = plan;
    state->source = std::move(source);
    state->work = std::move(work);
    state->results = std::move(results);
    state->staging = std::move(staging);
    state->chunk_bytes = plan.bytes / plan.chunks;
    state->limit = Staging::limit(plan.bytes, "a pipeline of " + std::to_string(plan.chunks) + " chunks");
    ISTHMUS_TRY(state->device().bind_thread());
    for (std::size_t i = 0; i < plan.streams; ++i) {
        ISTHMUS_TRY_ASSIGN(stream, state->source->session().borrow_stream());
        state->streams.push_back(std::move(stream));
    }
    return std::unique_ptr<Pipeline>(new Pipeline(std::move(state)));
}

Status Pipeline::State::start_chunk(std::size_t chunk, Stream& stream, const Region& from, const Region& to) {
    ISTHMUS_TRY_ASSIGN(on_device, part(*work, chunk));
    ISTHMUS_TRY(mark(chunk, 0, stream));
    if (plan.in) ISTHMUS_TRY(device().copy(stream, on_device, from));
    ISTHMUS_TRY(mark(chunk, 1, stream));
    if (plan.work)
        ISTHMUS_TRY(
            launch(device(), stream, kernel::work, on_device, on_device.bytes / sizeof(std::uint32_t), plan.rounds));
    ISTHMUS_TRY(mark(chunk, 2, stream));
    if (plan.out) ISTHMUS_TRY(device().copy(stream, to, on_device));
    return mark(chunk, 3, stream);
}

Status Pipeline::State::start_chunk(std::size_t chunk, Stream& stream) {
    ISTHMUS_TRY_ASSIGN(from, part(*source, chunk));
    ISTHMUS_TRY_ASSIGN(to, part(*results, chunk));
    return start_chunk(chunk, stream, from, to);
}

// The calling thread feeds all streams, as programs do it.
Status Pipeline::State::direct() {
    Status status;
    for (std::size_t chunk = 0; status.ok() && chunk < plan.chunks; ++chunk) {
        status = start_chunk(chunk, *streams[chunk % plan.streams]);
    }
    for (const auto& stream : streams) {
        Status ended = stream->synchronize();
        if (status.ok()) status = std::move(ended);
    }
    return status;
}

// One thread's part: chunk by chunk through page-locked memory. While one waits, others are at work.
Status Pipeline::State::staged(std::size_t worker, const std::atomic<bool>& stop) {
    // The caller, who is awake already, takes the first stream.
    const std::size_t index = (worker + 1) % (staging->threads() + 1);
    if (index >= plan.streams) return {};
    ISTHMUS_TRY(device().bind_thread());
    Stream& stream = *streams[index];
    while (!stop) {
        const std::size_t chunk = next_chunk++;
        if (chunk >= plan.chunks) break;
        ISTHMUS_TRY_ASSIGN(from, part(*source, chunk));
        ISTHMUS_TRY_ASSIGN(to, part(*results, chunk));
        const Region locked{&staging->host(), from.offset, from.bytes};
        if (plan.in) std::memcpy(locked.host(), from.host(), from.bytes);
        Status status = start_chunk(chunk, stream, locked, locked);
        Status ended = stream.synchronize();
        ISTHMUS_TRY(std::move(status));
        ISTHMUS_TRY(std::move(ended));
        if (plan.out) std::memcpy(to.host(), locked.host(), to.bytes);
    }
    return {};
}

Status Pipeline::pass() {
    if (state_->staging == nullptr) return state_->direct();
    state_->next_chunk = 0;
    Status status = state_->staging->run(
        [state = state_](std::size_t worker, const std::atomic<bool>& stop) { return state->staged(worker, stop); },
        state_->limit);
    if (status.code() == Code::timed_out) {
        for (const auto& buffer : {state_->source, state_->work, state_->results}) buffer->lose(status);
    }
    return status;
}

Status Pipeline::evict() {
    const bool cpu_copies = state_->staging != nullptr || state_->device().copy_blocks(state_->source->kind()) ||
                            state_->device().info().shares_host_memory;
    if (!cpu_copies || state_->plan.bytes > last_level_cache_bytes()) return {};
    for (const auto& buffer : {state_->source, state_->results}) {
        ISTHMUS_TRY_ASSIGN(region, buffer->region(0, state_->plan.bytes));
        ISTHMUS_TRY(buffer->evict(region));
    }
    return {};
}

Result<Samples> Pipeline::run(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(state_->device().bind_thread());
    return taken({host_seconds}, warmups, quota, [this](Samples& samples) -> Status {
        ISTHMUS_TRY(evict());
        const TimePoint start = now();
        ISTHMUS_TRY(pass());
        samples[host_seconds].push_back(seconds_between(start, now()));
        return {};
    });
}

Result<std::vector<StageSpan>> Pipeline::trace() {
    ISTHMUS_TRY(state_->device().bind_thread());
    Device& device = state_->device();
    std::vector<std::array<std::unique_ptr<Event>, 4>> marks(state_->plan.chunks);
    for (auto& chunk : marks) {
        for (auto& event : chunk) ISTHMUS_TRY(assign(event, device.create_event()));
    }
    state_->marks = std::move(marks);
    Status status = pass();
    // Threads that are stuck may still use them.
    if (status.code() == Code::timed_out) return status;
    marks = std::exchange(state_->marks, {});
    ISTHMUS_TRY(std::move(status));
    std::vector<std::array<double, 4>> times(marks.size());
    for (std::size_t chunk = 0; chunk < marks.size(); ++chunk) {
        for (std::size_t i = 0; i < 4; ++i) {
            ISTHMUS_TRY(assign(times[chunk][i], device.seconds_between(*marks[0][0], *marks[chunk][i])));
        }
    }
    std::vector<StageSpan> spans;
    const std::array<bool, 3> takes_place{state_->plan.in, state_->plan.work, state_->plan.out};
    for (std::size_t stage = 0; stage < 3; ++stage) {
        if (!takes_place[stage]) continue;
        std::vector<StageSpan> of_stage;
        of_stage.reserve(times.size());
        for (std::size_t chunk = 0; chunk < times.size(); ++chunk) {
            of_stage.push_back({static_cast<Stage>(stage), chunk, times[chunk][stage], times[chunk][stage + 1]});
        }
        std::sort(of_stage.begin(), of_stage.end(),
                  [](const StageSpan& a, const StageSpan& b) { return a.end_seconds < b.end_seconds; });
        // An event before a copy passes as soon as its stream is free; the engine may be busy with another's chunk.
        // Work of several streams may share the device.
        for (std::size_t i = 1; i < of_stage.size() && static_cast<Stage>(stage) != Stage::work; ++i) {
            of_stage[i].begin_seconds = std::max(of_stage[i].begin_seconds, of_stage[i - 1].end_seconds);
        }
        spans.insert(spans.end(), of_stage.begin(), of_stage.end());
    }
    // Only now is it known which began first: not always the chunk whose event came first.
    const auto first = std::min_element(spans.begin(), spans.end(), [](const StageSpan& a, const StageSpan& b) {
        return a.begin_seconds < b.begin_seconds;
    });
    const double origin = first == spans.end() ? 0 : first->begin_seconds;
    for (StageSpan& span : spans) {
        span.begin_seconds -= origin;
        span.end_seconds -= origin;
    }
    return spans;
}

Result<std::vector<Mismatch>> Pipeline::verify() {
    const PipelinePlan& plan = state_->plan;
    if (!plan.in || !plan.work || !plan.out) {
        return invalid("results can be checked only where every stage takes place");
    }
    ISTHMUS_TRY(state_->device().bind_thread());
    ISTHMUS_TRY_ASSIGN(from, state_->source->region(0, plan.bytes));
    ISTHMUS_TRY_ASSIGN(to, state_->results->region(0, plan.bytes));
    const Affine work = after(plan.rounds);
    std::atomic<std::size_t> wrong = 0;
    for_each_slice(plan.bytes, [&](std::size_t begin, std::size_t end) {
        std::size_t differ = 0;
        for (std::size_t at = begin; at < end; at += sizeof(std::uint32_t)) {
            std::uint32_t before = 0;
            std::uint32_t after_work = 0;
            std::memcpy(&before, from.host() + at, sizeof before);
            std::memcpy(&after_work, to.host() + at, sizeof after_work);
            differ += after_work != before * work.factor + work.term;
        }
        wrong += differ;
    });
    return std::vector{Mismatch{wrong, 0}};
}

}  // namespace isthmus::experiment
