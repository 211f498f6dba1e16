// What single steps cost: a hop of one thread of a device through memory, a launch, an event, a wait.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiment/timed.hpp"

namespace isthmus::experiment {

struct ChasePlan {
    std::size_t offset;
    std::size_t bytes;         // from `offset` on, of lines
    std::size_t stride_bytes;  // from one line to the next; a multiple of 8
    std::uint64_t hops;        // of one launch
    bool shuffled;             // lines in a random order, which no prefetcher of a CPU foresees
};

// One thread of a device follows a chain through memory: each line says where the next one is, so that each load waits
// for the one before.
class Chase : public Timed {
  public:
    // `memory` may be another device's. Fails with unsupported where kernels do not reach it, and with
    // invalid_argument unless there are two lines or more and a hop. Overwrites the lines.
    static Result<std::unique_ptr<Chase>> create(std::shared_ptr<OpenDevice> session, std::shared_ptr<Buffer> memory,
                                                 ChasePlan plan);

    // device_seconds of each hop, one sample a launch. Managed memory is written by the host before each, so that its
    // pages start there.
    Result<Samples> run(std::size_t warmups, Quota quota) override;
    // One word, which is wrong unless the latest launch of run() ended at the line where it had to.
    Result<std::vector<Mismatch>> verify() override;

  private:
    Chase(std::shared_ptr<OpenDevice> session, std::shared_ptr<Buffer> memory, std::shared_ptr<Buffer> result,
          ChasePlan plan);
    Device& device() { return session_->device(); }
    Status lay();
    Status sample(Samples& samples);

    std::shared_ptr<OpenDevice> session_;
    std::shared_ptr<Buffer> memory_;
    std::shared_ptr<Buffer> result_;  // of the device: where the last launch ended
    ChasePlan plan_;
    std::vector<std::byte> lines_;
    std::uint64_t end_ = 0;
    bool has_run_ = false;
    bool gates_work_ = true;
};

// With nothing else on the stream.
// A kernel that does nothing: enqueue_seconds until the call returned, and host_seconds from before the same call
// until the host knew that the kernel had ended.
Result<Samples> time_launches(OpenDevice& session, std::size_t warmups, Quota quota);
// host_seconds of a call that records an event, means over 16, and device_seconds between two events that were recorded
// one after the other.
Result<Samples> time_events(OpenDevice& session, std::size_t warmups, Quota quota);
// On the host's clock, means over 16: synchronize_seconds waits for a stream on which nothing is left to do, and
// query_seconds asks whether an event has passed that has.
Result<Samples> time_waits(OpenDevice& session, std::size_t warmups, Quota quota);

}  // namespace isthmus::experiment
