// One timed case: work that runs by itself, and then during copies.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/names.hpp"
#include "experiment/timed.hpp"

namespace isthmus::experiment {

// What runs during copies, and is slowed down by them.
ISTHMUS_ENUM(Neighbour,
             compute,  // a kernel on all multiprocessors that computes and touches next to no memory
             memory,   // kernels that read and write device memory, one after another
             thread,   // one thread of the host that computes
             copies)   // copies between page-locked memory and the neighbour's device, one behind the other

// How the copies are made.
ISTHMUS_ENUM(CopyMethod,
             copy,     // by the driver
             isthmus,  // by a session of the library
             kernel)   // by a kernel, which has so many blocks

struct InterferencePlan {
    Neighbour neighbour = Neighbour::compute;
    CopyMethod method = CopyMethod::copy;
    std::uint32_t blocks = 0;  // of a kernel, of copy_threads each; 0 for as many as fill the device
    std::size_t bytes = 0;     // of one copy
    std::uint64_t seed = 0;    // the source holds its pattern
    double seconds = 0;        // the neighbour's work takes about so long alone, and at least as long as four copies
};

class Interference : public Timed {
  public:
    ~Interference() override;

    // One of `destination` and `source` is device memory. `load` is the device memory that the neighbour works on,
    // which may be another device's if the library copies; what Neighbour::copies copies to, from `load_source`, of
    // which one is the host's. `copies` makes those of CopyMethod::isthmus.
    static Result<std::unique_ptr<Interference>> create(const InterferencePlan& plan, std::shared_ptr<Buffer> load,
                                                        std::shared_ptr<Buffer> destination,
                                                        std::shared_ptr<Buffer> source, std::shared_ptr<Session> copies,
                                                        std::shared_ptr<Buffer> load_source = nullptr);

    // alone_seconds: the neighbour's work, of its copies one, by itself, the mean of before and after the copies;
    // beside_seconds: the same while copies go on; host_seconds: one of these copies, in the mean. The first call finds
    // how much work takes the plan's time. Copies are made by one thread of their own, each begun when the one before
    // has ended; one that fails ends the sample, and no copy is in flight when this returns.
    Result<Samples> run(std::size_t warmups, Quota quota) override;

  private:
    Interference(const InterferencePlan& plan, std::shared_ptr<Buffer> load, std::shared_ptr<Buffer> destination,
                 std::shared_ptr<Buffer> source, std::shared_ptr<Session> copies, std::shared_ptr<Buffer> load_source);
    struct Copies;
    // The one that copies, and that of the work.
    Device& device() { return destination_->session().device(); }
    Device& loaded() { return load_->session().device(); }
    static Status check(const InterferencePlan& plan, Buffer& load, Buffer& destination, Buffer& source,
                        bool by_session, Buffer* load_source);
    Status prepare();
    // The neighbour's work: seconds on its device's clock, of a thread on the host's. Precondition: its device is
    // current.
    Result<double> work(std::uint64_t amount);
    Status enqueue_work(std::uint64_t amount);
    Status copy();
    Status calibrate();
    // Until `enough` is set, with when each began and ended.
    Status go_on_copying(const std::atomic<bool>& enough, Copies& copies);
    Status sample(Samples& samples);

    const InterferencePlan plan_;
    std::shared_ptr<Buffer> load_, destination_, source_, load_source_;
    std::shared_ptr<Session> copies_;
    Region to_, from_, region_, load_from_;
    std::unique_ptr<Stream> working_, copying_;
    std::unique_ptr<Event> start_, stop_;
    std::uint64_t amount_ = 0;
};

}  // namespace isthmus::experiment
