// Measures a CUDA device and reads its state: a few copies of each kind, the link while they run.
#pragma once

#include <memory>

#include "backend/device.hpp"
#include "base/status.hpp"
#include "check/facts.hpp"

namespace isthmus::checking {

// A device that is open, with memory to copy from and to; measuring is for later, so that several devices are opened at
// the same time and measured one after the other.
class Prepared {
  public:
    // Reads what is known at rest into `facts`, also where it fails then.
    static Result<std::unique_ptr<Prepared>> open(int index, Facts& facts);
    Status measure(Facts& facts);

  private:
    Prepared() = default;
    struct Copy {
        Region to, from;
        Stream* stream;
    };
    Result<Rate> rate(const Copy& copy, int repeats);
    Result<Rate> rate_of_both(Facts& facts);
    Result<bool> arrives();
    Copy to_device(MemoryKind kind) const;
    Copy to_host(MemoryKind kind) const;

    // In the order in which they are made: the device goes last.
    std::shared_ptr<Device> device_;
    std::unique_ptr<Allocation> pinned_, other_pinned_, pageable_, on_device_, other_on_device_;
    std::unique_ptr<Stream> stream_, other_stream_;
    std::unique_ptr<Event> begun_, ended_, other_ended_;
};

// How many devices the driver has.
Result<int> count_devices();

}  // namespace isthmus::checking
