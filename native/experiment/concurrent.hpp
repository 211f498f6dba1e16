// One timed case on many host threads: buffers that are copied in slices or chunks, on one lane or several at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/worker_group.hpp"
#include "experiment/timed.hpp"

namespace isthmus::experiment {

// A NUMA node, and its processors that may be used.
struct NodeBinding {
    int node;
    std::vector<int> processors;
};

// Lanes may be on different devices.
struct ConcurrentLane : Lane {
    std::optional<NodeBinding> node;  // where the lane's threads run; nothing: where the caller does

    // The device whose driver copies: the one with the source, if that is device memory.
    OpenDevice& session() const;
};

// How the work of each lane is divided.
struct Division {
    std::size_t threads = 1;      // of each lane
    bool own_streams = false;     // a stream for each thread, not one for the lane
    std::size_t chunk_bytes = 0;  // threads take chunks of this size from a common counter; 0: each has one slice
    bool spawn = false;           // threads are created for every transfer and joined within its time
};

class ConcurrentTransfer : public Timed {
  public:
    // The first `bytes` of each lane's buffers. A thread that has not ended after `limit_seconds` is left behind.
    static Result<std::unique_ptr<ConcurrentTransfer>> create(std::vector<ConcurrentLane> lanes, std::size_t bytes,
                                                              Division division, double limit_seconds);

    // host_seconds from before the threads are woken until the caller knows that all ended, those of each lane to the
    // end of its last thread; on threads and streams that live as long as this call (the threads of a division with
    // `spawn` shorter). Every thread waits for its own copies; with chunks, for each before it takes the next. Where
    // the CPU takes part in the copy, the host's side is evicted from its caches before each sample. When a thread
    // fails the others take nothing more, nothing is in flight afterwards, and the first failure is returned with lane,
    // size and thread.
    Result<Samples> run(std::size_t warmups, Quota quota) override;

  private:
    struct Work;
    ConcurrentTransfer(std::vector<ConcurrentLane> lanes, std::size_t bytes, Division division, double limit_seconds);
    Result<std::shared_ptr<Work>> prepare_work();
    Status evict();
    std::string description() const;
    void lose_buffers();

    std::vector<ConcurrentLane> lanes_;
    std::size_t bytes_;
    Division division_;
    double limit_seconds_;
};

}  // namespace isthmus::experiment
