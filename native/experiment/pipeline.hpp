// One timed case: data goes to the device in chunks, is worked on, and comes back, with as much of that at once as the
// program's way allows.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "experiment/timed.hpp"
#include "transfer/pieces/staging.hpp"

namespace isthmus::experiment {

ISTHMUS_ENUM(Stage, in, work, out)

struct PipelinePlan {
    std::size_t bytes = 0;  // that go in, and come out
    std::size_t chunks = 1;
    std::size_t streams = 1;   // staged: threads, each with a stream
    std::uint32_t rounds = 0;  // of Device::work on each word
    // The stages that take place.
    bool in = true, work = true, out = true;
};

// When a stage of a chunk was in flight, in seconds on the device's clock since the first began. A copy that waits
// for others of its kind begins when they have ended; work of several streams may share the device.
struct StageSpan {
    Stage stage = Stage::in;
    std::size_t chunk = 0;
    double begin_seconds = 0, end_seconds = 0;
};

class Pipeline : public Timed {
  public:
    ~Pipeline() override;

    // `source` and `results` are memory of the host, `work` of the device. With `staging`, which holds `plan.bytes`,
    // chunks pass through it on its threads. Chunks are equal, of whole 32-bit words.
    static Result<std::unique_ptr<Pipeline>> create(const PipelinePlan& plan, std::shared_ptr<Buffer> source,
                                                    std::shared_ptr<Buffer> work, std::shared_ptr<Buffer> results,
                                                    std::shared_ptr<Staging> staging);

    // host_seconds from before the first call until all has come back.
    Result<Samples> run(std::size_t warmups, Quota quota) override;
    // One pass more, with events around every stage.
    Result<std::vector<StageSpan>> trace();
    // 32-bit words of the results that are not what the work makes of the source. Only for a plan of all stages.
    Result<std::vector<Mismatch>> verify() override;

  private:
    struct State;
    explicit Pipeline(std::shared_ptr<State> state);
    Status pass();
    Status evict();

    std::shared_ptr<State> state_;  // also of threads that are stuck
};

}  // namespace isthmus::experiment
