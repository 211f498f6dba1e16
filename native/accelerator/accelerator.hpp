// The library in a program: takes the copies that it makes faster, and leaves all others as they are.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <optional>

#include "accelerator/learning.hpp"
#include "accelerator/ledger.hpp"
#include "accelerator/locked/host_pages.hpp"
#include "accelerator/options.hpp"
#include "accelerator/request.hpp"
#include "accelerator/staging.hpp"

namespace isthmus::accelerator {

// How far a copy that the program asked its driver for is. The function that the program called keeps it, and calls the
// driver by itself: then no lock is held and no other frame of the library is on the stack, so that the program may
// fault there, leave by a jump out of a handler, or have its thread cancelled, as without the library.
struct Progress {
    enum class Stage { fresh, sampled, last_part, ended } stage = Stage::fresh;
    std::size_t begin = 0, bytes = 0;  // what the driver is to make now
    DriverCode code = 0;               // what its last part returned; in the end, what the program gets
    bool has_waited = false;           // for earlier work on the stream
    bool to_device = false;            // once a part is made
    std::size_t row = 0;               // in what was learned
    SampleParts sampled{0};            // by the driver
    Learning::Part ours{};
    TimePoint begun{};
    std::optional<Reason> reason{};  // why all is the driver's

    // The driver copies everything, and then the copy has ended.
    bool leave(std::size_t all_bytes, std::optional<Reason> why = {}) {
        reason = why;
        stage = Stage::ended;
        begin = 0;
        bytes = all_bytes;
        return true;
    }
    bool end() {
        stage = Stage::ended;
        return false;
    }
};

// Whether nothing more is to be done; then what was the driver's is counted.
bool has_ended(const Progress& progress) noexcept;
// Unless it has: goes on with a copy that is large enough to be looked at: true where the driver is to make the part
// that `progress` says, and false when the program gets its code. That is what the driver would return: a failure of
// the library's is answered by the driver's own copy. The request may be another one of the same copy each time.
bool next_part(Request& request, Progress& progress) noexcept;

// The same for a large memcpy. Called with signals blocked.
StagedStep staged(StagedCopy& copy) noexcept;

// Whether the calling thread may be cancelled anywhere (PTHREAD_CANCEL_ASYNCHRONOUS), and so must not be in the
// library. Here it may be cancelled: neither this function nor its callers have anything to clean up.
inline bool may_be_cancelled_anywhere() {
    int type = PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    if (type == PTHREAD_CANCEL_DEFERRED) return false;
    pthread_setcanceltype(type, &type);
    return true;
}

// A thread that is cancelled ends where the program's own calls would, not in the library's.
class NotCancelled {
  public:
    NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
    NotCancelled(const NotCancelled&) = delete;
    NotCancelled& operator=(const NotCancelled&) = delete;

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

// Around the driver's call for page-locked memory, whose frame this is: as HostPages.
void begin_host_pages(const void* site, std::size_t bytes, const void* frame) noexcept;
void end_host_pages(bool succeeded) noexcept;

// Counts a copy that was left to the driver from the beginning.
void count_left(Reason reason, std::size_t bytes) noexcept;

// Starts the library when the program allocates page-locked memory: it may stage copies from then on.
void begin() noexcept;

// Smaller copies are the driver's.
std::size_t least_bytes() noexcept;

class Accelerator {
  public:
    // Takes no page-locked memory, starts no threads and calls no driver yet.
    Accelerator(const Options& options, Ledger& ledger)
        : options_(options),
          ledger_(ledger),
          learning_(ledger, options.sample_every),
          staging_(learning_, options),
          host_pages_(learning_, options_) {}
    bool go_on(Request& request, Progress& progress);
    StagedStep go_on(StagedCopy& copy) { return stopped_ ? StagedStep::plain : staging_.go_on(copy); }
    // Null once all is the driver's.
    HostPages* host_pages() { return stopped_ ? nullptr : &host_pages_; }
    void count_left(Reason reason, std::size_t bytes) { ledger_.leave(reason, bytes); }
    // The process ends, or threads may be gone: from now on all is the driver's.
    void finish() { stopped_ = true; }

  private:
    std::optional<Reason> why_not(Request& request);
    // Whether the program has copied so much that what the library costs at first pays.
    bool pays(const Request& request);
    bool left(Reason reason, const Request& request, Progress& progress);
    // A copy of page-locked memory that the program does not wait for.
    bool queue(Request& request, Progress& progress);
    // Whether the driver is to begin.
    bool begin(Request& request, Progress& progress);
    // The driver copies the sample, part by part, before the library copies the rest.
    bool sample(Request& request, Progress& progress);
    bool has_sampled(Request& request, Progress& progress);
    bool by_library(Request& request, Progress& progress);
    bool end(Request& request, Progress& progress);
    static Way way_of(const Request& request);
    // The largest sample of a copy in one piece.
    static std::size_t sampled_bytes(const Request& request);
    // Whether a copy that cannot be divided will end soon as a sample, as far as is known.
    bool may_sample_whole(Request& request) const;

    const Options options_;
    Ledger& ledger_;
    Learning learning_;
    Staging staging_;
    HostPages host_pages_;
    std::atomic<bool> stopped_ = false;
    std::atomic<double> missed_seconds_ = 0;  // that the copies until now could have gained
};

}  // namespace isthmus::accelerator
