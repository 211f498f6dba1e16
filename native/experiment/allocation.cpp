// One timed case: memory of one kind and size that is allocated, used for the first time and given back, again and
// again.
#include "experiment/allocation.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "base/pages.hpp"

namespace isthmus::experiment {
namespace {

constexpr std::string_view allocate = "allocate", touch = "touch", free = "free";
constexpr double short_seconds = 10e-6;
constexpr std::size_t neighbour_bytes = 256;
constexpr std::size_t most_blocks = 64;
// More blocks at once than the C library keeps when it gets them back would each time be fresh ones.
constexpr std::size_t most_bytes_at_once = std::size_t{4} << 20;

// What reading the clock adds to every time: the least of many differences between two readings.
double clock_seconds() {
    static const double seconds = [] {
        double least = 1;
        for (int i = 0; i < 1000; ++i) {
            const TimePoint start = now();
            least = std::min(least, seconds_between(start, now()));
        }
        return least;
    }();
    return seconds;
}

double per_block(TimePoint start, TimePoint stop, std::size_t blocks) {
    return std::max(seconds_between(start, stop) - clock_seconds(), 0.0) / static_cast<double>(blocks);
}

// Several blocks at once would be something else: other pages to be locked, a pool that is no longer cold, or small
// blocks that the driver carves out of one larger one.
bool comes_alone(MemoryKind kind, bool beside) {
    if (is_pageable(kind) || kind == MemoryKind::device_pool) return false;
    return is_registered(kind) || kind == MemoryKind::device_pool_cold || !beside;
}

}  // namespace

AllocationCase::AllocationCase(std::shared_ptr<OpenDevice> session, MemoryKind kind, std::size_t bytes, bool beside)
    : session_(std::move(session)), kind_(kind), bytes_(bytes), beside_(beside) {}

Result<std::unique_ptr<AllocationCase>> AllocationCase::create(std::shared_ptr<OpenDevice> session, MemoryKind kind,
                                                               std::size_t bytes, bool beside) {
    ISTHMUS_TRY(session->device().bind_thread());
    std::unique_ptr<AllocationCase> made(new AllocationCase(std::move(session), kind, bytes, beside));
    ISTHMUS_TRY(made->add_blocks(1));  // Says so now if the kind is unknown to the device.
    made->blocks_.clear();
    return made;
}

Status AllocationCase::add_blocks(std::size_t count) {
    while (blocks_.size() < count) {
        ISTHMUS_TRY_ASSIGN(block, device().reserve(kind_, bytes_));
        blocks_.push_back(std::move(block));
    }
    return {};
}

Result<Samples> AllocationCase::run(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(device().bind_thread());
    std::unique_ptr<Allocation> neighbour;
    if (beside_) {
        ISTHMUS_TRY(assign(neighbour, device().reserve(kind_, neighbour_bytes)));
        ISTHMUS_TRY(neighbour->prepare());
        ISTHMUS_TRY(neighbour->acquire());
    }
    auto samples = run_blocks(warmups, quota);
    // Between two runs other cases run: nothing of this one, like pages to be locked, takes their memory.
    blocks_.clear();
    if (samples.ok()) return samples;
    return samples.take_status().in(std::to_string(bytes_) + " bytes of " + std::string(name_of(kind_)) + " memory");
}

Result<Samples> AllocationCase::run_blocks(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(add_blocks(std::max(batch_, std::size_t{1})));
    // A warm pool has to be warmed, however long that takes.
    if (kind_ == MemoryKind::device_pool) warmups = std::max(warmups, std::size_t{1});
    return taken(
        {allocate, touch, free}, warmups, quota, [this](Samples& samples) { return sample(samples); },
        [this](Samples& tried) { return choose_batch(tried); });
}

Status AllocationCase::choose_batch(Samples& tried) {
    const std::vector<double>& seconds = tried[allocate];
    if (seconds.empty() || batch_ != 0) return {};
    const bool alone = comes_alone(kind_, beside_) || seconds.back() >= short_seconds;
    batch_ = alone ? 1 : std::clamp(most_bytes_at_once / bytes_, std::size_t{1}, most_blocks);
    ISTHMUS_TRY(add_blocks(batch_));
    // The batch is warmed up as a whole: a pool grows to it once.
    Status status = sample(tried);
    if (status.code() != Code::out_of_memory || batch_ == 1) return status;
    // What there is for one block at a time need not be there for several.
    batch_ = 1;
    blocks_.resize(batch_);
    return sample(tried);
}

Status AllocationCase::sample(Samples& samples) {
    for (const auto& block : blocks_) ISTHMUS_TRY(block->prepare());
    const bool touches = device().allocates_late(kind_);
    const TimePoint start = now();
    Status status = acquire_all();
    const TimePoint acquired = now();
    if (status.ok()) shape_ = blocks_.front()->shape();
    const TimePoint begin = now();
    if (status.ok() && touches) status = touch_all();
    const TimePoint touched = now();
    Status released = release_all();
    const TimePoint end = now();
    ISTHMUS_TRY(std::move(status));
    ISTHMUS_TRY(std::move(released));
    samples[allocate].push_back(per_block(start, acquired, blocks_.size()));
    if (touches) samples[touch].push_back(per_block(begin, touched, blocks_.size()));
    samples[free].push_back(per_block(touched, end, blocks_.size()));
    return {};
}

Status AllocationCase::acquire_all() {
    for (const auto& block : blocks_) {
        ISTHMUS_TRY(block->acquire());
        ++held_;
    }
    return {};
}

// All that are held, also after a failure; returns the first.
Status AllocationCase::release_all() {
    Status first;
    for (std::size_t i = 0; i < held_; ++i) {
        if (Status status = blocks_[i]->release(); !status.ok() && first.ok()) first = std::move(status);
    }
    held_ = 0;
    return first;
}

// By one thread, as most programs do; device memory by the device.
Status AllocationCase::touch_all() {
    for (const auto& block : blocks_) {
        if (is_on_device(kind_) && block->host() == nullptr) {
            ISTHMUS_TRY(session_->run([&](Stream& stream) {
                return device().set_bytes(stream, {block.get(), 0, bytes_}, std::uint8_t{1});
            }));
            continue;
        }
        ISTHMUS_TRY(device().begin_host_access(*block));
        touch_pages_alone(block->host(), bytes_);
        ISTHMUS_TRY(device().end_host_access(*block));
    }
    return {};
}

}  // namespace isthmus::experiment
