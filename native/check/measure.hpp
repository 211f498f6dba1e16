// Measures a CUDA device and reads its state: a few copies of each kind, the link while they run.
#pragma once

#include <memory>

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
    // Reads what is known at rest into `facts`, also where it fails then.
    static Result<std::unique_ptr<Prepared>> open(int index, Facts& facts);
    Status measure(Facts& facts);

  private:
    using Shared = std::shared_ptr<experiment::Buffer>;
    // What copies start from and what they end in, on the host and on the device.
    struct Memory {
        Shared to, from;
    };
    struct Case {
        RateOf rate;
        std::unique_ptr<experiment::TimedTransfer> transfer;
        std::size_t visit_samples;
        std::vector<double> seconds;
    };

    Prepared() = default;
    Result<Memory> allocate(MemoryKind kind);
    Status add(RateOf rate, const Memory& host, const std::vector<experiment::Direction>& directions);
    Result<bool> arrives();
    Status visit(Case& each);

    // In the order in which they are made: the device goes last.
    std::shared_ptr<experiment::OpenDevice> session_;
    Memory pinned_, pageable_, on_device_;
    std::vector<Case> cases_;
};

// How many devices the driver has.
Result<int> count_devices();

}  // namespace isthmus::checking
