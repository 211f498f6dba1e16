// Migrations and faults of managed memory as the driver reports them through CUPTI.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fork.hpp"
#include "driver/cupti_api.hpp"

namespace isthmus::cuda {

// One report: `what` is h2d or d2h with the bytes of one migration as `value`; device_fault with the faults of one page
// that were handled together; host_fault, whose value says nothing; or the number of a kind that is not known here.
// `cause` is why pages moved (user, coherence, prefetch, eviction, access_counters), empty for faults. Times are ns.
struct MigrationReport {
    std::string what;
    std::string cause;
    std::uint64_t value, address, start, end;
};

struct MigrationReports {
    std::vector<MigrationReport> reports;
    std::size_t dropped = 0;  // that CUPTI could not keep
};

// While it exists, migrations of the whole process are reported. CUPTI serves one user, so there is one at a time.
//
// The driver must have been initialised, and the device's context be there.
class MigrationCounter {
  public:
    // Fails with library_absent, function_absent, or unsupported with what to do.
    static Result<std::unique_ptr<MigrationCounter>> create(const std::vector<std::string>& names);
    ~MigrationCounter();
    MigrationCounter(const MigrationCounter&) = delete;
    MigrationCounter& operator=(const MigrationCounter&) = delete;

    const std::string& library() const { return api_.library; }
    std::uint32_t version() const;
    // All reports since the last call. They come late, from a thread of the driver: waits until none has come for
    // `quiet`, at most `most`. Work whose migrations are meant must have ended.
    Result<MigrationReports> collect(std::chrono::nanoseconds quiet, std::chrono::nanoseconds most);

  private:
    explicit MigrationCounter(cupti::Api api) : api_(std::move(api)) {}
    Status start();
    cupti::Api api_;
    const unsigned generation_ = fork_generation();
    bool registered_ = false;
    bool enabled_ = false;
};

}  // namespace isthmus::cuda
