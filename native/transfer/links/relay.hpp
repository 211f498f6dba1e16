// A link over another device, for one direction: a chunk crosses that device's link to memory there, and goes on over
// what joins the two devices; or the reverse.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "backend/device.hpp"
#include "backend/region.hpp"
#include "backend/stream.hpp"
#include "base/clock.hpp"
#include "transfer/links/pace.hpp"

namespace isthmus {

// Used by one copy at a time.
class Relay {
  public:
    // Memory of the neighbour, in which the slots are.
    static constexpr std::size_t memory_bytes = std::size_t{32} << 20;
    static constexpr std::size_t most_slots = 4;
    // A link that carries others' bytes in the other direction takes longer by more than this.
    static constexpr double most_times_alone = 1.12;
    // What a look copies, and in how many copies.
    static constexpr std::size_t look_bytes = std::size_t{8} << 20, look_copies = 8;

    // Takes nothing of the neighbour until it is first prepared.
    Relay(std::shared_ptr<Device> own, std::shared_ptr<Device> neighbour, bool to_device, double seconds_per_byte)
        : own_(std::move(own)),
          neighbour_(std::move(neighbour)),
          to_device_(to_device),
          pace_(seconds_per_byte),
          quickest_look_(pace_.seconds_alone(look_bytes) + Pace::idle_latency_seconds) {}
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    Device& neighbour() { return *neighbour_; }
    Pace& pace() { return pace_; }
    // Memory, streams and events on the neighbour, once.
    Status prepare();
    // For chunks of no more than so many bytes. Precondition: prepared, and nothing is in flight.
    void begin(std::size_t chunk_bytes);
    // Streams of the neighbour that are held may keep all copies between it and the host from beginning, for as long as
    // they are: a copy that waits for its chunks sends none before a few bytes, which belong to no copy, have arrived.
    Status ask();
    bool answers();
    // It was asked a moment ago.
    bool may_soon_answer() const;
    // Asks whether others use the link, by some copies of the same little memory. Does not wait.
    Status look();
    TimePoint looked_at() const { return looked_at_; }
    // It was asked so a moment ago and has not answered. Later it may never: its device's streams may be held.
    bool may_soon_answer_look() const;
    bool has_look_under_way() const { return is_looking_; }
    // What came of that: whether it took at most so many times as long as the quickest. Nothing until it has ended.
    std::optional<bool> is_free(double most_times);
    bool has_slot() const { return sent_ - arrived_ < most_slots; }
    std::size_t under_way() const { return sent_ - arrived_; }

    // Enqueues both hops of a chunk. Precondition: has_slot().
    Status send(std::size_t chunk, const Region& destination, const Region& source);
    // The oldest chunk, if it has arrived since it was asked last.
    // `most_times`: see Pace::arrived().
    Result<std::optional<std::size_t>> receive(double most_times);
    // The oldest chunk in flight, which counts as arrived from now on.
    std::size_t take_back();
    // Returns when no chunk that was sent is in flight, whatever has failed.
    Status drain();

    // Whether what was queued last has ended; or what `stream` is given now begins after it, and the queues
    // have room for so many chunks more, so that nothing waits for it.
    bool is_free_for(Stream* stream, std::size_t chunks);
    // Takes the time of what was queued last, if it has ended, and is then none the wiser until the next.
    // `most_times`: see Pace::arrived().
    void take_time(double most_times);
    // Whether it may be given what waits for a stream. That keeps two of the queues by which a device copies, of which
    // it may have but four: over one neighbour, one relay of the process at a time. Until end_queue() or release().
    bool reserve();
    void release() { is_reserved_ = false; }
    // The same of many chunks, after `reached`, which was recorded on a stream of the own device: begun, then chunk by
    // chunk, then ended. join() makes what that stream is given from now on begin when they have arrived. None waits.
    // Precondition: is_free_for() the stream, and reserve(). The stream may end right afterwards.
    Status begin_queue(Event& reached);
    Status queue(const Region& destination, const Region& source);
    Status end_queue(Stream& stream);
    Status join(Device& own, Stream& stream);
    // After one of these failed: the same as join() of whatever was queued; returns when that has ended if even that
    // fails.
    void leave(Device& own, Stream& stream);

    // Bytes that have gone over it, queued ones too, since this was asked last.
    std::size_t take_carried() { return std::exchange(carried_, 0); }

    // In the child of a fork: lets go without calling the driver.
    void forget();

  private:
    class Waiting;
    Result<bool> has_ended();
    bool may_wait();
    Status synchronize();
    Status follow_both(Device& own, Stream& stream);
    // Enqueues both hops of a chunk, through a slot that is free by then. Precondition: the neighbour is bound.
    Status pass_on(std::size_t index, const Region& destination, const Region& source);
    struct Sent {
        std::size_t chunk = 0, bytes = 0;
        TimePoint at;
        bool was_idle = true;
    };
    Region slot(std::size_t index, std::size_t bytes) const { return {memory_.get(), index * slot_bytes_, bytes}; }

    const std::shared_ptr<Device> own_, neighbour_;
    const bool to_device_;
    Pace pace_;
    std::unique_ptr<Allocation> memory_, asked_host_, asked_own_;
    std::unique_ptr<Event> answer_, look_begun_, look_ended_;
    bool is_looking_ = false;
    TimePoint looked_at_{};
    double quickest_look_;               // in seconds
    std::optional<TimePoint> asked_at_;  // unless it has answered since
    std::unique_ptr<Stream> in_, out_;
    std::array<std::unique_ptr<Event>, most_slots> filled_, emptied_;
    // The copy that was queued last: it has begun, its first chunk has arrived, and all of it has.
    std::unique_ptr<Event> begun_, first_, ended_;
    std::optional<std::uint64_t> stream_;          // in whose order that is, where it can be told
    std::size_t bytes_ = 0;                        // of that; 0 before
    std::size_t first_bytes_ = 0;                  // of its first chunk
    std::size_t queued_chunks_ = 0;                // since nothing was in flight
    std::size_t next_chunk_ = 0, next_bytes_ = 0;  // of the copy that is being queued
    bool is_timed_ = true;                         // its time was taken
    bool is_mapped_ = false;                       // a copy that was queued has ended
    std::atomic<bool> is_reserved_ = false;        // and begun_ not recorded since
    bool is_listed_ = false;                       // among those that may wait, or was
    std::size_t slot_bytes_ = 0;
    std::array<Sent, most_slots> chunks_;
    std::size_t sent_ = 0, arrived_ = 0;
    std::size_t carried_ = 0;
};

}  // namespace isthmus
