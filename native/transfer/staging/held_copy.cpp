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
// What is moved of one copy before others that are in flight are looked after.
constexpr std::size_t bytes_a_turn = std::size_t{16} << 20;

}  // namespace

void HeldCopy::use(RingPool::Loan ring, std::size_t table_bytes) {
    slots_.memory = ring.host();
    slots_.begins_at = ring.offset() + table_bytes;
    slots_.slot_bytes = plan_.chunk_bytes;
    slots_.count = plan_.slots;
    ring_.emplace(std::move(ring));
}

void HeldCopy::add_packed(const PackedPieces& pieces, Region table, bool by_kernel) {
    PackedRun run{&pieces_.emplace_back(pieces),
                  Chunks::cut(pieces.extent().bytes(), plan_.threads, plan_.chunk_bytes)};
    to_device_ = pieces.to_device();
    run.first_chunk = std::exchange(chunk_count_, chunk_count_ + run.chunks.count());
    run.first_part = runs_.empty() ? 0 : runs_.back().first_part + runs_.back().chunks.parts();
    runs_.push_back(run);
    Stage stage;
    stage.run = runs_.size() - 1;
    stage.into = {ring_->host(), ring_->on_device(), table, plan_.blocks};
    stage.by_kernel = by_kernel;
    stages_.push_back(std::move(stage));
}

void HeldCopy::add_commands(std::function<Status(Stream&)> enqueue) {
    Stage stage;
    stage.commands = std::move(enqueue);
    stages_.push_back(std::move(stage));
}

void HeldCopy::complete() {
    if (runs_.empty()) return;
    counts_ = std::vector<RingPacker::Count>(chunk_count_);
    packer_.emplace(runs_, counts_, slots_, plan_.stores, plan_.threads);
    for (const PackedRun& run : runs_) {
        for (std::size_t i = 0; i < run.chunks.count(); ++i) packer_->expect(run, i);
    }
}

Status HeldCopy::enqueue(Stream& stream) {
    const bool meets = has_host_part();
    const auto count = static_cast<std::uint32_t>(chunk_count_);
    // The stream tells 1 when it has come to the copy, and one more for each chunk that has crossed the link.
    if (meets) ISTHMUS_TRY(rendezvous_->tell_host(stream, 1));
    for (const Stage& stage : stages_) {
        if (stage.commands) {
            ISTHMUS_TRY(stage.commands(stream));
            continue;
        }
        const PackedRun& run = runs_[stage.run];
        for (std::size_t i = 0; i < run.chunks.count(); ++i) {
            const auto chunk = static_cast<std::uint32_t>(run.first_chunk + i);
            if (to_device()) {
                ISTHMUS_TRY(rendezvous_->wait_for_host(stream, chunk + 1));
            } else if (chunk >= slots_.count) {
                ISTHMUS_TRY(rendezvous_->wait_for_host(stream, chunk + 1 - static_cast<std::uint32_t>(slots_.count)));
            }
            const Part all = packer_->staged(run, i);
            ISTHMUS_TRY(stage.by_kernel ? run.pieces->enqueue_kernel(device_, stream, all, stage.into)
                                        : run.pieces->enqueue_copy(device_, {stream, stream}, all, stage.into));
            ISTHMUS_TRY(rendezvous_->tell_host(stream, chunk + 2));
        }
    }
    if (!meets) return {};
    // What comes next sees the host's memory as it is then.
    if (!to_device() || !host_work_.empty()) ISTHMUS_TRY(rendezvous_->wait_for_host(stream, std::max(count, 1U)));
    return rendezvous_->tell_host(stream, std::max(count, 1U) + 2);
}

Background::Step HeldCopy::go_on(WorkerGroup* group) noexcept {
    try {
        return advance(group);
    } catch (...) {
        // No thread is at work on it any more, and the stream passes: what comes then is told as a failure.
        status_ = Status::no_memory();
        rendezvous_->open(static_cast<std::uint32_t>(chunk_count_) + 1);
        return leave();
    }
}

Background::Step HeldCopy::advance(WorkerGroup* group) {
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
    const std::size_t before = packer_->next_part();
    const RingPacker::Taken next = packer_->at(before);
    if (next.chunk >= open_chunks()) return Background::Step::waits;
    const std::size_t parts = std::max<std::size_t>(bytes_a_turn / next.run->chunks.part_bytes, 1);
    end_of_turn_ = std::min(packer_->parts(), before + parts);
    Status helped(Code::unsupported, "nobody helps");
    if (group != nullptr) {
        const auto job = [this](std::size_t, const std::atomic<bool>& stop) {
            move_parts(stop);
            return Status();
        };
        // No thread is left behind: they end when nothing is open, and then only the memory could keep them.
        helped = group->run_with_caller(job, {1e9, "moving memory"}, plan_.threads);
    }
    if (!helped.ok()) move_parts(stop_);
    if (moved_chunks_ < chunk_count_) {
        return packer_->next_part() == before ? Background::Step::waits : Background::Step::moves;
    }
    rendezvous_->open(static_cast<std::uint32_t>(chunk_count_));
    return leave();
}

void HeldCopy::begin() {
    has_begun_ = true;
    if (packer_ && !to_device() && stages_.size() == 1) packer_->begin_faults();
}

std::size_t HeldCopy::open_chunks() {
    const std::uint32_t reached = rendezvous_->reached();
    const std::size_t crossed = reached == 0 ? 0 : reached - 1;
    return std::min(to_device() ? crossed + slots_.count : crossed, chunk_count_);
}

void HeldCopy::move_parts(const std::atomic<bool>& stop) {
    TimePoint last = now();
    while (!stop && !stop_ && packer_->next_part() < end_of_turn_) {
        // Nothing of it is read from a file, which alone can fail.
        const RingPacker::Moved moved = packer_->move_one(open_chunks(), end_of_turn_).value();
        if (moved == RingPacker::Moved::chunk) publish();
        if (moved != RingPacker::Moved::nothing) {
            last = now();
            continue;
        }
        if (packer_->fault_ahead()) continue;
        if (seconds_between(last, now()) > patience_seconds) return;
        std::this_thread::yield();
    }
}

void HeldCopy::publish() {
    std::size_t moved = moved_chunks_;
    while (moved < chunk_count_ && packer_->is_moved(moved)) {
        if (moved_chunks_.compare_exchange_strong(moved, moved + 1)) ++moved;
    }
    // The last one is for go_on() to tell, when no thread has anything more to do with the memory.
    const std::size_t published = std::min(moved, chunk_count_ - 1);
    if (published != 0) rendezvous_->open(static_cast<std::uint32_t>(published));
}

void HeldCopy::abandon() {
    if (!has_host_part()) return;
    stop_ = true;
    while (!has_left()) std::this_thread::sleep_for(std::chrono::microseconds(50));
    rendezvous_->open(static_cast<std::uint32_t>(chunk_count_) + 1);
}

Background::Step HeldCopy::leave() {
    left_for_good_.store(true, std::memory_order_release);
    return Background::Step::ended;
}

}  // namespace isthmus
