// The session behind the interface.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "transfer/links/links.hpp"
#include "transfer/links/stream_pool.hpp"
#include "transfer/pinned/pinned_pool.hpp"
#include "transfer/pinned/pinned_range.hpp"
#include "transfer/session/async_copy.hpp"
#include "transfer/session/chooser.hpp"
#include "transfer/session/copy_job.hpp"
#include "transfer/session/mover.hpp"
#include "transfer/session/resolver.hpp"
#include "transfer/session/session.hpp"
#include "transfer/staging/background.hpp"
#include "transfer/staging/held_copy.hpp"
#include "transfer/staging/ring_pool.hpp"
#include "transfer/staging/staging_lane.hpp"

namespace isthmus {

class RowLaunch;

// A stream's queue holds about a thousand; when it is full, the caller that gives it more waits for the device.
inline constexpr std::size_t most_commands = 128;

inline std::size_t parts_of(std::size_t bytes, std::size_t most_bytes) {
    return std::min((bytes + most_bytes - 1) / most_bytes, most_commands);
}

class SessionImpl final : public Session {
  public:
    SessionImpl(std::shared_ptr<Device> device, SessionOptions options, Paths paths, TransferTable table,
                std::size_t threads);
    ~SessionImpl() override;

    Outcome copy(const ArrayView& destination, const ArrayView& source, std::optional<std::uintptr_t> stream) override;
    Outcome copy_bytes(const BatchPiece& piece, Sides sides, std::optional<std::uintptr_t> stream) override;
    Outcome copy_batch(const Batch& batch, Sides sides, std::optional<std::uintptr_t> stream) override;
    Outcome copy_from_file(const ArrayView& destination, const FileRange& file,
                           std::optional<std::uintptr_t> stream) override;
    Result<std::shared_ptr<CopyHandle>> copy_async(const ArrayView& destination, const ArrayView& source,
                                                   std::optional<std::uintptr_t> stream,
                                                   std::shared_ptr<const void> keep) override;
    Result<std::shared_ptr<CopyHandle>> copy_batch_async(const Batch& batch, Sides sides,
                                                         std::optional<std::uintptr_t> stream,
                                                         std::shared_ptr<const void> keep) override;
    Result<bool> enqueue_divided(const BatchPiece& piece, Sides sides, std::uintptr_t stream) override;
    Outcome copy_rows(const RowCopy& copy, std::optional<std::uintptr_t> stream) override;
    Result<std::shared_ptr<CopyHandle>> copy_rows_async(const RowCopy& copy, std::optional<std::uintptr_t> stream,
                                                        std::shared_ptr<const void> keep) override;
    Result<Explanation> explain(const ArrayView& destination, const ArrayView& source) override;
    Result<Explanation> explain_batch(const Batch& batch, Sides sides) override;
    Result<PinnedBlock> pinned(std::size_t bytes) override;
    Result<PinnedRange> pin(std::uintptr_t address, std::size_t bytes) override;
    std::size_t pinned_pool_bytes() const override { return pool_->held_bytes(); }
    Result<Explanation> explain_rows(const RowCopy& copy) override;

    bool has_own_link_alone() const override { return neighbours_->is_own(); }
    bool divides(bool to_device, std::size_t bytes) override;
    Device& device() override { return *device_; }
    const TransferTable& table() const override { return table_; }
    std::size_t pinned_bytes() const override {
        return lanes_[0].pinned_bytes() + lanes_[1].pinned_bytes() + rings_[0]->pinned_bytes() +
               rings_[1]->pinned_bytes();
    }
    bool is_closed() const override { return closed_; }
    std::size_t pinned_budget_bytes() const override { return budget_; }
    std::vector<std::pair<std::string, std::size_t>> links_taken() override;
    Status trim() override;
    Status close() override;

    // Gets what every copy needs, once.
    Status prepare();

  private:
    // A call that is in flight: close() waits for it. No call enters once the session is closed, or after a fork.
    class Call {
      public:
        explicit Call(SessionImpl& session);
        ~Call();
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;
        Status status() const;

      private:
        SessionImpl& session_;
        const bool forked_;
        bool open_ = false;
    };

    Result<Order> order_of(std::optional<std::uintptr_t> stream);
    // For a copy that the other device has a part in: default streams are those of both, any other belongs to one of
    // them.
    Result<Order> order_of(std::optional<std::uintptr_t> stream, Device& other);
    // Makes what `stream` is given from now on begin after what the other device's stream holds.
    Status follow(Stream& stream, Device& other, Stream& others);

    StagingLane& lane(bool to_device) { return lanes_[to_device ? 0 : 1]; }
    const StagingLane& lane(bool to_device) const { return lanes_[to_device ? 0 : 1]; }
    Links& links(bool to_device) { return links_[to_device ? 0 : 1]; }

    // A job, and how it goes.
    struct Task {
        std::shared_ptr<CopyJob> job;
        Choice choice;
    };
    struct Pending;
    std::vector<Task> tasks_of(const std::vector<std::shared_ptr<CopyJob>>& jobs);
    Result<std::shared_ptr<CopyHandle>> begin(std::vector<Task> tasks, Order& order, std::shared_ptr<const void> keep);
    Result<std::shared_ptr<CopyHandle>> begin(std::shared_ptr<RowLaunch> rows, Order& order,
                                              std::shared_ptr<const void> keep);
    Result<std::shared_ptr<CopyHandle>> begin(const std::shared_ptr<Pending>& pending, Order& order);
    // How many commands of a stream it is; 0 where it is more than commands. Whether a stream can hold those of all
    // tasks, and puts one's there.
    std::size_t commands_of(const Task& task) const;
    bool can_enqueue(const std::vector<Task>& tasks) const;
    Status enqueue(Stream& stream, const Task& task);
    // By commands on a stream alone, which leaves it to begin_held() where the device cannot do them by few; or by
    // commands that wait for threads.
    Status begin_on_stream(Stream& stream, Pending& pending);
    Status begin_held(Stream& stream, Pending& pending);
    // Such a copy of all tasks. For want of page-locked memory by the driver's own copies, which may take the caller's
    // time.
    Result<std::shared_ptr<HeldCopy>> held_copy(const std::vector<Task>& tasks);
    std::shared_ptr<HeldCopy> held_rows(std::shared_ptr<RowLaunch> rows);
    Result<std::shared_ptr<HeldCopy>> without_ring(const std::vector<Task>& tasks, Status why);
    Result<std::unique_ptr<Rendezvous>> rendezvous();
    // How a task takes part in it: by commands alone, by a kernel that is given offsets, through the ring, or by the
    // host alone.
    enum class Share { commands, tabled, packed, host };
    Share share_of(const Task& task) const;
    Status enqueue_plain(Stream& stream, const CopyJob& job);
    // Without gaps, as copies of no more than so many bytes each, and what of it goes by other devices, where that
    // gains.
    Status enqueue_parts(Stream& stream, const Region& destination, const Region& source, std::size_t most_bytes);
    Status enqueue_divided(Stream& stream, Links::Use& links, const Region& destination, const Region& source,
                           std::size_t most_bytes);
    Result<Stream*> own_stream();

    // A thread that moves memory for held copies, and others that help it with large ones. None of them calls the
    // driver.
    struct Packer {
        Background thread{std::chrono::microseconds(50)};
        std::unique_ptr<WorkerGroup> group;

        // In the child of a fork: never freed, as there are no threads.
        void forget() {
            thread.forget();
            static_cast<void>(group.release());
        }
    };
    // Small copies have threads of their own, so that none of them waits for a large one.
    Result<Packer*> packer(bool to_device, bool large);
    bool watch(Pending& pending);
    // What no copy uses.
    void give_back();

    Outcome launch(RowLaunch& rows, const Order& order);

    const std::shared_ptr<Device> device_;
    const SessionOptions options_;
    const std::size_t budget_;
    const TransferTable table_;
    const KernelBlocks blocks_;
    const std::size_t threads_;
    const unsigned generation_;                  // of the process: forks so far
    std::array<std::size_t, 2> first_staged_{};  // by direction: from this size on, memory is asked about
    std::unique_ptr<Stream> default_stream_;     // null where there is none
    StreamPool streams_;
    std::array<StagingLane, 2> lanes_;
    const std::shared_ptr<Neighbours> neighbours_;
    std::array<Links, 2> links_;
    Chooser chooser_;
    Mover mover_;
    const std::array<std::shared_ptr<RingPool>, 2> rings_;
    Resolver resolver_;
    std::shared_ptr<PinnedPool> pool_;  // of callers
    std::array<Packer, 4> packers_;
    // Sees when copies have ended, and lets go of what they kept, which may take the caller's locks and the driver's.
    Background watcher_{std::chrono::microseconds(500)};
    std::atomic<std::size_t> calls_ = 0;
    std::atomic<bool> closed_ = false;
    std::mutex async_mutex_;              // guards what follows, and the start of groups
    std::unique_ptr<Stream> own_stream_;  // of asynchronous commands that have none of the caller's
    // How many failures are remembered until the session is closed; there is room for them from the beginning.
    static constexpr std::size_t most_failed = 16;
    std::vector<std::shared_ptr<AsyncCopy>> failed_;
};

}  // namespace isthmus
