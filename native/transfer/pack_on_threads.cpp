// Threads that pack pieces into page-locked memory, or unpack them, while others cross the link.
#include "transfer/pack_on_threads.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace isthmus {
namespace {

void keep_for_good(std::shared_ptr<const void> what) {
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::shared_ptr<const void>>;  // outlives the process's destructors
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(what));
}

}  // namespace

PackOnThreads::PackOnThreads(const Layout& destination, const Layout& source, const Extent& extent,
                             std::shared_ptr<Staging> staging, bool by_kernel)
    : PackedCopy(destination, source, extent, std::move(staging)),
      by_kernel_(by_kernel),
      chunks_(Chunks::cut(extent.bytes(), staging_->threads())),
      limit_(Staging::limit(extent.bytes(), "packing " + std::to_string(extent.pieces()) + " pieces of " +
                                                std::to_string(extent.width_bytes) + " bytes")) {}

Status PackOnThreads::start() {
    for (Count& count : done_) count.parts = 0;
    next_part_ = awake_ = sent_ = arrived_ = 0;
    open_chunks_ = to_device() ? Staging::slots : 0;
    const std::size_t caller = staging_->threads();
    return staging_->run(
        [this, caller, keep = shared_from_this()](std::size_t worker, const std::atomic<bool>& stop) -> Status {
            if (worker == caller) return send_chunks(stop);
            move_parts(stop);
            return {};
        },
        limit_);
}

void PackOnThreads::move_parts(const std::atomic<bool>& stop) {
    ++awake_;
    for (std::size_t next = next_part_++; next < chunks_.parts(); next = next_part_++) {
        const std::size_t chunk = chunks_.chunk_of(next);
        while (open_chunks_.load(std::memory_order_acquire) <= chunk) {
            if (stop) return;
            std::this_thread::yield();
        }
        move_part(next);
    }
}

bool PackOnThreads::move_one_part() {
    std::size_t next = next_part_;
    if (next >= chunks_.parts() || chunks_.chunk_of(next) >= open_chunks_) return false;
    if (next_part_.compare_exchange_strong(next, next + 1)) move_part(next);
    return true;
}

void PackOnThreads::move_part(std::size_t index) {
    const std::size_t chunk = chunks_.chunk_of(index);
    // What kernels read may stay in the caches.
    move_on_host(part(chunks_.part(index), chunk), by_kernel_ ? Stores::ordinary : Stores::streaming);
    done_[chunk % Staging::slots].parts.fetch_add(1, std::memory_order_release);
}

Status PackOnThreads::send_chunks(const std::atomic<bool>& stop) {
    const TimePoint begin = now();
    Status status = send_offsets(staging_->stream());
    // Other streams do not wait for this one.
    if (status.ok() && device_side().is_scattered()) status = staging_->stream().synchronize();
    while (status.ok() && !stop && arrived_ < chunks_.count()) {
        if (sent_ < chunks_.count() && may_send(sent_)) {
            status = send(sent_);
            continue;
        }
        auto received = receive();
        if (!received.ok()) {
            status = received.take_status();
        } else if (!received.value() && (awake_ != 0 || !move_one_part())) {
            if (seconds_between(begin, now()) > limit_.seconds) {
                // Nothing may wait for the device any more, nor free what it may still use.
                keep_for_good(shared_from_this());
                return {Code::timed_out,
                        "the transfer had not ended after " + std::to_string(limit_.seconds) + " s: " + limit_.doing};
            }
            std::this_thread::yield();
        }
    }
    while (status.ok() && !stop && move_one_part()) {
    }
    Status ended = drain();
    return status.ok() ? std::move(ended) : std::move(status);
}

bool PackOnThreads::may_send(std::size_t chunk) const {
    if (!to_device() && chunk < Staging::slots) return true;
    const std::size_t last = to_device() ? chunk : chunk - Staging::slots;
    return done_[chunk % Staging::slots].parts.load(std::memory_order_acquire) == chunks_.parts_of(last);
}

Status PackOnThreads::send(std::size_t chunk) {
    done_[chunk % Staging::slots].parts = 0;
    Stream& stream = staging_->stream_of(chunk);
    const Part all = part(chunks_.chunk(chunk), chunk);
    ISTHMUS_TRY(by_kernel_ ? enqueue_kernel(stream, all) : enqueue_copy(stream, all));
    ISTHMUS_TRY(device().record(staging_->arrival_of(chunk), stream));
    ++sent_;
    return {};
}

Result<bool> PackOnThreads::receive() {
    if (arrived_ == sent_) return false;
    ISTHMUS_TRY_ASSIGN(passed, device().has_passed(staging_->arrival_of(arrived_)));
    if (!passed) return false;
    ++arrived_;
    open_chunks_.store(arrived_ + (to_device() ? Staging::slots : 0), std::memory_order_release);
    return true;
}

Status PackOnThreads::drain() {
    Status status;
    for (std::size_t i = 0; i < std::min(sent_ + 1, Staging::streams); ++i) {
        Status ended = staging_->stream_of(i).synchronize();
        if (status.ok()) status = std::move(ended);
    }
    return status;
}

PackedCopy::Part PackOnThreads::part(Chunks::Range range, std::size_t chunk) const {
    const std::size_t slot_begins = chunk % Staging::slots * chunks_.chunk_bytes;
    return {range.begin, range.end, slot_begins + (range.begin - chunks_.chunk(chunk).begin)};
}

}  // namespace isthmus
