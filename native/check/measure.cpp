// Measures a CUDA device and reads its state.
#include "check/measure.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cuda/cuda_device.hpp"
#include "backend/cuda/describe.hpp"
#include "base/numa.hpp"
#include "check/sysfs.hpp"

namespace isthmus::checking {
namespace {

constexpr std::size_t copied_bytes = std::size_t{64} << 20;
// Copies that are queued behind one another, and how often that is timed. Pageable copies occupy the host.
constexpr int queued = 4, repeats = 9, pageable_repeats = 5;

// The median, and the half width of the middle half around it, which one late repeat does not widen.
Rate summary(std::vector<double> rates) {
    std::ranges::sort(rates);
    const double median = rates[rates.size() / 2];
    const std::size_t quarter = rates.size() / 4;
    return {median, (rates[rates.size() - 1 - quarter] - rates[quarter]) / 2 / median};
}

}  // namespace

Result<int> count_devices() {
    const BackendListing listing = cuda::list_devices();
    if (listing.devices.empty()) return Status(Code::device_absent, listing.absent_because);
    return static_cast<int>(listing.devices.size());
}

Result<std::unique_ptr<Prepared>> Prepared::open(int index, Facts& facts) {
    ISTHMUS_TRY_ASSIGN(driver, cuda::Driver::get());
    ISTHMUS_TRY(assign(facts.info, cuda::describe(*driver, index)));
    facts.use = cuda::read_use(*driver, facts.info.pci_address);
    read_errors(facts);
    facts.near_node = near_node(facts.info.pci_address);
    // Memory is near the device where a container allows it.
    if (const auto node = node_of_pci_device(facts.info.pci_address)) bind_as_allowed(*node);
    if (const auto node = node_of_thread()) facts.bound_node = node->index;
    std::unique_ptr<Prepared> made(new Prepared);
    ISTHMUS_TRY(assign(made->device_, cuda::open_device(index)));
    Device& device = *made->device_;
    ISTHMUS_TRY(device.bind_thread());
    ISTHMUS_TRY(assign(made->pinned_, device.allocate(MemoryKind::pinned, copied_bytes)));
    ISTHMUS_TRY(assign(made->other_pinned_, device.allocate(MemoryKind::pinned, copied_bytes)));
    ISTHMUS_TRY(assign(made->pageable_, device.allocate(MemoryKind::pageable, copied_bytes)));
    ISTHMUS_TRY(assign(made->on_device_, device.allocate(MemoryKind::device, copied_bytes)));
    ISTHMUS_TRY(assign(made->other_on_device_, device.allocate(MemoryKind::device, copied_bytes)));
    ISTHMUS_TRY(assign(made->stream_, device.create_stream()));
    ISTHMUS_TRY(assign(made->other_stream_, device.create_stream()));
    for (auto* event : {&made->begun_, &made->ended_, &made->other_ended_}) {
        ISTHMUS_TRY(assign(*event, device.create_event()));
    }
    facts.bytes = copied_bytes;
    return made;
}

Prepared::Copy Prepared::to_device(MemoryKind kind) const {
    Allocation* const host = kind == MemoryKind::pinned ? pinned_.get() : pageable_.get();
    return {{on_device_.get(), 0, copied_bytes}, {host, 0, copied_bytes}, stream_.get()};
}

Prepared::Copy Prepared::to_host(MemoryKind kind) const {
    Allocation* const host = kind == MemoryKind::pinned ? other_pinned_.get() : pageable_.get();
    return {{host, 0, copied_bytes}, {other_on_device_.get(), 0, copied_bytes}, other_stream_.get()};
}

// Whether what was sent and fetched again is the same; it warms up both directions.
Result<bool> Prepared::arrives() {
    auto* const words = reinterpret_cast<std::uint64_t*>(pinned_->host());
    for (std::size_t i = 0; i < copied_bytes / sizeof *words; ++i) words[i] = (i + 1) * 0x9E3779B97F4A7C15U;
    std::memset(other_pinned_->host(), 0, copied_bytes);
    const Copy there = to_device(MemoryKind::pinned);
    ISTHMUS_TRY(synchronized(device_->copy(*stream_, there.to, there.from), *stream_));
    const Region back{other_pinned_.get(), 0, copied_bytes};
    ISTHMUS_TRY(synchronized(device_->copy(*stream_, back, there.to), *stream_));
    return std::memcmp(pinned_->host(), other_pinned_->host(), copied_bytes) == 0;
}

Result<Rate> Prepared::rate(const Copy& copy, int times) {
    const int each = copy.from.allocation == pageable_.get() || copy.to.allocation == pageable_.get() ? 1 : queued;
    std::vector<double> rates;
    // The first one is not counted.
    for (int repeat = 0; repeat <= times; ++repeat) {
        ISTHMUS_TRY(device_->record(*begun_, *copy.stream));
        for (int i = 0; i < each; ++i) ISTHMUS_TRY(device_->copy(*copy.stream, copy.to, copy.from));
        ISTHMUS_TRY(device_->record(*ended_, *copy.stream));
        ISTHMUS_TRY(copy.stream->synchronize());
        ISTHMUS_TRY_ASSIGN(seconds, device_->seconds_between(*begun_, *ended_));
        if (repeat > 0) rates.push_back(each * static_cast<double>(copied_bytes) / std::max(seconds, 1e-9));
    }
    return summary(std::move(rates));
}

// Both begin behind one event; the link is read while they run.
Result<Rate> Prepared::rate_of_both(Facts& facts) {
    const Copy there = to_device(MemoryKind::pinned);
    const Copy back = to_host(MemoryKind::pinned);
    ISTHMUS_TRY_ASSIGN(driver, cuda::Driver::get());
    std::vector<double> rates;
    for (int repeat = 0; repeat <= repeats; ++repeat) {
        ISTHMUS_TRY(device_->record(*begun_, *there.stream));
        ISTHMUS_TRY(device_->wait(*back.stream, *begun_));
        for (int i = 0; i < queued; ++i) {
            ISTHMUS_TRY(device_->copy(*there.stream, there.to, there.from));
            ISTHMUS_TRY(device_->copy(*back.stream, back.to, back.from));
        }
        ISTHMUS_TRY(device_->record(*ended_, *there.stream));
        ISTHMUS_TRY(device_->record(*other_ended_, *back.stream));
        if (repeat == repeats) {
            facts.loaded = cuda::read_link(*driver, facts.info.pci_address);
            facts.throttling = cuda::read_throttling(*driver, facts.info.pci_address);
        }
        ISTHMUS_TRY(there.stream->synchronize());
        ISTHMUS_TRY(back.stream->synchronize());
        ISTHMUS_TRY_ASSIGN(seconds, device_->seconds_between(*begun_, *ended_));
        ISTHMUS_TRY_ASSIGN(other_seconds, device_->seconds_between(*begun_, *other_ended_));
        const double longer = std::max({seconds, other_seconds, 1e-9});
        if (repeat > 0) rates.push_back(2 * queued * static_cast<double>(copied_bytes) / longer);
    }
    return summary(std::move(rates));
}

Status Prepared::measure(Facts& facts) {
    ISTHMUS_TRY_ASSIGN(arrived, arrives());
    facts.is_wrong = !arrived;
    auto& rates = facts.rates;
    ISTHMUS_TRY(assign(rates[pinned_h2d], rate(to_device(MemoryKind::pinned), repeats)));
    ISTHMUS_TRY(assign(rates[pinned_d2h], rate(to_host(MemoryKind::pinned), repeats)));
    ISTHMUS_TRY(assign(rates[pageable_h2d], rate(to_device(MemoryKind::pageable), pageable_repeats)));
    ISTHMUS_TRY(assign(rates[pageable_d2h], rate(to_host(MemoryKind::pageable), pageable_repeats)));
    return assign(rates[pinned_both], rate_of_both(facts));
}

}  // namespace isthmus::checking
