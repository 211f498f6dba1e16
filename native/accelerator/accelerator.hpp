// The library in a program: takes the copies that it makes faster, and leaves all others as they are.
#pragma once

#include <atomic>
#include <cstddef>

#include "accelerator/learning.hpp"
#include "accelerator/ledger.hpp"
#include "accelerator/options.hpp"
#include "accelerator/request.hpp"
#include "accelerator/staging.hpp"

namespace isthmus::accelerator {

// What programs get in place of each copy that is large enough to be looked at. It returns what the driver would: a
// failure of the library's is answered by the driver's own copy.
DriverCode accelerated(Request& request) noexcept;

// A copy that was the driver's from the beginning.
void count_left(Reason reason, std::size_t bytes) noexcept;

// A large memcpy of the program's; false where it is to be made as it was asked for.
bool staged(void* to, const void* from, std::size_t bytes, MemoryCopy plain, const void* site) noexcept;
// Has the library begin, where page-locked memory is got: a program may stage from then on.
void begin() noexcept;

// From so many bytes on.
std::size_t least_bytes() noexcept;

class Accelerator {
  public:
    // Takes no page-locked memory, starts no threads and calls no driver yet.
    Accelerator(const Options& options, Ledger& ledger)
        : options_(options), ledger_(ledger), learning_(ledger, options.sample_every), staging_(learning_, options) {}
    DriverCode copy(Request& request);
    void count_left(Reason reason, std::size_t bytes) { ledger_.leave(reason, bytes); }
    bool stage(void* to, const void* from, std::size_t bytes, MemoryCopy plain, const void* site) {
        return !stopped_ && staging_.copy(to, from, bytes, plain, site);
    }
    // The process ends, or threads may be gone: from now on all is the driver's.
    void finish() { stopped_ = true; }

  private:
    std::optional<Reason> why_not(Request& request);
    // Whether the program has copied so much that what the library costs at first pays.
    bool pays(const Request& request);
    DriverCode left(Reason reason, Request& request);
    // Of page-locked memory, without waiting.
    DriverCode queue(Request& request);
    static Way way_of(const Request& request);
    // How much of a copy in one piece the driver makes to compare, at most.
    static std::size_t sampled_bytes(const Request& request);
    // Whether a copy that the driver makes all of or nothing ends soon if the driver makes it, as far as is known.
    bool may_sample_whole(Request& request) const;
    // Has the driver make what is to be compared; its first failure.
    static DriverCode sample(Request& request, SampleParts& parts);

    const Options options_;
    Ledger& ledger_;
    Learning learning_;
    Staging staging_;
    std::atomic<bool> stopped_ = false;
    std::atomic<double> missed_seconds_ = 0;  // that the copies until now could have gained
};

}  // namespace isthmus::accelerator
