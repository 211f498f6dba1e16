// Streams, the moments on them, and what holds them back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/status.hpp"

namespace isthmus {

// Commands on one stream run in order; commands on different streams may overlap.
class Stream {
  public:
    virtual ~Stream() = default;
    // Returns when everything enqueued before has ended; the failure of any of it is reported here at the latest.
    virtual Status synchronize() = 0;
    // Fails with unsupported while the driver takes nothing for it: CUDA's default stream, which streams that record a
    // graph may wait for. What that would record it would lose.
    virtual Status check_usable() const { return {}; }
    // What Device::borrow_stream takes: CUstream, cl_command_queue.
    virtual std::uintptr_t handle() const = 0;
    // Tells it from all other streams of the process, also from one that had its handle before it. Nothing where the
    // driver does not say, or where each thread means another stream by it.
    virtual std::optional<std::uint64_t> identity() const { return std::nullopt; }
};

// How what was enqueued went: also after a failure what came before it may be in flight, and is waited for.
Status synchronized(Status enqueued, Stream& stream);

// A moment on a stream.
class Event {
  public:
    virtual ~Event() = default;
};

// Two counts by which a stream and threads of the host wait for each other, for as long as it takes. Where the hardware
// reads and writes the counts (CUDA), the host's side makes no call of the driver, which may keep others waiting while
// a stream is held. Lets the stream pass when it is destroyed.
class Rendezvous {
  public:
    virtual ~Rendezvous() = default;
    // Commands for one stream, by one thread. What the stream is given from now on begins when the host has come to
    // `count`; and the stream has come to `count`, as the host sees when all before it has ended. Both counts grow from
    // 1 on, and the last command is tell_host.
    virtual Status wait_for_host(Stream& stream, std::uint32_t count) = 0;
    virtual Status tell_host(Stream& stream, std::uint32_t count) = 0;
    // From any thread, with any device current: the host has come to `count`.
    virtual void open(std::uint32_t count) noexcept = 0;
    // What the stream has come to; 0 at first.
    virtual std::uint32_t reached() noexcept = 0;
    // All that the stream was given has ended, though it could not be told to say so.
    virtual void settle() noexcept {}
};

// Keeps what a stream was given after it from beginning until it is opened. Unlike a gate it takes no time of the
// device, waits as long as it takes, and the host may do anything meanwhile. Opens itself when it is destroyed.
class Latch {
  public:
    explicit Latch(std::unique_ptr<Rendezvous> with) : rendezvous_(std::move(with)) {}
    // From any thread, with any device current.
    void open() noexcept { rendezvous_->open(1); }

  private:
    std::unique_ptr<Rendezvous> rendezvous_;
};

// Holds streams back until it is opened, so that a queue can be filled before the first command runs. Opens itself
// when it is destroyed. No command that blocks the host (a pageable copy, an allocation) may be enqueued behind a
// closed gate.
class Gate {
  public:
    virtual ~Gate() = default;
    virtual Status open() = 0;
    // Whether it opened by itself because the host took too long; known once its streams were synchronised.
    virtual bool gave_up() const { return false; }
};

}  // namespace isthmus
