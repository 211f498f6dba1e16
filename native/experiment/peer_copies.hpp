// One timed case: copies between devices, one or several at the same time, on the devices' clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiment/buffer.hpp"
#include "experiment/quota.hpp"

namespace isthmus::experiment {

// One of the copies that run at once. At least one side is device memory.
struct PeerLane {
    std::string name;  // for messages, such as cuda:0 to cuda:1
    std::shared_ptr<Buffer> source, destination;
    std::uint64_t seed = 0;  // the source holds the pattern of this seed
    bool is_read = false;    // the device with the destination copies, not the one with the source
};

struct PeerPlan {
    std::size_t bytes = 0;   // of each lane
    std::size_t copies = 1;  // of each lane in one sample, one behind the other: at most, fewer where these take long
    bool by_kernel = false;  // else by copy engines
};

// Seconds of one copy, the mean of a sample's, on the clock of the device that copies.
struct PeerSamples {
    std::vector<double> all;                 // from the common start until the last lane has ended
    std::vector<std::vector<double>> lanes;  // each lane by itself
};

class PeerCopies {
  public:
    PeerCopies(const PeerCopies&) = delete;
    PeerCopies& operator=(const PeerCopies&) = delete;

    // Fails with unsupported where a device that copies does not reach the other one's memory.
    static Result<std::unique_ptr<PeerCopies>> create(PeerPlan plan, std::vector<PeerLane> lanes);

    // Overwrites the destinations.
    Status poison();
    // As nvbandwidth has it: gates hold all streams until everything is queued, a few copies warm up, then all lanes
    // start at one event and make their copies. Where the driver takes copies through the host there are no gates,
    // since it may let the caller wait. Samples of `warmups` are not kept.
    Result<PeerSamples> run(std::size_t warmups, Quota quota);
    // What arrived, lane by lane.
    Result<std::vector<Mismatch>> verify();

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
    Result<PeerSamples> run_begun(std::size_t warmups, Quota quota);
    Status copy(const Track& track, std::size_t times) const;
    Status close(std::vector<std::unique_ptr<Gate>>& gates);
    Status enqueue();
    Status sample(PeerSamples& samples);

    const PeerPlan plan_;
    bool gates_work_;
    std::size_t copies_ = 0;  // of a sample; 0 before the devices are connected
    std::vector<Track> tracks_;
    std::unique_ptr<Event> all_ended_;  // on the first lane's stream
};

}  // namespace isthmus::experiment
