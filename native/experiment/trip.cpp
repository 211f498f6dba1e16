// One timed case: a buffer is allocated, filled, its data is worked on by the device and comes back, and the buffer is
// given back.
#include "experiment/trip.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "backend/launch.hpp"
#include "base/pages.hpp"
#include "base/slices.hpp"

namespace isthmus::experiment {
namespace {

// From here on the C library asks the system for fresh pages, in a process that has not given large blocks back yet.
constexpr std::size_t malloc_recycles_below = std::size_t{128} << 10;
// Uses of the buffer between getting it and giving it back, and by which metric those times are known.
struct Total {
    std::size_t uses;
    std::string_view metric;
};
constexpr std::array<Total, 4> totals{{{1, "uses_1"}, {2, "uses_2"}, {5, "uses_5"}, {10, "uses_10"}}};
constexpr std::string_view further = "further";
// A sample has as many uses as fit into this, and two at least.
constexpr double sample_seconds = 0.03;
constexpr std::size_t always_checked_bytes = std::size_t{1} << 20;

MemoryKind kind_of(const TripPlan& plan) {
    switch (plan.kind) {
        case TripKind::pageable: return plan.bytes < malloc_recycles_below ? MemoryKind::malloc : MemoryKind::pageable;
        case TripKind::registered: return MemoryKind::pageable;
        case TripKind::pinned:
        case TripKind::staging: return MemoryKind::pinned;
        case TripKind::touched_registered: return MemoryKind::touched_registered;
        case TripKind::managed:
        case TripKind::managed_prefetch: return MemoryKind::managed;
        case TripKind::mapped: return MemoryKind::mapped;
    }
    return MemoryKind::pageable;
}

// What a producer writes: cheap to compute, so that the memory sets the pace, and easy to add up.
void produce(std::byte* to, std::size_t bytes, std::uint32_t first) {
    auto* words = reinterpret_cast<std::uint32_t*>(to);
    for (std::size_t i = 0; i < bytes / 4; ++i) words[i] = first + static_cast<std::uint32_t>(i);
}

}  // namespace

Trip::Trip(TripPlan plan, std::shared_ptr<Buffer> source, std::shared_ptr<Buffer> device)
    : plan_(plan), source_(std::move(source)), device_(std::move(device)) {}

Trip::~Trip() {
    if (held_) (void)release();
}

Result<std::unique_ptr<Trip>> Trip::create(TripPlan plan, std::shared_ptr<Buffer> source,
                                           std::shared_ptr<Buffer> device) {
    if (plan.bytes == 0 || plan.bytes % 4 != 0) {
        return Status(
            Code::invalid_argument,
            std::to_string(plan.bytes) + " bytes are no multiple of 4, the size of the words that kernels add");
    }
    if (source->bytes() < plan.bytes + least_page || device->bytes() < plan.bytes) {
        return invalid("the source or the device's buffer is too small");
    }
    std::unique_ptr<Trip> trip(new Trip(plan, std::move(source), std::move(device)));
    ISTHMUS_TRY(trip->gpu().bind_thread());
    ISTHMUS_TRY(trip->reserve());
    return trip;
}

Status Trip::reserve() {
    ISTHMUS_TRY_ASSIGN(track, source_->session().track(0));
    stream_ = track->stream.get();
    ISTHMUS_TRY(assign(memory_, gpu().reserve(kind_of(plan_), plan_.bytes)));
    if (plan_.work == Work::reduction) {
        // Not pinned: drivers carve small pinned blocks out of a larger one, which what is timed would then find there.
        ISTHMUS_TRY(assign(results_, gpu().allocate(MemoryKind::pageable, least_page)));
        ISTHMUS_TRY(assign(sum_, gpu().allocate(MemoryKind::device, least_page)));
    }
    return {};
}

Result<Samples> Trip::run(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(gpu().bind_thread());
    // Kept for all trips, but not while other kinds are measured, for the same reason.
    if (plan_.kind == TripKind::staging) ISTHMUS_TRY(memory_->acquire());
    auto samples = run_trips(warmups, quota);
    if (plan_.kind == TripKind::staging) ISTHMUS_TRY(memory_->release());
    return samples;
}

Result<Samples> Trip::run_trips(std::size_t warmups, Quota quota) {
    bool warm = false;
    return taken(
        {"uses_1", "uses_2", "uses_5", "uses_10", further}, warmups, quota,
        [&](Samples& samples) { return sample(samples, warm && samples[totals.front().metric].empty()); },
        [&](Samples& tried) {
            warm = true;
            choose_uses(tried);
            return Status();
        });
}

void Trip::choose_uses(Samples& tried) {
    if (tried[further].empty() || std::exchange(uses_known_, true)) return;
    for (const auto& [uses, metric] : totals) {
        const double seconds =
            tried[totals.front().metric].back() + static_cast<double>(uses - 1) * tried[further].back();
        if (uses <= 2 || seconds <= sample_seconds) uses_ = uses;
    }
}

Status Trip::sample(Samples& samples, bool check_large) {
    std::array<double, totals.back().uses + 1> seconds{};  // up to the end of each use
    TimePoint start = now();
    Status status = acquire();
    seconds[0] = seconds_between(start, now());
    for (std::size_t i = 1; status.ok() && i <= uses_; ++i) {
        ++salt_;
        start = now();
        status = use();
        seconds[i] = seconds[i - 1] + seconds_between(start, now());
        const bool large_now = check_large && i == uses_;
        if (status.ok() && (large_now || plan_.bytes <= always_checked_bytes)) status = check();
    }
    if (!status.ok()) {
        (void)stream_->synchronize();  // What was enqueued before the failure still uses the memory.
        if (held_) (void)release();
        return status;
    }
    start = now();
    ISTHMUS_TRY(release());
    const double release_seconds = seconds_between(start, now());
    for (const auto& [uses, metric] : totals) {
        if (uses <= uses_) samples[metric].push_back(seconds[uses] + release_seconds);
    }
    for (std::size_t i = 2; i <= uses_; ++i) samples[further].push_back(seconds[i] - seconds[i - 1]);
    return {};
}

Status Trip::acquire() {
    if (plan_.kind != TripKind::staging) ISTHMUS_TRY(memory_->acquire());
    held_ = true;
    on_device_ = false;
    return {};
}

Status Trip::release() {
    held_ = false;
    Status unlocked;
    if (locked_ != nullptr) unlocked = locked_->release();
    locked_.reset();
    if (plan_.kind == TripKind::staging) return unlocked;
    Status released = memory_->release();
    return unlocked.ok() ? std::move(released) : std::move(unlocked);
}

Status Trip::use() {
    ISTHMUS_TRY(fill());
    if (plan_.kind == TripKind::registered && locked_ == nullptr) {
        ISTHMUS_TRY_ASSIGN(locked, gpu().reserve(MemoryKind::registered, plan_.bytes, memory_->host()));
        ISTHMUS_TRY(locked->acquire());
        locked_ = std::move(locked);
    }
    ISTHMUS_TRY(work());
    return bring_back();
}

// Two different contents start in the source, a cache line apart.
Result<Region> Trip::contents() {
    return source_->region(salt_ % 2 == 0 ? 0 : 64, plan_.bytes);
}

Status Trip::fill() {
    // The pages that a reduction left on the device come back faster when they are asked for.
    if (plan_.kind == TripKind::managed_prefetch && std::exchange(on_device_, false)) {
        ISTHMUS_TRY(gpu().prefetch(*stream_, region(*memory_), Side::host));
        ISTHMUS_TRY(stream_->synchronize());
    }
    ISTHMUS_TRY(gpu().begin_host_access(*memory_));
    if (plan_.in_place) {
        produce(memory_->host(), plan_.bytes, salt_);
    } else {
        ISTHMUS_TRY_ASSIGN(from, contents());
        std::memcpy(memory_->host(), from.host(), plan_.bytes);
    }
    return gpu().end_host_access(*memory_);
}

Status Trip::work() {
    Allocation& host_side = locked_ != nullptr ? *locked_ : *memory_;
    ISTHMUS_TRY_ASSIGN(on_device, device_->region(0, plan_.bytes));
    if (plan_.kind == TripKind::managed_prefetch) {
        ISTHMUS_TRY(gpu().prefetch(*stream_, region(*memory_), Side::device));
        on_device_ = true;
    } else if (!works_in_place()) {
        ISTHMUS_TRY(gpu().copy(*stream_, on_device, region(host_side)));
    }
    const Region data = works_in_place() ? region(*memory_) : on_device;
    const std::size_t words = data.bytes / sizeof(std::uint32_t);
    if (plan_.work == Work::reduction) {
        const Region sum{sum_.get(), 0, sizeof(std::uint32_t)};
        ISTHMUS_TRY(gpu().set_bytes(*stream_, sum, 0));
        ISTHMUS_TRY(launch(gpu(), *stream_, kernel::sum, data, words, sum));
        ISTHMUS_TRY(gpu().copy(*stream_, {results_.get(), 0, sizeof(std::uint32_t)}, sum));
        return {};
    }
    ISTHMUS_TRY(launch(gpu(), *stream_, kernel::add, data, words, salt_));
    if (plan_.kind == TripKind::managed_prefetch) {
        on_device_ = false;
        return gpu().prefetch(*stream_, region(*memory_), Side::host);
    }
    return works_in_place() ? Status() : gpu().copy(*stream_, region(host_side), on_device);
}

Status Trip::bring_back() {
    ISTHMUS_TRY(stream_->synchronize());
    if (plan_.work == Work::reduction || !works_in_place() || plan_.kind == TripKind::managed_prefetch) return {};
    ISTHMUS_TRY(gpu().begin_host_access(*memory_));
    if (plan_.kind == TripKind::managed) {
        for (std::size_t at = 0; at < plan_.bytes; at += least_page) {
            (void)*static_cast<volatile const std::byte*>(memory_->host() + at);
        }
    }
    return gpu().end_host_access(*memory_);
}

std::uint32_t Trip::expected_sum() {
    const auto count = static_cast<std::uint32_t>(plan_.bytes / 4);
    if (plan_.in_place) {
        const std::uint64_t words = plan_.bytes / 4;
        return count * salt_ + static_cast<std::uint32_t>(words * (words - 1) / 2);
    }
    auto& known = source_sums_[salt_ % 2];
    if (!known) {
        const auto from = contents();
        const auto* words = reinterpret_cast<const std::uint32_t*>(from.value().host());
        known = std::accumulate(words, words + plan_.bytes / 4, std::uint32_t{0});
    }
    return *known;
}

Status Trip::check() {
    if (plan_.work == Work::reduction) {
        std::uint32_t sum = 0;
        std::memcpy(&sum, results_->host(), sizeof sum);
        wrong_words_ += sum != expected_sum();
        std::memset(results_->host(), 0xA5, sizeof sum);
        return {};
    }
    ISTHMUS_TRY(gpu().begin_host_access(*memory_));
    ISTHMUS_TRY_ASSIGN(from, contents());
    const std::uint32_t salt = salt_;
    std::atomic<std::size_t> wrong = 0;
    for_each_slice(plan_.bytes, [&](std::size_t begin, std::size_t end) {
        const auto* is = reinterpret_cast<const std::uint32_t*>(memory_->host());
        const auto* was = reinterpret_cast<const std::uint32_t*>(from.host());
        std::size_t differ = 0;
        for (std::size_t i = begin / 4; i < end / 4; ++i) {
            const std::uint32_t produced = plan_.in_place ? salt + static_cast<std::uint32_t>(i) : was[i];
            differ += is[i] != produced + salt;
        }
        wrong += differ;
    });
    wrong_words_ += wrong;
    return gpu().end_host_access(*memory_);
}

}  // namespace isthmus::experiment
