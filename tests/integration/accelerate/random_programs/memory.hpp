// The memory of lanes: some of each kind, kept from one program to the next as programs keep theirs.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <utility>

#include "api.hpp"
#include "dice.hpp"
#include "shapes.hpp"

inline constexpr std::size_t slot_bytes = Shapes::slot_bytes, most_lanes = 3, page_bytes = 4096;
inline constexpr std::size_t stack_bytes = std::size_t{1} << 20;
// Of the main thread, which it sets.
inline std::byte* stack_memory = nullptr;

class HostSlot {
  public:
    HostSlot(HostKind kind, std::size_t lane) : kind_(kind) {
        switch (kind) {
            case HostKind::heap:
                heap_ = std::make_unique<std::byte[]>(slot_bytes + 64);
                memory_ = heap_.get() + 1 + lane * 13;  // of any alignment
                break;
            case HostKind::stack: memory_ = stack_memory + lane * stack_bytes; break;
            case HostKind::file_shared:
            case HostKind::file_private: map_file(); break;
            case HostKind::guarded:
                map(slot_bytes + page_bytes);
                expect(mprotect(memory_ + slot_bytes, page_bytes, PROT_NONE) == 0);
                break;
            case HostKind::pinned: allocate(0); break;
            case HostKind::pinned_portable: allocate(host_alloc_portable); break;
            case HostKind::pinned_mapped: allocate(host_alloc_device_map); break;
            case HostKind::managed: {
                DevicePointer address = 0;
                if (call(more->cuMemAllocManaged, &address, slot_bytes, mem_attach_global) != success) break;
                memory_ = reinterpret_cast<std::byte*>(address);
                break;
            }
            default:
                map(slot_bytes);
                if (kind == HostKind::huge) madvise(memory_, slot_bytes, MADV_HUGEPAGE);
                if (kind == HostKind::registered) lock(0, slot_bytes);
                // The lanes' first bytes are pageable, what follows is not.
                if (kind == HostKind::registered_in_part) lock(std::size_t{128} << 10, slot_bytes / 2);
        }
        if (memory_ == nullptr) {
            kind_ = HostKind::anonymous;
            map(slot_bytes);
        }
    }
    ~HostSlot() {
        if (locked_ != nullptr) driver->cuMemHostUnregister(locked_);
        if (mapped_bytes_ != 0) munmap(memory_, mapped_bytes_);
        if (is_pinned_) driver->cuMemFreeHost(memory_);
        if (kind_ == HostKind::managed) driver->cuMemFree(at(memory_));
    }
    HostSlot(const HostSlot&) = delete;
    HostSlot& operator=(const HostSlot&) = delete;

    // So many bytes of it; of what is guarded the last.
    std::byte* data(std::size_t extent) { return kind_ == HostKind::guarded ? memory_ + slot_bytes - extent : memory_; }
    void fill(std::size_t extent, std::uint64_t seed) {
        if (kind_ == HostKind::untouched) {
            // As if it had just been mapped.
            madvise(memory_, slot_bytes, MADV_DONTNEED);
            return;
        }
        const bool is_read_only = kind_ == HostKind::read_only;
        if (is_read_only) mprotect(memory_, slot_bytes, PROT_READ | PROT_WRITE);
        fill_bytes(data(extent), extent, seed);
        if (is_read_only) mprotect(memory_, slot_bytes, PROT_READ);
    }

  private:
    void map(std::size_t bytes) {
        void* const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        expect(found != MAP_FAILED);
        memory_ = static_cast<std::byte*>(found);
        mapped_bytes_ = bytes;
    }
    void map_file() {
        const int file = memfd_create("differential", 0);
        expect(file >= 0 && ftruncate(file, slot_bytes) == 0);
        const int flags = kind_ == HostKind::file_shared ? MAP_SHARED : MAP_PRIVATE;
        void* const found = mmap(nullptr, slot_bytes, PROT_READ | PROT_WRITE, flags, file, 0);
        expect(found != MAP_FAILED);
        close(file);
        memory_ = static_cast<std::byte*>(found);
        mapped_bytes_ = slot_bytes;
    }
    void allocate(unsigned flags) {
        void* found = nullptr;
        is_pinned_ = driver->cuMemHostAlloc(&found, slot_bytes, flags) == success;
        if (is_pinned_) memory_ = static_cast<std::byte*>(found);
    }
    void lock(std::size_t begin, std::size_t bytes) {
        fill_bytes(memory_, slot_bytes, 1);
        if (driver->cuMemHostRegister(memory_ + begin, bytes, 0) == success) locked_ = memory_ + begin;
    }

    HostKind kind_;
    std::unique_ptr<std::byte[]> heap_;
    std::byte* memory_ = nullptr;
    std::byte* locked_ = nullptr;
    std::size_t mapped_bytes_ = 0;
    bool is_pinned_ = false;
};

class DeviceSlot {
  public:
    explicit DeviceSlot(DeviceKind kind) : kind_(kind) {
        if (kind == DeviceKind::mapped) map();
        if (kind == DeviceKind::pooled && call(more->cuMemAllocAsync, &memory_, slot_bytes, Stream{}) == success) {
            expect(driver->cuStreamSynchronize(nullptr) == success);
        }
        if (kind == DeviceKind::managed) (void)call(more->cuMemAllocManaged, &memory_, slot_bytes, mem_attach_global);
        if (memory_ == 0) expect(driver->cuMemAlloc(&memory_, slot_bytes) == success);
    }
    ~DeviceSlot() {
        // What is mapped stays: the process has a few of it.
        if (!is_mapped_) driver->cuMemFree(memory_);
    }
    DeviceSlot(const DeviceSlot&) = delete;
    DeviceSlot& operator=(const DeviceSlot&) = delete;
    DevicePointer address() const { return memory_; }

  private:
    // Of two parts in one range, behind which nothing is mapped.
    void map() {
        if (more->cuMemCreate == nullptr || more->cuMemAddressReserve == nullptr) return;
        MappedProperties properties{};
        properties.type = allocation_type_pinned;
        properties.location = {location_type_device, 0};
        constexpr std::size_t part = slot_bytes / 2;
        DevicePointer range = 0;
        if (more->cuMemAddressReserve(&range, 2 * slot_bytes, 0, 0, 0) != success) return;
        for (std::size_t i = 0; i < 2; ++i) {
            unsigned long long handle = 0;
            if (more->cuMemCreate(&handle, part, &properties, 0) != success) return;
            if (more->cuMemMap(range + i * part, part, 0, handle, 0) != success) return;
        }
        const MappedAccess access{{location_type_device, 0}, 3};
        is_mapped_ = more->cuMemSetAccess(range, slot_bytes, &access, 1) == success;
        if (is_mapped_) memory_ = range;
    }
    DeviceKind kind_;
    DevicePointer memory_ = 0;
    bool is_mapped_ = false;
};

class Slots {
  public:
    HostSlot& host(HostKind kind, std::size_t lane, bool is_fresh) {
        auto& slot = hosts_[{kind, lane}];
        if (is_fresh) slot.reset();
        if (slot == nullptr) slot = std::make_unique<HostSlot>(kind, lane);
        return *slot;
    }
    DeviceSlot& device(DeviceKind kind, std::size_t lane, bool is_fresh) {
        auto& slot = devices_[{kind, lane}];
        if (is_fresh && kind != DeviceKind::mapped) slot.reset();
        if (slot == nullptr) slot = std::make_unique<DeviceSlot>(kind);
        return *slot;
    }
    // Of a context that is gone.
    void forget() {
        for (auto& [key, slot] : hosts_) (void)slot.release();
        for (auto& [key, slot] : devices_) (void)slot.release();
        hosts_.clear();
        devices_.clear();
    }

  private:
    std::map<std::pair<HostKind, std::size_t>, std::unique_ptr<HostSlot>> hosts_;
    std::map<std::pair<DeviceKind, std::size_t>, std::unique_ptr<DeviceSlot>> devices_;
};
