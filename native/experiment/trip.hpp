// One timed case: a buffer is allocated, filled, its data is worked on by the device and comes back, and the buffer is
// given back.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/names.hpp"
#include "experiment/timed.hpp"

namespace isthmus::experiment {

// How the data gets to the device and back.
ISTHMUS_ENUM(TripKind,
             pageable,            // a buffer as malloc gives it, copied by the driver
             pinned,              // page-locked memory got for it
             registered,          // ordinary memory that is page-locked once it is filled
             touched_registered,  // pages touched by many threads and page-locked before they are filled
             staging,             // a page-locked buffer that is kept for good
             managed,             // the kernel's accesses bring the pages, and the CPU's bring them back
             managed_prefetch,    // the same pages, asked for in time
             mapped)              // the kernel works on page-locked memory of the host

ISTHMUS_ENUM(Work,
             round_trip,  // a kernel adds to every word, and all of them come back
             reduction)   // a kernel adds all words up, and the sum comes back

struct TripPlan {
    TripKind kind;
    Work work;
    bool in_place;  // the producer writes into the buffer, instead of memcpy from pageable memory
    std::size_t bytes;
};

class Trip : public Timed {
  public:
    ~Trip() override;

    // `source` is pageable memory with contents, a page larger than `plan.bytes`; `device` is memory of the device, as
    // large. Bytes are a multiple of 4. Fails with unsupported where the device cannot do that.
    static Result<std::unique_ptr<Trip>> create(TripPlan plan, std::shared_ptr<Buffer> source,
                                                std::shared_ptr<Buffer> device);

    // Seconds from getting the buffer to having given it back, by the number of uses between: uses_1, uses_2, uses_5
    // and uses_10, of which those that take too long are empty; further, of each use after the first. What comes back
    // is checked while the clock is still: of small buffers each time, of large ones at the end of the first trip.
    Result<Samples> run(std::size_t warmups, Quota quota) override;
    // 32-bit words that did not come back as they should, since the trip was created; for a reduction, wrong sums.
    Result<std::vector<Mismatch>> verify() override { return std::vector{Mismatch{wrong_words_, 0}}; }

  private:
    Trip(TripPlan plan, std::shared_ptr<Buffer> source, std::shared_ptr<Buffer> device);
    Device& gpu() { return source_->session().device(); }
    bool is_managed() const { return plan_.kind == TripKind::managed || plan_.kind == TripKind::managed_prefetch; }
    // Whether the kernel works where the host's data is, without a copy.
    bool works_in_place() const { return is_managed() || plan_.kind == TripKind::mapped; }
    Region region(Allocation& memory) const { return {&memory, 0, plan_.bytes}; }

    Status reserve();
    Result<Samples> run_trips(std::size_t warmups, Quota quota);
    Status sample(Samples& samples, bool check_large);
    Status acquire();
    Status use();
    Result<Region> contents();
    Status fill();
    Status work();
    Status bring_back();
    Status release();
    Status check();
    std::uint32_t expected_sum();
    void choose_uses(Samples& tried);

    TripPlan plan_;
    std::shared_ptr<Buffer> source_;
    std::shared_ptr<Buffer> device_;
    Stream* stream_ = nullptr;             // of the session
    std::unique_ptr<Allocation> memory_;   // of the program
    std::unique_ptr<Allocation> locked_;   // registered: the same pages, while they are locked
    std::unique_ptr<Allocation> results_;  // where the sum goes, from sum_
    std::unique_ptr<Allocation> sum_;
    bool held_ = false;
    bool on_device_ = false;  // managed: where the pages are
    std::size_t uses_ = 2;    // of one sample
    bool uses_known_ = false;
    std::uint32_t salt_ = 0;  // changes with every use, so that what an earlier one left cannot pass for this one's
    std::array<std::optional<std::uint32_t>, 2> source_sums_;
    std::size_t wrong_words_ = 0;
};

}  // namespace isthmus::experiment
