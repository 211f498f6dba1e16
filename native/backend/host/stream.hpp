// Streams, events, gates and rendezvous of the host backend: a thread, a time, and a word to wait for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/host/core.hpp"
#include "backend/host/worker.hpp"
#include "backend/stream.hpp"
#include "base/clock.hpp"

namespace isthmus::host {

// Several may share one worker: a stream, and those that borrow it.
class HostStream final : public Stream {
  public:
    HostStream(std::shared_ptr<Core> core, std::shared_ptr<Worker> worker)
        : core_(std::move(core)), worker_(std::move(worker)) {}
    Status synchronize() override {
        const auto fault = core_->meet("synchronize");
        Status status = worker_->drain();
        if (status.ok() && fails(fault)) return injected(*fault, "synchronize", 0);
        return status;
    }
    std::uintptr_t handle() const override { return reinterpret_cast<std::uintptr_t>(worker_.get()); }
    const std::shared_ptr<Worker>& worker() const { return worker_; }

  private:
    std::shared_ptr<Core> core_;
    std::shared_ptr<Worker> worker_;
};

// When an event passed. It may be recorded anew while streams still wait for what it was recorded behind before.
class Moment {
  public:
    // What pass() and wait() take.
    std::uint64_t record() {
        const std::lock_guard lock(mutex_);
        return ++recorded_;
    }
    // `failure`: what a command before it, on the stream of `worker`, ended with.
    void pass(std::uint64_t record, Status failure, std::weak_ptr<Worker> worker) {
        {
            const std::lock_guard lock(mutex_);
            if (record < passed_) return;  // overtaken on another stream
            passed_ = record;
            failure_ = std::move(failure);
            worker_ = std::move(worker);
            time_ = now();
        }
        changed_.notify_all();
    }
    std::uint64_t last_record() {
        const std::lock_guard lock(mutex_);
        return recorded_;
    }
    void wait(std::uint64_t record) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this, record] { return passed_ >= record; });
    }
    // Who is told of the failure here is not told again by synchronizing the stream.
    Result<bool> has_passed() {
        const std::lock_guard lock(mutex_);
        if (passed_ != recorded_) return false;
        if (failure_.ok()) return true;
        if (const auto worker = worker_.lock()) worker->forgive();
        return failure_.copy();
    }
    TimePoint time() {
        const std::lock_guard lock(mutex_);
        return time_;
    }

  private:
    std::mutex mutex_;  // guards all below
    std::condition_variable changed_;
    std::uint64_t recorded_ = 0, passed_ = 0;
    TimePoint time_;
    Status failure_;
    std::weak_ptr<Worker> worker_;
};

class HostEvent final : public Event {
  public:
    const std::shared_ptr<Moment> moment = std::make_shared<Moment>();
};

// What a worker waits for; opens itself when it is destroyed.
class Barrier {
  public:
    Barrier() : opened_(std::make_shared<std::atomic<bool>>(false)) {}
    ~Barrier() { open(); }
    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;

    void close(Worker& worker) const {
        worker.enqueue([opened = opened_] {
            opened->wait(false);
            return Status();
        });
    }
    void open() const noexcept {
        *opened_ = true;
        opened_->notify_all();
    }

  private:
    std::shared_ptr<std::atomic<bool>> opened_;
};

class HostGate final : public Gate {
  public:
    void close(Worker& worker) const { barrier_.close(worker); }
    Status open() override {
        barrier_.open();
        return {};
    }

  private:
    Barrier barrier_;
};

class HostRendezvous final : public Rendezvous {
  public:
    ~HostRendezvous() override { open(UINT32_MAX); }
    Status wait_for_host(Stream& stream, std::uint32_t count) override {
        static_cast<HostStream&>(stream).worker()->enqueue([counts = counts_, count] {
            for (std::uint32_t now = counts->host; now < count; now = counts->host) counts->host.wait(now);
            return Status();
        });
        return {};
    }
    Status tell_host(Stream& stream, std::uint32_t count) override {
        static_cast<HostStream&>(stream).worker()->enqueue([counts = counts_, count] {
            counts->stream = count;
            return Status();
        });
        return {};
    }
    void open(std::uint32_t count) noexcept override {
        std::uint32_t now = counts_->host;
        while (now < count && !counts_->host.compare_exchange_weak(now, count)) {
        }
        counts_->host.notify_all();
    }
    std::uint32_t reached() noexcept override { return counts_->stream; }

  private:
    struct Counts {
        std::atomic<std::uint32_t> host = 0, stream = 0;
    };
    const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace isthmus::host
