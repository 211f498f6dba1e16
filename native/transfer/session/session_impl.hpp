// The session behind the interface.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "backend/device.hpp"
#include "transfer/links/links.hpp"
#include "transfer/links/stream_pool.hpp"
#include "transfer/pinned/pinned_pool.hpp"
#include "transfer/pinned/pinned_range.hpp"
#include "transfer/session/chooser.hpp"
#include "transfer/session/mover.hpp"
#include "transfer/session/resolver.hpp"
#include "transfer/session/session.hpp"
#include "transfer/session/starter.hpp"
#include "transfer/staging/ring_pool.hpp"
#include "transfer/staging/staging_lane.hpp"

namespace isthmus {

class RowLaunch;

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
        explicit Call(SessionImpl& session, std::shared_ptr<const void> keep = nullptr);
        ~Call();
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;
        Status status() const;

      private:
        const std::shared_ptr<const void> keep_;  // let go last
        SessionImpl& session_;
        const bool forked_;
        bool open_ = false;
    };
    // Likewise, with the device current for the calling thread.
    class BoundCall {
      public:
        explicit BoundCall(SessionImpl& session) : call_(session), status_(call_.status()) {
            if (!status_.ok()) return;
            binding_.emplace(*session.device_);
            status_ = binding_->status();
        }
        Status status() { return std::move(status_); }

      private:
        const Call call_;
        std::optional<Binding> binding_;
        Status status_;
    };

    Result<Order> order_of(std::optional<std::uintptr_t> stream);
    // For a copy that the other device has a part in: default streams are those of both, any other belongs to one of
    // them.
    Result<Order> order_of(std::optional<std::uintptr_t> stream, Device& other);
    // The session as a copy that was begun has it: it stays, and close() waits, until this is let go.
    std::shared_ptr<const void> in_use();

    Links& links(bool to_device) { return links_[to_device ? 0 : 1]; }

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
    Starter starter_;
    std::shared_ptr<PinnedPool> pool_;  // of callers
    std::atomic<std::size_t> calls_ = 0;
    std::atomic<bool> closed_ = false;
};

}  // namespace isthmus
