// A copy whose stream is held while threads move memory, without a call of the driver.
#include "transfer/staging/held_copy.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.hpp"

namespace isthmus {
namespace {

// How long threads look for more before they leave the copy to others, and other copies to themselves.
constexpr double patience_seconds = 30e-6;
// Of one copy, before others that are under way get their turn.
constexpr std::size_t bytes_a_turn = std::size_t{16} << 20;

}  // namespace

void HeldCopy::use(RingPool::Loan ring, std::size_t table_bytes) {
    slots_begin_ = ring.offset() + table_bytes;
    slots_ = std::max<std::size_t>((ring.bytes() - table_bytes) / std::max<std::size_t>(plan_.chunk_bytes, 1), 1);
    ring_.emplace(std::move(ring));
}

void HeldCopy::add_packed(const PackedPieces& pieces, Region table, bool by_kernel) {
    Stage stage;
    stage.pieces = pieces;
    stage.into = {ring_->host(), ring_->on_device(), table};
    stage.by_kernel = by_kernel;
    stage.chunks = Chunks::cut(pieces.extent().bytes(), plan_.threads, plan_.chunk_bytes);
    stage.first_chunk = left_.size();
    to_device_ = pieces.to_device();
    for (std::size_t i = 0; i < stage.chunks.count(); ++i) {
        left_.emplace_back(static_cast<std::uint32_t>(stage.chunks.parts_of(i)));
    }
    for (std::size_t i = 0; i < stage.chunks.parts(); ++i) {
        const std::size_t chunk = stage.chunks.chunk_of(i);
        parts_.push_back({stages_.size(), stage.first_chunk + chunk, staged(stage.chunks.part(i), stage, chunk)});
    }
    stages_.push_back(std::move(stage));
}

void HeldCopy::add_commands(std::function<Status(Stream&)> enqueue) {
    Stage stage;
    stage.commands = std::move(enqueue);
    stages_.push_back(std::move(stage));
}

Part HeldCopy::staged(Chunks::Range range, const Stage& stage, std::size_t chunk) const {
    const std::size_t slot = (stage.first_chunk + chunk) % slots_;
    const std::size_t within = range.begin - stage.chunks.chunk(chunk).begin;
    return {range.begin, range.end, slots_begin_ + slot * plan_.chunk_bytes + within};
}

Status HeldCopy::enqueue(Stream& stream) {
    const bool meets = has_host_part();
    const auto count = static_cast<std::uint32_t>(left_.size());
    // The stream tells 1 when it has come to the copy, and one more for each chunk that has crossed the link.
    if (meets) ISTHMUS_TRY(rendezvous_->tell_host(stream, 1));
    for (const Stage& stage : stages_) {
        if (!stage.pieces) {
            ISTHMUS_TRY(stage.commands(stream));
            continue;
        }
        for (std::size_t i = 0; i < stage.chunks.count(); ++i) {
            const auto chunk = static_cast<std::uint32_t>(stage.first_chunk + i);
            if (to_device()) {
                ISTHMUS_TRY(rendezvous_->wait_for_host(stream, chunk + 1));
            } else if (chunk >= slots_) {
                ISTHMUS_TRY(rendezvous_->wait_for_host(stream, chunk + 1 - static_cast<std::uint32_t>(slots_)));
            }
            const Part all = staged(stage.chunks.chunk(i), stage, i);
            ISTHMUS_TRY(stage.by_kernel ? stage.pieces->enqueue_kernel(device_, stream, all, stage.into)
                                        : stage.pieces->enqueue_copy(device_, {stream, stream}, all, stage.into));
            ISTHMUS_TRY(rendezvous_->tell_host(stream, chunk + 2));
        }
    }
    if (!meets) return {};
    // What comes next sees the host's memory as it is then.
    if (!to_device() || !host_work_.empty()) ISTHMUS_TRY(rendezvous_->wait_for_host(stream, std::max(count, 1U)));
    return rendezvous_->tell_host(stream, std::max(count, 1U) + 2);
}

Background::Step HeldCopy::go_on(WorkerGroup* group) {
    if (stop_) return leave();
    if (rendezvous_->reached() == 0) return Background::Step::waits;
    if (!has_begun_) begin();
    for (const std::function<Status()>& work : host_work_) {
        if (status_.ok()) status_ = work();
    }
    if (!host_work_.empty()) {
        rendezvous_->open(1);
        return leave();
    }
    const std::size_t before = next_part_;
    if (before < parts_.size() && parts_[before].chunk >= open_chunks()) return Background::Step::waits;
    const std::size_t bytes_a_part = std::max<std::size_t>(parts_[before].part.bytes(), 4096);
    end_of_turn_ = std::min(parts_.size(), before + std::max<std::size_t>(bytes_a_turn / bytes_a_part, 1));
    Status helped(Code::unsupported, "nobody helps");
    if (group != nullptr) {
        const auto job = [this](std::size_t, const std::atomic<bool>& stop) {
            move_parts(stop);
            return Status();
        };
        // Nobody is left behind: threads end when nothing is open, and then only the memory could keep them.
        helped = group->run_with_caller(job, {1e9, "moving memory"}, plan_.threads);
    }
    if (!helped.ok()) move_parts(stop_);
    if (moved_chunks_ < left_.size()) return next_part_ == before ? Background::Step::waits : Background::Step::moves;
    rendezvous_->open(static_cast<std::uint32_t>(left_.size()));
    return leave();
}

void HeldCopy::begin() {
    has_begun_ = true;
    if (!to_device() && stages_.size() == 1) stages_.front().pieces->fault_ahead(faults_);
}

std::size_t HeldCopy::open_chunks() {
    const std::uint32_t reached = rendezvous_->reached();
    const std::size_t crossed = reached == 0 ? 0 : reached - 1;
    return std::min(to_device() ? crossed + slots_ : crossed, left_.size());
}

void HeldCopy::move_parts(const std::atomic<bool>& stop) {
    TimePoint last = now();
    while (!stop && !stop_ && next_part_ < end_of_turn_) {
        if (move_one_part()) {
            last = now();
            continue;
        }
        const std::size_t next = std::min<std::size_t>(next_part_, parts_.size() - 1);
        if (faults_.take(parts_[next].part.end + plan_.threads * FaultAhead::bytes_ahead)) continue;
        if (seconds_between(last, now()) > patience_seconds) return;
        std::this_thread::yield();
    }
}

bool HeldCopy::move_one_part() {
    std::size_t next = next_part_;
    if (next >= end_of_turn_ || parts_[next].chunk >= open_chunks()) return false;
    if (!next_part_.compare_exchange_strong(next, next + 1)) return true;
    const Piecework& mine = parts_[next];
    const Stage& stage = stages_[mine.stage];
    stage.pieces->move_on_host(mine.part, *stage.into.host, plan_.stores);
    if (left_[mine.chunk].fetch_sub(1) == 1) publish();
    return true;
}

void HeldCopy::publish() {
    std::size_t moved = moved_chunks_;
    while (moved < left_.size() && left_[moved] == 0) {
        if (moved_chunks_.compare_exchange_strong(moved, moved + 1)) ++moved;
    }
    // The last one is for go_on() to tell, when no thread has anything more to do with the memory.
    const std::size_t told = std::min(moved, left_.size() - 1);
    if (told != 0) rendezvous_->open(static_cast<std::uint32_t>(told));
}

void HeldCopy::abandon() {
    if (!has_host_part()) return;
    stop_ = true;
    while (!has_left()) std::this_thread::sleep_for(std::chrono::microseconds(50));
    rendezvous_->open(static_cast<std::uint32_t>(left_.size()) + 1);
}

Background::Step HeldCopy::leave() {
    left_for_good_.store(true, std::memory_order_release);
    return Background::Step::ended;
}

}  // namespace isthmus
