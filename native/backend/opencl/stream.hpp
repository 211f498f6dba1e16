// Streams, events and gates of the OpenCL backend.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/opencl/context.hpp"

namespace isthmus::opencl {

// An in-order queue, with the buffer that checks count in.
class ClStream final : public Stream {
  public:
    static Result<std::unique_ptr<ClStream>> create(std::shared_ptr<SharedContext> context);
    ~ClStream() override;
    Status synchronize() override;
    Queue get() const { return queue_; }
    Buffer result() const { return result_; }

  private:
    ClStream(std::shared_ptr<SharedContext> context, Queue queue) : context_(std::move(context)), queue_(queue) {}
    std::shared_ptr<SharedContext> context_;
    Queue queue_;
    Buffer result_ = nullptr;
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

// A user event that queues wait for.
class ClGate final : public Gate {
  public:
    ClGate(std::shared_ptr<SharedContext> context, Event event) : context_(std::move(context)), event_(event) {}
    ~ClGate() override;
    Status open() override;

  private:
    std::shared_ptr<SharedContext> context_;
    Event event_;
    bool opened_ = false;
};

}  // namespace isthmus::opencl
