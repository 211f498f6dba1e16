// Threads that pack pieces into page-locked memory, or unpack them, while others cross the link.
#include "transfer/pieces/pack_on_threads.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "backend/device.hpp"
#include "base/clock.hpp"
#include "base/pages.hpp"
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

// Threads that pack use the memory that the link reads, which takes longer by itself.
constexpr double most_times_packed = 1.6;

// With several links there are more chunks in flight at once: some on each, some that are packed.
std::size_t divided_chunk_bytes(const Ring& ring) {
    return ring.bytes / ring.divided_slots() / least_page * least_page;
}

std::optional<Links::Use> use_of(const Packing& packing, const Ring& ring, std::size_t bytes, bool can_divide) {
    // Smaller ones are in flight for less time than the calls take.
    constexpr std::size_t least_chunk_bytes = std::size_t{1} << 20;
    if (packing.links == nullptr || !can_divide || divided_chunk_bytes(ring) < least_chunk_bytes) return std::nullopt;
    return packing.links->use(bytes, divided_chunk_bytes(ring), nullptr);
}

RingPacker::Slots slots_of(Staging& staging, std::size_t bytes, std::size_t count) {
    return {&staging.host(), 0, bytes, count, (staging.next_in_ring() + bytes - 1) / bytes % count};
}

}  // namespace

PackOnThreads::PackOnThreads(const Layout& destination, const Layout& source, const Extent& extent,
                             std::shared_ptr<Staging> staging, bool by_kernel, const Packing& packing)
    : PackedCopy(destination, source, extent, std::move(staging), packing.file, packing.checks_memory),
      by_kernel_(by_kernel),
      threads_(packing.threads != 0 ? std::min(packing.threads, staging_->threads()) : staging_->threads()),
      stores_(packing.stores.value_or(suitable_stores(to_device(), by_kernel, extent.bytes()))),
      may_clear_pages_(packing.clears_pages.value_or(true)),
      lane_mutex_(packing.lane_mutex),
      ring_{to_device(), staging_->bytes()},
      links_(use_of(packing, ring_, extent.bytes(), !by_kernel && !pieces().needs_kernel())),
      chunks_(Chunks::cut(extent.bytes(), threads_,
                          links_ ? divided_chunk_bytes(ring_) : ring_.chunk_bytes(extent.bytes(), packing.chunk_bytes),
                          packing.file != nullptr ? Chunks::most_file_part_bytes : Chunks::most_part_bytes)),
      slots_(links_ ? std::min(Ring::most_divided_slots, ring_.bytes / chunks_.chunk_bytes)
                    : ring_.slots(chunks_.chunk_bytes)),
      ring_slots_(slots_of(*staging_, chunks_.chunk_bytes, to_device() ? slots_ : ring_.bytes / chunks_.chunk_bytes)),
      run_{&pieces(), chunks_},
      packer_({&run_, 1}, {counts_.data(), slots_}, ring_slots_, stores_, threads_),
      limit_(limit(extent, packing.waits_forever)),
      condition_(packing.condition) {}

Status PackOnThreads::start() {
    if (is_complete()) first_ = 0;
    if (first_ == 0 && may_clear_pages_) packer_.begin_faults();
    packer_.begin_at(first_ * (chunks_.chunk_bytes / chunks_.part_bytes));
    sent_ = arrived_ = first_;
    on_own_link_ = 0;
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
    if (!to_device()) staging_->leave_ring_at((ring_slots_.first + sent_) % ring_slots_.count * chunks_.chunk_bytes);
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
    Status status = send_offsets(staging_->stream(), by_kernel_);
    // Other streams do not wait for this one.
    if (status.ok() && has_sent_offsets()) status = staging_->stream().synchronize();
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
    // What threads may move when this one has gone.
    const std::size_t next = to_device() ? chunk + slots_ : chunk;
    on_relay(chunk) = {};
    if (Relay* const relay = relay_for(chunk)) {
        const Part part = packer_.staged(run_, chunk);
        const Region there = pieces().on_device(part);
        const Region here{&staging_->host(), part.staged_at, part.bytes()};
        on_relay(chunk).is = true;
        Status status = to_device() ? relay->send(chunk, there, here) : relay->send(chunk, here, there);
        if (!status.ok()) ISTHMUS_TRY(give_up(*relay, status));
    } else {
        ISTHMUS_TRY(send_by_own_link(chunk));
    }
    if (next < chunks_.count()) packer_.expect(run_, next);
    ++sent_;
    return {};
}

Relay* PackOnThreads::relay_for(std::size_t chunk) {
    // The own link is not to run dry.
    constexpr std::size_t least_on_own_link = 2;
    if (!links_ || on_own_link_ < least_on_own_link) return nullptr;
    if (!pieces().is_one_range(packer_.staged(run_, chunk))) return nullptr;
    return links_->taker(chunks_.chunk_bytes, extent_.bytes() - chunk * chunks_.chunk_bytes,
                         on_own_link_ * chunks_.chunk_bytes);
}

Status PackOnThreads::send_by_own_link(std::size_t chunk) {
    const Part all = packer_.staged(run_, chunk);
    const Route route{staging_->copies(), staging_->kernels(), &staging_->halfway_of(chunk)};
    // Kernels alone alternate between both streams, so that one begins while another ends.
    Stream& stream = !by_kernel_ ? last(route) : chunk % 2 == 0 ? route.copies : route.kernels;
    ISTHMUS_TRY(by_kernel_ ? enqueue_kernel(stream, all) : enqueue_copy(route, all));
    ISTHMUS_TRY(device().record(staging_->arrival_of(chunk), stream));
    ++on_own_link_;
    if (links_) links_->own_took(all.bytes());
    return {};
}

Status PackOnThreads::receive_from_relays() {
    // Those that fail leave the list.
    for (std::size_t i = links_->relays().size(); i-- > 0;) {
        Relay& relay = *links_->relays()[i];
        while (relay.under_way() != 0) {
            auto received = relay.receive(most_times_packed);
            if (!received.ok()) return give_up(relay, received.take_status());
            if (!received.value()) break;
            on_relay(*received.value()).has_arrived = true;
        }
    }
    return {};
}

Status PackOnThreads::give_up(Relay& relay, const Status& why) {
    Status status;
    links_->lose(relay, why, [&](std::size_t chunk) {
        on_relay(chunk) = {};
        if (status.ok()) status = send_by_own_link(chunk);
    });
    return status;
}

Result<bool> PackOnThreads::receive() {
    if (links_) ISTHMUS_TRY(receive_from_relays());
    if (arrived_ == sent_) return false;
    if (on_relay(arrived_).is) {
        if (!on_relay(arrived_).has_arrived) return false;
    } else {
        ISTHMUS_TRY_ASSIGN(passed, device().has_passed(staging_->arrival_of(arrived_)));
        if (!passed) return false;
        --on_own_link_;
    }
    ++arrived_;
    open_chunks_.store(to_device() ? std::min<std::size_t>(arrived_ + slots_, end_) : arrived_,
                       std::memory_order_release);
    return true;
}

void PackOnThreads::end_for_others() {
    if (lane_mutex_ == nullptr || !lane_mutex_->awaited() || end_ != chunks_.count()) return;
    if ((sent_ - first_) * chunks_.chunk_bytes < turn_bytes) return;
    // Threads may have taken parts of all chunks that are open to them.
    end_ = to_device() ? open_chunks_.load() : sent_;
}

std::size_t PackOnThreads::chunks_arrived() const {
    if (to_device()) return arrived_;
    // Those had been unpacked in whose place others were sent.
    std::size_t arrived = std::max(first_, sent_ - std::min(sent_, slots_));
    while (arrived < arrived_ && packer_.is_moved(arrived)) ++arrived;
    return arrived;
}

Status PackOnThreads::drain() {
    Status status;
    if (links_) {
        for (Relay* const relay : links_->relays()) (void)relay->drain();
    }
    // The last one has offsets.
    for (Stream* stream : {&staging_->copies(), &staging_->kernels(), &staging_->stream()}) {
        Status ended = stream->synchronize();
        if (status.ok()) status = std::move(ended);
    }
    return status;
}

}  // namespace isthmus
