// A copy whose stream is held while threads move memory, without a call of the driver.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/fault_ahead.hpp"
#include "base/worker_group.hpp"
#include "transfer/pieces/chunks.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/staging/background.hpp"
#include "transfer/staging/ring_pool.hpp"

namespace isthmus {

// All its commands are put on one stream up front. From then on threads pack chunks that the stream waits for, or
// unpack those that it has brought, and both sides tell each other how far they are by a rendezvous alone: what a held
// stream waits for must need no driver, which may be busy waiting for that stream, and no command that is given to it
// later.
class HeldCopy {
  public:
    // How the host's part is done. No chunk is larger than `chunk_bytes`.
    struct Plan {
        std::size_t chunk_bytes = 0, threads = 1;
        Stores stores = Stores::ordinary;
    };
    // Without a host's part `rendezvous` may be null.
    HeldCopy(Device& device, std::unique_ptr<Rendezvous> rendezvous, const Plan& plan)
        : device_(device), rendezvous_(std::move(rendezvous)), plan_(plan) {}
    HeldCopy(const HeldCopy&) = delete;
    HeldCopy& operator=(const HeldCopy&) = delete;

    // Before anything is packed: all of the loan but its first `table_bytes` is the ring.
    void use(RingPool::Loan ring, std::size_t table_bytes);
    // What it is made of, in this order; all that is packed goes one way, and what it refers to outlives the copy.
    // `by_kernel`: a kernel moves pieces that lie apart on the device between there and the ring.
    void add_packed(const PackedPieces& pieces, Region table, bool by_kernel);
    // Commands without the host's part.
    void add_commands(std::function<Status(Stream&)> enqueue);
    // The host's part alone, which may call the driver where that keeps nobody waiting.
    void add_host_work(std::function<Status()> work) { host_work_.push_back(std::move(work)); }
    // Until it is destroyed.
    void keep(std::shared_ptr<const void> what) { kept_.push_back(std::move(what)); }
    // Whether the stream waits for threads.
    bool has_host_part() const { return !left_.empty() || !host_work_.empty(); }

    // Once. With a host's part after somebody has begun to call go_on(): a full queue of the device's takes more only
    // when the stream goes on.
    Status enqueue(Stream& stream);
    // The host's part, until there is nothing to do now. One caller at a time, which may have a group help it. Makes no
    // call of the driver, and once it has said that it has ended, does not touch the copy any more.
    Background::Step go_on(WorkerGroup* group);
    // Returns when no thread is at work any more, and lets the stream pass. Precondition: somebody calls go_on() until
    // it has ended.
    void abandon();
    // Whether go_on() has ended.
    bool has_left() const { return left_for_good_.load(std::memory_order_acquire); }
    // After enqueue() has failed, was abandoned, and the stream has been synchronised.
    void settle() {
        if (rendezvous_ != nullptr) rendezvous_->settle();
    }
    // How the host's part went. Precondition: the stream has passed all commands.
    Status status() const { return status_.ok() ? Status() : Status(status_.code(), status_.message()); }

  private:
    struct Stage {
        std::optional<PackedPieces> pieces;  // else commands alone
        std::function<Status(Stream&)> commands;
        PackedInto into;
        bool by_kernel = false;
        Chunks chunks;
        std::size_t first_chunk = 0;
    };
    // What one thread moves at a time.
    struct Piecework {
        std::size_t stage, chunk;
        Part part;
    };
    bool to_device() const { return to_device_; }
    Part staged(Chunks::Range range, const Stage& stage, std::size_t chunk) const;
    // Chunks whose place in the ring is the host's now: all before this one.
    std::size_t open_chunks();
    void begin();
    // Until nothing has been open for a moment.
    void move_parts(const std::atomic<bool>& stop);
    bool move_one_part();
    void publish();
    Background::Step leave();

    Device& device_;
    std::vector<std::shared_ptr<const void>> kept_;
    const std::unique_ptr<Rendezvous> rendezvous_;
    const Plan plan_;
    bool to_device_ = true;
    std::optional<RingPool::Loan> ring_;
    std::size_t slots_begin_ = 0, slots_ = 1;
    std::vector<Stage> stages_;
    std::vector<Piecework> parts_;
    std::vector<std::function<Status()>> host_work_;
    std::deque<std::atomic<std::uint32_t>> left_;  // parts, by chunk
    FaultAhead faults_;
    bool has_begun_ = false;
    Status status_;
    std::atomic<std::size_t> next_part_ = 0;
    std::atomic<std::size_t> end_of_turn_ = 0;
    std::atomic<std::size_t> moved_chunks_ = 0;  // all before this one
    std::atomic<bool> stop_ = false;
    std::atomic<bool> left_for_good_ = false;
};

}  // namespace isthmus
