// One timed case: copies between devices, one or several at the same time, on the devices' clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiment/timed.hpp"

namespace isthmus::experiment {

struct PeerLane : Lane {
    bool is_read = false;  // the device with the destination copies, not the one with the source
};

struct PeerPlan {
    std::size_t bytes = 0;   // of each lane
    std::size_t copies = 1;  // of each lane in one sample, one behind the other: at most, fewer where these take long
    bool by_kernel = false;  // else by copy engines
};

class PeerCopies : public Timed {
  public:
    // Fails with unsupported where a device that copies does not reach the other one's memory.
    static Result<std::unique_ptr<PeerCopies>> create(PeerPlan plan, std::vector<PeerLane> lanes);

    // device_seconds of one copy, the mean of a sample's, on the clock of the device that copies: from the common start
    // until the last lane has ended, and of each lane by itself. As nvbandwidth has it: gates hold all streams until
    // everything is queued, a few copies warm up, then all lanes start at one event and make their copies. Where the
    // driver takes copies through the host there are no gates, since it may let the caller wait.
    Result<Samples> run(std::size_t warmups, Quota quota) override;

  private:
    struct Track {
        PeerLane lane;
        OpenDevice* session = nullptr;  // whose stream copies
        Region destination, source;
        std::unique_ptr<Stream> stream;
        std::unique_ptr<Event> start, stop;
        Device& device() const { return session->device(); }
    };

    PeerCopies(PeerPlan plan, bool gates_work) : plan_(plan), gates_work_(gates_work) {}
    static Result<Track> prepare(PeerLane lane, const PeerPlan& plan);
    // Streams and events are had for a run alone: hundreds of cases would otherwise hold thousands.
    Status begin();
    void end(bool is_idle);
    Status connect();
    Status copy_each();
    Status ended(Status status);
    Result<Samples> run_begun(std::size_t warmups, Quota quota);
    Status copy(const Track& track, std::size_t times) const;
    Status close(std::vector<std::unique_ptr<Gate>>& gates);
    Status enqueue();
    Status sample(Samples& samples);

    const PeerPlan plan_;
    bool gates_work_;
    std::size_t copies_ = 0;  // of a sample; 0 before the devices are connected
    std::vector<Track> tracks_;
    std::unique_ptr<Event> all_ended_;  // on the first lane's stream
};

}  // namespace isthmus::experiment
