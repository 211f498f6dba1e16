// Memory of callers that is page-locked where it is.
#include "transfer/pinned/pinned_range.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/fork.hpp"
#include "base/pages.hpp"
#include "base/threads.hpp"
#include "transfer/pinned/page_locked.hpp"

namespace isthmus {

struct PinnedRange::Locked {
    std::shared_ptr<Device> device;
    std::unique_ptr<Allocation> memory;
    std::uintptr_t begin = 0, end = 0;
    std::size_t uses = 0;                     // guarded by the mutex of all
    unsigned generation = fork_generation();  // of the process: forks so far
};

namespace {

// What this library has page-locked in the process, by backend and first byte: one registration serves all devices.
struct Ranges {
    std::mutex mutex;  // also held while the driver locks and unlocks, so that nothing is found half locked
    std::map<std::pair<std::string, std::uintptr_t>, PinnedRange::Locked> locked;
    const unsigned generation = fork_generation();

    // The child of a fork begins with none: what the parent locked is the parent's, and so may be the mutex.
    static Ranges& get() {
        static std::atomic<Ranges*> current{nullptr};
        Ranges* ranges = current.load();
        while (ranges == nullptr || ranges->generation != fork_generation()) {
            auto made = std::make_unique<Ranges>();
            // Never destroyed: memory may be given back while the process ends.
            if (current.compare_exchange_strong(ranges, made.get())) ranges = made.release();
        }
        return *ranges;
    }
};

std::string hex(std::uintptr_t address) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
    return text.data();
}

Status overlaps(std::uintptr_t address, std::size_t bytes) {
    return invalid("the " + std::to_string(bytes) + " bytes from " + hex(address) +
                   " on are page-locked in part, and a driver locks no byte twice: pin the whole array that they are a "
                   "part of, or close what pins a part of them first");
}

// Pinned where all of it is page-locked, pageable where nothing is that the driver tells of.
Result<MemoryKind> kind_of(Device& device, std::uintptr_t address, std::size_t bytes) {
    ISTHMUS_TRY_ASSIGN(first, device.identify(address));
    ISTHMUS_TRY_ASSIGN(last, device.identify(address + (bytes - 1)));
    for (const MemoryKind kind : {first.kind, last.kind}) {
        if (kind == MemoryKind::pinned || kind == MemoryKind::pageable) continue;
        return invalid("the memory at " + hex(address) + " is " + std::string(name_of(kind)) +
                       " memory; only ordinary memory of the host can be page-locked");
    }
    const bool is_one = first.begin >= first.end || first.end - address >= bytes;
    if (first.kind != last.kind || (first.kind == MemoryKind::pinned && !is_one)) return overlaps(address, bytes);
    return first.kind;
}

// One of ours that the range is in; null where none is near it.
Result<PinnedRange::Locked*> found_in(Ranges& ranges, const std::string& backend, std::uintptr_t address,
                                      std::size_t bytes) {
    for (auto& [key, locked] : ranges.locked) {
        if (key.first != backend || locked.begin >= address + bytes || locked.end <= address) continue;
        if (locked.begin > address || address + bytes > locked.end) return overlaps(address, bytes);
        return &locked;
    }
    return static_cast<PinnedRange::Locked*>(nullptr);
}

}  // namespace

PinnedRange::~PinnedRange() {
    if (locked_ == nullptr || locked_->generation != fork_generation()) return;
    (void)caught([&]() -> Status {
        Ranges& ranges = Ranges::get();
        const std::shared_ptr<Device> device = locked_->device;
        const std::lock_guard lock(ranges.mutex);
        if (--locked_->uses > 0) return {};
        const Binding binding(*device);
        ranges.locked.erase({device->info().backend, locked_->begin});
        return {};
    });
}

Result<PinnedRange> PinnedRange::lock(const std::shared_ptr<Device>& device, std::uintptr_t address,
                                      std::size_t bytes) {
    const DeviceInfo& info = device->info();
    if (!info.has_addresses) {
        return unsupported("OpenCL page-locks no memory that is there already: use isthmus.pinned_empty");
    }
    if (bytes > UINTPTR_MAX - address) return invalid("the range exceeds the address space");
    auto* const data = reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
    Ranges& ranges = Ranges::get();
    const std::lock_guard lock(ranges.mutex);
    ISTHMUS_TRY_ASSIGN(ours, found_in(ranges, info.backend, address, bytes));
    if (ours != nullptr) {
        ++ours->uses;
        return PinnedRange(ours);
    }
    ISTHMUS_TRY_ASSIGN(kind, kind_of(*device, address, bytes));
    if (kind == MemoryKind::pinned) return PinnedRange(nullptr);
    ISTHMUS_TRY_ASSIGN(memory, device->reserve(MemoryKind::registered, bytes, data));
    // Threads are quicker than the driver, which puts in place what was never touched page by page.
    populate_pages(data, bytes);
    const auto entry = ranges.locked.try_emplace({info.backend, address}).first;
    Locked& locked = entry->second;
    Status status = memory->prepare();
    if (status.ok()) status = memory->acquire();
    if (!status.ok()) {
        ranges.locked.erase(entry);
        return with_limits(std::move(status), bytes);
    }
    locked.device = device;
    locked.memory = std::move(memory);
    locked.begin = address;
    locked.end = address + bytes;
    locked.uses = 1;
    return PinnedRange(&locked);
}

}  // namespace isthmus
