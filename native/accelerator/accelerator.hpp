// The library in a program: takes the copies that it makes faster, and leaves all others as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "accelerator/copy.hpp"
#include "accelerator/learning.hpp"
#include "accelerator/ledger.hpp"
#include "accelerator/options.hpp"
#include "accelerator/places.hpp"
#include "accelerator/staging.hpp"

namespace isthmus::accelerator {

// What programs get in place of each copy that is large enough to be looked at. It returns what the driver would: a
// failure of the library's is answered by the driver's own copy.
cuda::ReturnCode accelerated(const Copy& copy, const Plain& plain) noexcept;

// A large memcpy of the program's; false where it is to be made as it was asked for.
bool staged(void* to, const void* from, std::size_t bytes, MemoryCopy plain, const void* site) noexcept;
// Has the library begin, where page-locked memory is got: a program may stage from then on.
void begin() noexcept;

// From so many bytes on.
std::size_t least_bytes() noexcept;

class Accelerator {
  public:
    // Opens the driver that the program uses. Takes no page-locked memory and starts no threads yet.
    static Result<Accelerator*> start(const Options& options);
    cuda::ReturnCode copy(Copy copy, const Plain& plain);
    bool stage(void* to, const void* from, std::size_t bytes, MemoryCopy plain, const void* site) {
        return !stopped_ && staging_.copy(to, from, bytes, plain, site);
    }
    // The process ends, or threads may be gone: from now on all is the driver's.
    void finish() { stopped_ = true; }

  private:
    Accelerator(const cuda::Api& api, const Options& options, Ledger& ledger)
        : api_(api),
          options_(options),
          ledger_(ledger),
          places_(api, options_),
          learning_(ledger, options.sample_every),
          staging_(learning_, options) {}

    // Why it is the driver's copy; nothing where the library may make it. Finds out the direction.
    std::optional<Reason> why_not(Copy& copy, Session& session);
    bool is_capturing(std::uintptr_t stream) const;
    bool is_busy(std::uintptr_t stream) const;
    // Whether the program has copied so much that what the library costs at first pays.
    bool pays(const Copy& copy);
    cuda::ReturnCode left(Reason reason, const Copy& copy, const Plain& plain);
    // The rest of a copy, from a byte on.
    static Outcome ours(const Copy& copy, Session& session, std::size_t begin);
    // Whether the device's memory holds all of a copy that is to be made in two parts, either of which it may hold.
    static Status check_whole(const Copy& copy, Session& session);
    Status wait(const Copy& copy, Session& session) const;
    // Whether the driver's copy of the same is the same.
    Result<bool> same_by_driver(const Copy& copy, Session& session) const;

    const cuda::Api& api_;
    const Options options_;
    Ledger& ledger_;
    Places places_;
    Learning learning_;
    Staging staging_;
    std::atomic<bool> stopped_ = false;
    std::atomic<double> missed_seconds_ = 0;  // that the copies until now could have gained
};

}  // namespace isthmus::accelerator
