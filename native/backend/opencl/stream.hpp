// Streams, events, gates and rendezvous of the OpenCL backend.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/device.hpp"
#include "backend/opencl/context.hpp"

namespace isthmus::opencl {

// An in-order queue, with the buffer that checks count in.
class ClStream final : public Stream {
  public:
    static Result<std::unique_ptr<ClStream>> create(std::shared_ptr<SharedContext> context);
    // As Device::borrow_stream.
    static Result<std::unique_ptr<ClStream>> borrow(std::shared_ptr<SharedContext> context, std::uintptr_t handle);
    ~ClStream() override;
    Status synchronize() override;
    std::uintptr_t handle() const override { return reinterpret_cast<std::uintptr_t>(queue_); }
    Queue get() const { return queue_; }
    // VerifyResult, made when it is first needed.
    Result<Region> result();

  private:
    enum class Owner { this_object, caller };
    ClStream(std::shared_ptr<SharedContext> context, Queue queue, Owner owner)
        : context_(std::move(context)), queue_(queue), owner_(owner) {}
    std::shared_ptr<SharedContext> context_;
    Queue queue_;  // retained, if it is a caller's
    Owner owner_;
    std::unique_ptr<Allocation> result_;
};

class ClEvent final : public isthmus::Event {
  public:
    explicit ClEvent(std::shared_ptr<SharedContext> context) : context_(std::move(context)) {}
    ~ClEvent() override { replace(nullptr); }
    void replace(opencl::Event event);
    opencl::Event get() const { return event_; }

  private:
    std::shared_ptr<SharedContext> context_;
    opencl::Event event_ = nullptr;
};

// A user event that queues wait for. Completes when it is destroyed.
class Barrier {
  public:
    static Result<std::unique_ptr<Barrier>> create(std::shared_ptr<SharedContext> context);
    ~Barrier();
    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;

    Status close(Queue queue) const;
    Status open();

  private:
    Barrier(std::shared_ptr<SharedContext> context, Event event) : context_(std::move(context)), event_(event) {}
    std::shared_ptr<SharedContext> context_;
    Event event_;
    std::atomic<bool> opened_ = false;
};

class ClGate final : public Gate {
  public:
    explicit ClGate(std::unique_ptr<Barrier> barrier) : barrier_(std::move(barrier)) {}
    Status open() override { return barrier_->open(); }

  private:
    std::unique_ptr<Barrier> barrier_;
};

// A user event for each count that a queue waits for, and a marker for each that it tells.
class ClRendezvous final : public Rendezvous {
  public:
    explicit ClRendezvous(std::shared_ptr<SharedContext> context) : context_(std::move(context)) {}
    Status wait_for_host(Stream& stream, std::uint32_t count) override;
    Status tell_host(Stream& stream, std::uint32_t count) override;
    void open(std::uint32_t count) noexcept override;
    std::uint32_t reached() noexcept override;

  private:
    std::shared_ptr<SharedContext> context_;
    std::mutex mutex_;  // guards what follows
    std::uint32_t opened_ = 0, reached_ = 0;
    std::deque<std::pair<std::uint32_t, std::unique_ptr<Barrier>>> awaited_;
    std::deque<std::pair<std::uint32_t, std::unique_ptr<ClEvent>>> told_;
};

// What `queue` is given from now on begins after `event`.
Status enqueue_barrier(const Api& api, Queue queue, Event event);

}  // namespace isthmus::opencl
