// Streams, events and gates of the host backend: a thread, a time, and a word to wait for.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "backend/backend.hpp"
#include "backend/host/core.hpp"
#include "backend/host/worker.hpp"
#include "base/clock.hpp"

namespace isthmus::host {

class HostStream final : public Stream {
  public:
    explicit HostStream(std::shared_ptr<Core> core) : core_(std::move(core)) {}
    Status synchronize() override {
        const auto fault = core_->meet("synchronize");
        Status status = worker_.drain();
        if (status.ok() && fails(fault)) return injected(*fault, "synchronize", 0);
        return status;
    }
    Worker& worker() { return worker_; }

  private:
    std::shared_ptr<Core> core_;
    Worker worker_;
};

class HostEvent final : public Event {
  public:
    std::shared_ptr<std::atomic<TimePoint>> time = std::make_shared<std::atomic<TimePoint>>();
};

class HostGate final : public Gate {
  public:
    HostGate() : opened_(std::make_shared<std::atomic<bool>>(false)) {}
    ~HostGate() override { release(); }
    Status open() override {
        release();
        return {};
    }
    void close(Worker& worker) const {
        worker.enqueue([opened = opened_] {
            opened->wait(false);
            return Status();
        });
    }

  private:
    void release() const {
        *opened_ = true;
        opened_->notify_all();
    }
    std::shared_ptr<std::atomic<bool>> opened_;
};

}  // namespace isthmus::host
