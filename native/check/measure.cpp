// Measures a CUDA device and reads its state.
#include "check/measure.hpp"

#include <algorithm>
#include <cmath>

#include "backend/cuda/cuda_device.hpp"
#include "backend/cuda/describe.hpp"
#include "backend/device.hpp"
#include "base/clock.hpp"
#include "base/numa.hpp"
#include "check/sysfs.hpp"

namespace isthmus::checking {
namespace {

using experiment::Buffer;
using experiment::Direction;
using experiment::Method;
using experiment::OpenDevice;
using experiment::TimedTransfer;

constexpr std::size_t copied_bytes = std::size_t{64} << 20;
constexpr std::uint64_t seed = 0x9E3779B97F4A7C15U;
// As `Rules` of src/isthmus/experiment/engine/sampling.py: so many samples at least, over two visits, of pageable
// copies, which take long, the fewest that an interval can be given for; then until pinned ones are known well enough.
constexpr std::size_t pinned_samples = 5, pageable_samples = 3;
constexpr int least_visits = 2;
constexpr double enough = 0.02;
// For those further visits.
constexpr double most_seconds = 0.4;

// The largest r with P(Binomial(count, 1/2) <= r) <= 2.5 %, as `median_interval` of src/isthmus/record/interval.py.
std::size_t lower_rank(std::size_t count) {
    double term = std::pow(0.5, static_cast<double>(count)), tail = term;
    for (std::size_t rank = 0;; ++rank) {
        term *= static_cast<double>(count - rank) / static_cast<double>(rank + 1);
        tail += term;
        if (tail > 0.025) return rank;
    }
}

// Interpolates between two sorted times, as NumPy's quantile does.
double quantile(const std::vector<double>& sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const double above = sorted[std::min(below + 1, sorted.size() - 1)];
    return sorted[below] + (at - static_cast<double>(below)) * (above - sorted[below]);
}

// The rate of the median of sorted times, and how far repeats are from it (judge/verdict.hpp).
Rate summary(const std::vector<double>& seconds, double bytes) {
    const double median = quantile(seconds, 0.5);
    return {bytes / median, (median / quantile(seconds, 0.1) - median / quantile(seconds, 0.9)) / 2};
}

// Half of the 95 % interval of the median of sorted times, as a share. Precondition: six samples or more.
double half_width(const std::vector<double>& seconds) {
    const std::size_t rank = lower_rank(seconds.size());
    const double median = quantile(seconds, 0.5);
    return (median / seconds[rank] - median / seconds[seconds.size() - 1 - rank]) / 2;
}

double bytes_of(RateOf rate) {
    return static_cast<double>(rate == pinned_both ? 2 * copied_bytes : copied_bytes);
}

}  // namespace

Result<int> count_devices() {
    const BackendListing listing = cuda::list_devices();
    if (listing.devices.empty()) return Status(Code::device_absent, listing.absent_because);
    return static_cast<int>(listing.devices.size());
}

Result<Prepared::Memory> Prepared::allocate(MemoryKind kind) {
    Memory made;
    for (Shared* each : {&made.to, &made.from})
        ISTHMUS_TRY(assign(*each, Buffer::allocate(session_, kind, copied_bytes)));
    return made;
}

Status Prepared::add(RateOf rate, const Memory& host, const std::vector<Direction>& directions) {
    std::vector<experiment::TimedLane> lanes;
    for (const Direction each : directions) {
        const bool is_to_device = each == Direction::h2d;
        lanes.push_back({each, is_to_device ? host.from : host.to, is_to_device ? on_device_.to : on_device_.from});
    }
    ISTHMUS_TRY_ASSIGN(transfer, TimedTransfer::create(Method::copy, std::move(lanes), 0, copied_bytes, seed));
    const std::size_t samples = host.to->kind() == MemoryKind::pinned ? pinned_samples : pageable_samples;
    cases_.push_back({rate, std::move(transfer), samples, {}});
    return {};
}

Result<std::unique_ptr<Prepared>> Prepared::open(int index, Facts& facts) {
    ISTHMUS_TRY_ASSIGN(driver, cuda::Driver::get());
    ISTHMUS_TRY(assign(facts.info, cuda::describe(*driver, index)));
    read_errors(facts);
    facts.near_node = near_node(facts.info.pci_address);
    // Memory is near the device where a container allows it.
    if (const auto node = node_of_pci_device(facts.info.pci_address)) bind_as_allowed(*node);
    if (const auto node = node_of_thread()) facts.bound_node = node->index;
    std::unique_ptr<Prepared> made(new Prepared);
    ISTHMUS_TRY_ASSIGN(device, cuda::open_device(index));
    ISTHMUS_TRY(device->bind_thread());
    ISTHMUS_TRY(assign(made->session_, OpenDevice::create(std::move(device))));
    ISTHMUS_TRY(assign(made->on_device_, made->allocate(MemoryKind::device)));
    ISTHMUS_TRY(assign(made->pinned_, made->allocate(MemoryKind::pinned)));
    ISTHMUS_TRY(assign(made->pageable_, made->allocate(MemoryKind::pageable)));
    for (const Memory* host : {&made->pinned_, &made->pageable_}) {
        ISTHMUS_TRY_ASSIGN(from, host->from->region(0, copied_bytes));
        ISTHMUS_TRY(host->from->fill_pattern(from, seed));
        ISTHMUS_TRY_ASSIGN(to, host->to->region(0, copied_bytes));
        ISTHMUS_TRY(host->to->set_bytes(to, 0));
    }
    ISTHMUS_TRY(made->add(pinned_h2d, made->pinned_, {Direction::h2d}));
    ISTHMUS_TRY(made->add(pinned_d2h, made->pinned_, {Direction::d2h}));
    ISTHMUS_TRY(made->add(pinned_both, made->pinned_, {Direction::h2d, Direction::d2h}));
    ISTHMUS_TRY(made->add(pageable_h2d, made->pageable_, {Direction::h2d}));
    ISTHMUS_TRY(made->add(pageable_d2h, made->pageable_, {Direction::d2h}));
    facts.bytes = copied_bytes;
    return made;
}

// Whether what was sent and fetched again is the same.
Result<bool> Prepared::arrives() {
    ISTHMUS_TRY_ASSIGN(from, pinned_.from->region(0, copied_bytes));
    ISTHMUS_TRY_ASSIGN(on_device, on_device_.from->region(0, copied_bytes));
    ISTHMUS_TRY_ASSIGN(to, pinned_.to->region(0, copied_bytes));
    Device& device = session_->device();
    ISTHMUS_TRY(session_->run([&](Stream& stream) { return device.copy(stream, on_device, from); }));
    ISTHMUS_TRY(session_->run([&](Stream& stream) { return device.copy(stream, to, on_device); }));
    ISTHMUS_TRY_ASSIGN(mismatch, pinned_.to->verify_pattern(to, seed));
    return mismatch.words == 0;
}

Status Prepared::visit(Case& each) {
    // After a warm-up it knows that its copies are long: both clocks then read the same copies, without a gate, so that
    // no kernel is loaded.
    ISTHMUS_TRY_ASSIGN(samples, each.transfer->run(1, {each.visit_samples, each.visit_samples, 0}));
    const std::vector<double>& taken = samples[experiment::host_seconds];
    each.seconds.insert(each.seconds.end(), taken.begin(), taken.end());
    return {};
}

Status Prepared::measure(Facts& facts) {
    ISTHMUS_TRY_ASSIGN(arrived, arrives());
    facts.is_wrong = !arrived;
    for (int visits = 0; visits < least_visits; ++visits) {
        for (Case& each : cases_) ISTHMUS_TRY(visit(each));
    }
    const TimePoint begin = now();
    for (bool is_known = false; !is_known;) {
        is_known = true;
        for (Case& each : cases_) {
            std::ranges::sort(each.seconds);
            facts.rates[each.rate] = summary(each.seconds, bytes_of(each.rate));
            if (half_width(each.seconds) <= enough || each.rate >= pageable_h2d) continue;
            if (seconds_between(begin, now()) >= most_seconds) continue;
            ISTHMUS_TRY(visit(each));
            is_known = false;
        }
    }
    ISTHMUS_TRY(assign(facts.loaded, experiment::read_link_under_load(*pinned_.from, *on_device_.to)));
    ISTHMUS_TRY_ASSIGN(driver, cuda::Driver::get());
    facts.throttling = cuda::read_throttling(*driver, facts.info.pci_address);
    return {};
}

}  // namespace isthmus::checking
