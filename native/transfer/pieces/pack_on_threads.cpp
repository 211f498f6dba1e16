// Threads that pack pieces into page-locked memory, or unpack them, while others cross the link.
#include "transfer/pieces/pack_on_threads.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "backend/device.hpp"
#include "base/clock.hpp"
#include "base/threads.hpp"

namespace isthmus {
namespace {

WorkerGroup::Limit limit(const Extent& extent, bool waits_forever) {
    WorkerGroup::Limit limit =
        Staging::limit(extent.bytes(), "packing " + std::to_string(extent.pieces()) + " pieces of " +
                                           std::to_string(extent.width_bytes) + " bytes");
    if (waits_forever) limit.seconds = 1e9;
    return limit;
}

}  // namespace

PackOnThreads::PackOnThreads(const Layout& destination, const Layout& source, const Extent& extent,
                             std::shared_ptr<Staging> staging, bool by_kernel, const Packing& packing)
    : PackedCopy(destination, source, extent, std::move(staging), packing.file),
      by_kernel_(by_kernel),
      threads_(packing.threads != 0 ? std::min(packing.threads, staging_->threads()) : staging_->threads()),
      stores_(packing.stores.value_or(suitable_stores(to_device(), by_kernel, extent.bytes()))),
      turns_(packing.turns),
      ring_{to_device(), staging_->bytes()},
      chunks_(Chunks::cut(extent.bytes(), threads_, ring_.chunk_bytes(extent.bytes(), packing.chunk_bytes))),
      slots_(ring_.slots(chunks_.chunk_bytes)),
      run_{&pieces(), chunks_},
      packer_({&run_, 1}, {counts_.data(), slots_}, {&staging_->host(), 0, chunks_.chunk_bytes, slots_}, stores_,
              threads_),
      limit_(limit(extent, packing.waits_forever)),
      condition_(packing.condition) {}

Status PackOnThreads::start() {
    if (is_complete()) first_ = 0;
    if (first_ == 0) packer_.begin_faults();
    packer_.begin_at(first_ * (chunks_.chunk_bytes / chunks_.part_bytes));
    sent_ = arrived_ = first_;
    end_ = chunks_.count();
    open_chunks_ = to_device() ? std::min(first_ + slots_, chunks_.count()) : first_;
    for (std::size_t chunk = first_; chunk < open_chunks_; ++chunk) packer_.expect(run_, chunk);
    const std::size_t caller = staging_->threads();
    Status status = staging_->run(
        [this, caller, keep = shared_from_this()](std::size_t worker, const std::atomic<bool>& stop) -> Status {
            if (worker == caller) return send_chunks(stop);
            return move_parts(stop);
        },
        limit_, threads_);
    // Threads that were left behind may still be at work.
    if (status.code() == Code::timed_out) return status;
    const std::size_t arrived = status.ok() ? end_.load() : chunks_arrived();
    arrived_bytes_ = std::min(extent_.bytes(), arrived * chunks_.chunk_bytes);
    first_ = status.ok() ? arrived : 0;
    return status;
}

Status PackOnThreads::move_parts(const std::atomic<bool>& stop) {
    while (const auto taken = packer_.take()) {
        while (open_chunks_.load(std::memory_order_acquire) <= taken->chunk) {
            if (stop || taken->chunk >= end_) return {};
            if (!packer_.fault_ahead(*taken)) std::this_thread::yield();
        }
        while (packer_.fault_ahead(*taken)) {
        }
        ISTHMUS_TRY_ASSIGN(was_last, packer_.move(*taken));
        static_cast<void>(was_last);
    }
    return {};
}

Result<bool> PackOnThreads::move_one_part() {
    ISTHMUS_TRY_ASSIGN(moved, packer_.move_one(open_chunks_, SIZE_MAX));
    return moved != RingPacker::Moved::nothing;
}

Status PackOnThreads::send_chunks(const std::atomic<bool>& stop) {
    Status status = caught([&] { return send_until_all_arrived(stop); });
    // Nothing may wait for the device any more.
    if (status.code() == Code::timed_out) return status;
    // What has passed its event has ended; asking streams again takes as long as sending a chunk.
    if (status.ok() && arrived_ == sent_) return {};
    Status ended = drain();
    return status.ok() ? std::move(ended) : std::move(status);
}

Status PackOnThreads::send_until_all_arrived(const std::atomic<bool>& stop) {
    const TimePoint begin = now();
    Status status = send_offsets(staging_->stream());
    // Other streams do not wait for this one.
    if (status.ok() && device_side().is_scattered()) status = staging_->stream().synchronize();
    // What comes from the device may be on its way already.
    while (status.ok() && condition_ && !to_device() && sent_ < end_ && may_send(sent_)) status = send(sent_);
    if (status.ok() && condition_) status = std::exchange(condition_, nullptr)();
    while (status.ok() && !stop && arrived_ < end_) {
        end_for_others();
        if (sent_ < end_ && may_send(sent_)) {
            status = send(sent_);
            continue;
        }
        auto went_on = receive();
        if (went_on.ok() && !went_on.value()) went_on = move_one_part();
        if (!went_on.ok()) {
            status = went_on.take_status();
        } else if (!went_on.value()) {
            if (seconds_between(begin, now()) > limit_.seconds) {
                // Nor may anything free what it may still use.
                outlive_all();
                return caught(
                    [this]() -> Status {
                        return {Code::timed_out, "the transfer had not ended after " + std::to_string(limit_.seconds) +
                                                     " s: " + limit_.doing};
                    },
                    Code::timed_out);
            }
            std::this_thread::yield();
        }
    }
    while (status.ok() && !stop) {
        auto moved = move_one_part();
        if (!moved.ok()) status = moved.take_status();
        if (!status.ok() || !moved.value()) break;
    }
    return status;
}

void PackOnThreads::outlive_all() noexcept {
    static std::atomic<PackOnThreads*> last_kept{nullptr};
    itself_ = shared_from_this();
    kept_before_ = last_kept.exchange(this);
}

bool PackOnThreads::may_send(std::size_t chunk) const {
    if (!to_device() && chunk < first_ + slots_) return true;
    return packer_.is_moved(chunk);
}

Status PackOnThreads::send(std::size_t chunk) {
    // What threads move next in the chunk's slot.
    const std::size_t next = to_device() ? chunk + slots_ : chunk;
    const Part all = packer_.staged(run_, chunk);
    const Route route{staging_->copies(), staging_->kernels(), &staging_->halfway_of(chunk)};
    // Kernels alone take turns on both streams, so that one begins while another ends.
    Stream& stream = !by_kernel_ ? last(route) : chunk % 2 == 0 ? route.copies : route.kernels;
    ISTHMUS_TRY(by_kernel_ ? enqueue_kernel(stream, all) : enqueue_copy(route, all));
    ISTHMUS_TRY(device().record(staging_->arrival_of(chunk), stream));
    if (next < chunks_.count()) packer_.expect(run_, next);
    ++sent_;
    return {};
}

Result<bool> PackOnThreads::receive() {
    if (arrived_ == sent_) return false;
    ISTHMUS_TRY_ASSIGN(passed, device().has_passed(staging_->arrival_of(arrived_)));
    if (!passed) return false;
    ++arrived_;
    open_chunks_.store(to_device() ? std::min<std::size_t>(arrived_ + slots_, end_) : arrived_,
                       std::memory_order_release);
    return true;
}

void PackOnThreads::end_for_others() {
    if (turns_ == nullptr || !turns_->awaited() || end_ != chunks_.count()) return;
    if ((sent_ - first_) * chunks_.chunk_bytes < turn_bytes) return;
    // Threads may have taken parts of all chunks that are open to them.
    end_ = to_device() ? open_chunks_.load() : sent_;
}

std::size_t PackOnThreads::chunks_arrived() const {
    if (to_device()) return arrived_;
    // Slots that were sent again had been unpacked.
    std::size_t arrived = std::max(first_, sent_ - std::min(sent_, slots_));
    while (arrived < arrived_ && packer_.is_moved(arrived)) ++arrived;
    return arrived;
}

Status PackOnThreads::drain() {
    Status status;
    // The last one has offsets.
    for (Stream* stream : {&staging_->copies(), &staging_->kernels(), &staging_->stream()}) {
        Status ended = stream->synchronize();
        if (status.ok()) status = std::move(ended);
    }
    return status;
}

}  // namespace isthmus
