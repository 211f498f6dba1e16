// One timed case: bytes that go in one direction, or in both at once, again and again.
#pragma once

#include <memory>
#include <vector>

#include "base/names.hpp"
#include "experiment/timed.hpp"

namespace isthmus {
struct LinkReading;  // backend/device_info.hpp
}

namespace isthmus::experiment {

ISTHMUS_ENUM(Method,
             copy,      // the driver's copy between a host kind and device memory
             kernel,    // a kernel that reads or writes mapped memory
             prefetch,  // migration of managed memory
             isthmus)   // the library's own copy between a host kind and device memory; on the host's clock alone

ISTHMUS_ENUM(Direction, h2d, d2h)

// One direction of a transfer. For prefetch `memory` is the managed buffer and `device` is empty. For a copy between
// devices `memory` is the source, on its device, and the direction is h2d.
struct TimedLane {
    Direction direction;
    std::shared_ptr<Buffer> memory;
    std::shared_ptr<Buffer> device;
};

class TimedTransfer : public Timed {
  public:
    // `bytes` of each lane's buffers, from `offset` on. One lane, or an h2d and a d2h lane. The h2d lane's source holds
    // the pattern of `seed`, the d2h lane's that of `seed` + 1.
    // `untouched`: the pages of ordinary memory that is copied to are as if never touched before each transfer.
    // `from_caches` leaves in the CPU's caches what earlier transfers left there. `copies`, of the same device, makes
    // those of Method::isthmus; without it a session of the device's own link does.
    static Result<std::unique_ptr<TimedTransfer>> create(Method method, std::vector<TimedLane> lanes,
                                                         std::size_t offset, std::size_t bytes, std::uint64_t seed,
                                                         bool from_caches = false, bool untouched = false,
                                                         std::shared_ptr<Session> copies = nullptr);

    // For managed memory, which is its own destination, draws new contents.
    Status poison() override;
    // host_seconds from before the call to the end of the last byte, enqueue_seconds until the call returned, and on
    // the device's clock, between events around the transfer, device_seconds and those of each lane, if there are two.
    // Where the CPU takes part in the copy, the host's side is evicted from its caches before each, unless the caches
    // are meant to help. Long transfers (at least a millisecond) yield host and device times in one pass; short ones in
    // two, as the events would be part of the host's time, and with a gate that holds the stream back until all is
    // queued, as the queueing would be part of the device's.
    Result<Samples> run(std::size_t warmups, Quota quota) override;
    Result<std::vector<Mismatch>> verify() override;

  private:
    struct Track {
        TimedLane lane;
        Region memory;
        Region device;
        Side side = Side::host;  // prefetch: where the pages are now
        Stream* stream = nullptr;
        Event* start = nullptr;
        Event* stop = nullptr;
    };

    TimedTransfer(Method method, std::shared_ptr<OpenDevice> session, std::size_t bytes, bool from_caches);
    Device& device() { return session_->device(); }
    Status add(TimedLane lane, std::size_t offset, std::size_t bytes, std::uint64_t seed);
    Status enqueue(Track& track);
    Status prepare_sample();
    Result<Samples> run_tracks(Quota quota, bool host, bool device_time);
    Status sample_tracks(Samples& samples, bool host, bool device_time);
    Result<Samples> run_threads(Quota quota, bool device_time);
    Status add_device_times(Samples& samples);

    Method method_;
    std::shared_ptr<OpenDevice> session_;
    std::vector<Track> tracks_;
    bool blocks_ = false;  // enqueueing occupies the calling thread, so that two directions need two threads
    // The CPU takes part in the copy, so its caches must not hold the host's side; what is larger evicts itself.
    bool evicts_ = false;
    bool from_caches_;
    bool untouched_ = false;
    std::shared_ptr<Session> copies_;  // of Method::isthmus
    bool gates_work_ = true;
    double last_seconds_;  // of the latest transfer
};

// Keeps the link busy for a moment and reads its state meanwhile; idle links train down to save power.
Result<LinkReading> read_link_under_load(Buffer& memory, Buffer& device);

}  // namespace isthmus::experiment
