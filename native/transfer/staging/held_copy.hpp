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

#include "base/worker_group.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/pieces/ring_packer.hpp"
#include "transfer/staging/background.hpp"
#include "transfer/staging/ring_pool.hpp"

namespace isthmus {

// All its commands are put on one stream up front. From then on threads pack chunks that the stream waits for, or
// unpack those that it has brought, and both sides tell each other how far they are by a rendezvous alone: what a held
// stream waits for must need no driver, which may be busy waiting for that stream, and no command that is given to it
// later.
class HeldCopy {
  public:
    // How the host's part is done: no chunk is larger than `chunk_bytes`, and so many fit the ring.
    struct Plan {
        std::size_t chunk_bytes = 0, slots = 1, threads = 1;
        Stores stores = Stores::ordinary;
        KernelBlocks blocks;
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
    // The host's part alone, which may call the driver where no caller waits for that.
    void add_host_work(std::function<Status()> work) { host_work_.push_back(std::move(work)); }
    // Asked how it went when all commands have ended, where nothing else has failed.
    void ask_at_end(std::function<Status()> verdict) { verdict_ = std::move(verdict); }
    // Until it is destroyed.
    void keep(std::shared_ptr<const void> what) { kept_.push_back(std::move(what)); }
    // Nothing is added any more.
    void complete();
    // Whether the stream waits for threads.
    bool has_host_part() const { return !runs_.empty() || !host_work_.empty(); }

    // Once. With a host's part after somebody has begun to call go_on(): a full queue of the device's takes more only
    // when the stream goes on.
    Status enqueue(Stream& stream);
    // The host's part, until there is nothing to do now. One caller at a time, which may have a group help it. Makes no
    // call of the driver, and once it has said that it has ended, does not touch the copy any more.
    Background::Step go_on(WorkerGroup* group) noexcept;
    // Returns when no thread is at work any more, and lets the stream pass. Precondition: somebody calls go_on() until
    // it has ended.
    void abandon();
    // Whether go_on() has ended.
    bool has_left() const { return left_for_good_.load(std::memory_order_acquire); }
    // After enqueue() has failed, was abandoned, and the stream has been synchronised.
    void settle() {
        if (rendezvous_ != nullptr) rendezvous_->settle();
    }
    // How it went. Precondition: the stream has passed all commands.
    Status status() const { return status_.ok() && verdict_ ? verdict_() : status_.copy(); }

  private:
    // Commands alone, or a run of chunks.
    struct Stage {
        std::function<Status(Stream&)> commands;  // none where chunks are packed
        std::size_t run = 0;
        PackedInto into;
        bool by_kernel = false;
    };
    bool to_device() const { return to_device_; }
    // Chunks whose place in the ring is the host's now: all before this one.
    std::size_t open_chunks();
    void begin();
    Background::Step advance(WorkerGroup* group);
    // Until nothing has been open for a moment.
    void move_parts(const std::atomic<bool>& stop);
    // Tells the stream of chunks whose parts were all moved.
    void publish();
    Background::Step leave();

    Device& device_;
    std::vector<std::shared_ptr<const void>> kept_;
    const std::unique_ptr<Rendezvous> rendezvous_;
    const Plan plan_;
    bool to_device_ = true;
    std::optional<RingPool::Loan> ring_;
    RingPacker::Slots slots_;
    std::vector<Stage> stages_;
    std::deque<PackedPieces> pieces_;
    std::vector<PackedRun> runs_;
    std::size_t chunk_count_ = 0;            // in all runs
    std::vector<RingPacker::Count> counts_;  // by chunk
    std::optional<RingPacker> packer_;       // none where nothing is packed
    std::vector<std::function<Status()>> host_work_;
    bool has_begun_ = false;
    Status status_;
    std::function<Status()> verdict_;
    std::atomic<std::size_t> end_of_turn_ = 0;
    std::atomic<std::size_t> moved_chunks_ = 0;  // all before this one
    std::atomic<bool> stop_ = false;
    std::atomic<bool> left_for_good_ = false;
};

}  // namespace isthmus
