// Measures a CUDA device and reads its state: a few copies of each kind, the link while they run.
#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"
#include "check/facts.hpp"
#include "experiment/transfer.hpp"

namespace isthmus::checking {

// A device that is open, with memory to copy from and to; measuring is for later, so that several devices are opened at
// the same time and measured one after the other.
//
// Copies are those of `isthmus check` and `isthmus measure bandwidth`, by the same class, clock and statistics: what is
// normal was measured with these.
class Prepared {
  public:
    // Reads what is known at rest into `facts`, also where it fails then. For a run there are copies by the library,
    // too, each case is verified, and the link is read before as well, by the kernel's files in `root` where NVML does
    // not say it; without memory for the copies each case is skipped, and there is nothing to measure.
    static Result<std::unique_ptr<Prepared>> open(int index, Facts& facts, bool for_run, const std::string& root);
    Status measure(Facts& facts);
    // Pinned memory in one direction and then in the other, each for as long as all other devices copy, too.
    // Precondition: it was measured.
    Status copy_at_once(Facts& facts);

  private:
    using Shared = std::shared_ptr<experiment::Buffer>;
    // What copies start from and what they end in, on the host and on the device.
    struct Memory {
        Shared to, from;
    };
    struct Case {
        RateOf rate;
        std::unique_ptr<experiment::TimedTransfer> transfer;
        const Memory* host;
        std::vector<experiment::Direction> directions;
        std::size_t visit_samples;
    };

    Prepared() = default;
    Result<Memory> allocate(MemoryKind kind);
    Status allocate_all();
    Status add(RateOf rate, const Memory& host, const std::vector<experiment::Direction>& directions,
               experiment::Method method = experiment::Method::copy);
    Status move(const Shared& to, const Shared& from);
    Result<Mismatch> mismatch(const Shared& memory);
    static Status clear(const Shared& memory);
    Result<LinkReading> read_link(const Facts& facts);
    Result<bool> arrives();
    Status verify_each(Facts& facts);
    Status visit(Case& each, Facts& facts);
    Status visit_all(Facts& facts);

    // In the order in which they are made: the device goes last.
    std::shared_ptr<experiment::OpenDevice> session_;
    Memory pinned_, pageable_, on_device_;
    std::vector<Case> cases_;
    bool for_run_ = false;
    std::string root_;
};

// How many devices the driver has.
Result<int> count_devices();

}  // namespace isthmus::checking
