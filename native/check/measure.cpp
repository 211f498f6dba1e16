// Measures a CUDA device and reads its state.
#include "check/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "backend/cuda/cuda_device.hpp"
#include "backend/cuda/describe.hpp"
#include "backend/device.hpp"
#include "base/clock.hpp"
#include "base/numa.hpp"
#include "base/threads.hpp"
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
// All devices copy at once for so long in each direction, with a bound on what is kept of it.
constexpr double at_once_seconds = 0.25;
constexpr std::size_t most_at_once = 4096;

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

bool is_whole(const LinkReading& link) {
    return link.generation && link.width;
}

// What the kernel's files say, in place of what NVML does not say.
void complete(LinkReading& link, const Look& look) {
    if (is_whole(link) || !look.is_visible) return;
    const auto known = [](unsigned value) { return value != 0 ? std::optional(value) : std::nullopt; };
    link = {look.generation, look.width, known(look.most_generation), known(look.most_width), link.replays};
}

}  // namespace

Result<int> count_devices() {
    ISTHMUS_TRY_ASSIGN(driver, cuda::Driver::get());
    int count = 0;
    ISTHMUS_TRY(driver->api.call(driver->api.cuDeviceGetCount, &count));
    if (count == 0) return Status(Code::device_absent, "the driver has no device");
    return count;
}

Result<Prepared::Memory> Prepared::allocate(MemoryKind kind) {
    Memory made;
    for (Shared* each : {&made.to, &made.from})
        ISTHMUS_TRY(assign(*each, Buffer::allocate(session_, kind, copied_bytes)));
    return made;
}

Status Prepared::allocate_all() {
    ISTHMUS_TRY(assign(on_device_, allocate(MemoryKind::device)));
    ISTHMUS_TRY(assign(pinned_, allocate(MemoryKind::pinned)));
    return assign(pageable_, allocate(MemoryKind::pageable));
}

Status Prepared::add(RateOf rate, const Memory& host, const std::vector<Direction>& directions, Method method) {
    std::vector<experiment::TimedLane> lanes;
    for (const Direction each : directions) {
        const bool is_to_device = each == Direction::h2d;
        lanes.push_back({each, is_to_device ? host.from : host.to, is_to_device ? on_device_.to : on_device_.from});
    }
    ISTHMUS_TRY_ASSIGN(transfer, TimedTransfer::create(method, std::move(lanes), 0, copied_bytes, seed));
    const std::size_t samples = host.to->kind() == MemoryKind::pinned ? pinned_samples : pageable_samples;
    cases_.push_back({rate, std::move(transfer), &host, directions, samples});
    return {};
}

Result<std::unique_ptr<Prepared>> Prepared::open(int index, Facts& facts, bool for_run, const std::string& root) {
    ISTHMUS_TRY_ASSIGN(driver, cuda::Driver::get());
    ISTHMUS_TRY(assign(facts.info, cuda::describe(*driver, index)));
    read_errors(facts);
    facts.near_node = near_node(facts.info.pci_address);
    // Memory is near the device where a container allows it.
    if (const auto node = node_of_pci_device(facts.info.pci_address)) bind_as_allowed(*node);
    if (const auto node = node_of_thread()) facts.bound_node = node->index;
    std::unique_ptr<Prepared> made(new Prepared);
    made->for_run_ = for_run;
    made->root_ = root;
    if (for_run && !is_whole(facts.info.link)) {
        complete(facts.info.link, look_at(facts.info.pci_address, root));
        if (is_whole(facts.info.link)) facts.link_source = "sysfs";
    }
    ISTHMUS_TRY_ASSIGN(device, cuda::open_device(index));
    ISTHMUS_TRY(device->bind_thread());
    ISTHMUS_TRY(assign(made->session_, OpenDevice::create(std::move(device))));
    facts.bytes = copied_bytes;
    if (Status allocated = made->allocate_all(); !allocated.ok()) {
        if (!for_run || allocated.code() != Code::out_of_memory) return allocated;
        // Others may have all of its memory: that is no failure of the device.
        for (Repeats& each : facts.repeats) each.skipped = allocated.message();
        return made;
    }
    for (const Memory* host : {&made->pinned_, &made->pageable_}) {
        ISTHMUS_TRY_ASSIGN(from, host->from->region(0, copied_bytes));
        ISTHMUS_TRY(host->from->fill_pattern(from, seed));
        ISTHMUS_TRY(made->clear(host->to));
    }
    ISTHMUS_TRY(made->add(pinned_h2d, made->pinned_, {Direction::h2d}));
    ISTHMUS_TRY(made->add(pinned_d2h, made->pinned_, {Direction::d2h}));
    ISTHMUS_TRY(made->add(pinned_both, made->pinned_, {Direction::h2d, Direction::d2h}));
    ISTHMUS_TRY(made->add(pageable_h2d, made->pageable_, {Direction::h2d}));
    ISTHMUS_TRY(made->add(pageable_d2h, made->pageable_, {Direction::d2h}));
    if (!for_run) return made;
    for (const auto& [rate, direction] : {std::pair{library_h2d, Direction::h2d}, {library_d2h, Direction::d2h}}) {
        const Status status = made->add(rate, made->pageable_, {direction}, Method::isthmus);
        if (!status.ok()) facts.repeats[rate].skipped = status.message();
    }
    return made;
}

Status Prepared::move(const Shared& to, const Shared& from) {
    ISTHMUS_TRY_ASSIGN(destination, to->region(0, copied_bytes));
    ISTHMUS_TRY_ASSIGN(source, from->region(0, copied_bytes));
    return session_->run([&](Stream& stream) { return session_->device().copy(stream, destination, source); });
}

Result<Mismatch> Prepared::mismatch(const Shared& memory) {
    ISTHMUS_TRY_ASSIGN(region, memory->region(0, copied_bytes));
    return memory->verify_pattern(region, seed);
}

Status Prepared::clear(const Shared& memory) {
    ISTHMUS_TRY_ASSIGN(region, memory->region(0, copied_bytes));
    return memory->set_bytes(region, 0);
}

// Whether what was sent and fetched again is the same; it stays on the device.
Result<bool> Prepared::arrives() {
    ISTHMUS_TRY(move(on_device_.from, pinned_.from));
    ISTHMUS_TRY(move(pinned_.to, on_device_.from));
    ISTHMUS_TRY_ASSIGN(different, mismatch(pinned_.to));
    return different.words == 0;
}

// One more copy of each, into memory that held something else. The host looks at all of it: no kernel is loaded.
Status Prepared::verify_each(Facts& facts) {
    for (Case& each : cases_) {
        ISTHMUS_TRY(clear(pinned_.to));
        ISTHMUS_TRY(move(on_device_.to, pinned_.to));
        ISTHMUS_TRY(clear(each.host->to));
        if (auto copied = each.transfer->run(0, {1, 1, 0}); !copied.ok()) {
            Status status = copied.take_status();
            if (each.rate < rate_count) return status;
            facts.repeats[each.rate] = {.seconds = {}, .wrong = "", .skipped = status.message()};
            continue;
        }
        for (const Direction direction : {Direction::d2h, Direction::h2d}) {
            if (std::ranges::find(each.directions, direction) == each.directions.end()) continue;
            // What came back was looked at before, and makes room for what arrived on the device.
            if (direction == Direction::h2d) ISTHMUS_TRY(move(pinned_.to, on_device_.to));
            ISTHMUS_TRY_ASSIGN(different, mismatch(direction == Direction::h2d ? pinned_.to : each.host->to));
            if (different.words == 0) continue;
            facts.repeats[each.rate].wrong =
                "wrong data: " + std::to_string(different.words) + " of " + std::to_string(copied_bytes / 8) +
                " 8-byte words differ, the first at byte " + std::to_string(8 * different.first_word);
            facts.is_wrong = true;
        }
    }
    return {};
}

Status Prepared::visit(Case& each, Facts& facts) {
    // After a warm-up it knows that its copies are long: both clocks then read the same copies, without a gate, so that
    // no kernel is loaded.
    ISTHMUS_TRY_ASSIGN(samples, each.transfer->run(1, {each.visit_samples, each.visit_samples, 0}));
    const std::vector<double>& taken = samples[experiment::host_seconds];
    std::vector<double>& kept = facts.repeats[each.rate].seconds;
    kept.insert(kept.end(), taken.begin(), taken.end());
    return {};
}

// What the library cannot copy is not the device's failure.
Status Prepared::visit_all(Facts& facts) {
    for (std::size_t i = 0; i < cases_.size();) {
        const RateOf rate = cases_[i].rate;
        Status status = visit(cases_[i], facts);
        if (!status.ok() && rate < rate_count) return status;
        if (status.ok()) {
            ++i;
            continue;
        }
        facts.repeats[rate] = {.seconds = {}, .wrong = "", .skipped = status.message()};
        cases_.erase(cases_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return {};
}

// NVML reads while its copies run; the kernel's files are read meanwhile.
Result<LinkReading> Prepared::read_link(const Facts& facts) {
    if (facts.link_source == "NVML") return experiment::read_link_under_load(*pinned_.from, *on_device_.to);
    Look seen;
    auto looking = start_thread("isthmus-link", [&](const std::stop_token& stop) {
        do {
            const Look look = look_at(facts.info.pci_address, root_);
            // One that ends after the copies may have seen an idle link.
            if (!stop.stop_requested() || !seen.is_visible) seen = look;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } while (!stop.stop_requested());
    });
    auto reading = experiment::read_link_under_load(*pinned_.from, *on_device_.to);
    looking.reset();
    if (reading.ok()) complete(reading.value(), seen);
    return reading;
}

Status Prepared::measure(Facts& facts) {
    if (cases_.empty()) return {};
    ISTHMUS_TRY_ASSIGN(arrived, arrives());
    facts.is_wrong = !arrived;
    if (for_run_) ISTHMUS_TRY(assign(facts.begun, read_link(facts)));
    for (int visits = 0; visits < least_visits; ++visits) ISTHMUS_TRY(visit_all(facts));
    const TimePoint begin = now();
    for (bool is_known = false; !is_known;) {
        is_known = true;
        for (Case& each : cases_) {
            if (each.rate >= rate_count) continue;
            std::vector<double> sorted = facts.repeats[each.rate].seconds;
            std::ranges::sort(sorted);
            facts.rates[each.rate] = summary(sorted, bytes_of(each.rate));
            if (half_width(sorted) <= enough || each.rate >= pageable_h2d) continue;
            if (seconds_between(begin, now()) >= most_seconds) continue;
            ISTHMUS_TRY(visit(each, facts));
            is_known = false;
        }
    }
    if (for_run_) ISTHMUS_TRY(verify_each(facts));
    ISTHMUS_TRY(assign(facts.loaded, read_link(facts)));
    ISTHMUS_TRY_ASSIGN(driver, cuda::Driver::get());
    facts.throttling = cuda::read_throttling(*driver, facts.info.pci_address);
    return {};
}

Status Prepared::copy_at_once(Facts& facts) {
    if (cases_.empty()) return {};
    for (const RateOf rate : {pinned_h2d, pinned_d2h}) {
        ISTHMUS_TRY_ASSIGN(samples, cases_[rate].transfer->run(0, {1, most_at_once, at_once_seconds}));
        facts.at_once[rate] = samples[experiment::device_seconds];
    }
    return {};
}

}  // namespace isthmus::checking
