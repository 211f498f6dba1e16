// Where the memory of an OpenCL program lies, as records of copies have it.
#include "tracer/opencl/memory_map.hpp"

#include "driver/cupti_api.hpp"

namespace isthmus::tracer {
namespace {

// Above every address that a program has.
constexpr std::uint64_t first_address = std::uint64_t{1} << 48;
constexpr std::uint64_t alignment = 4096;

constexpr auto pageable = static_cast<std::uint8_t>(cupti::memory_kind_pageable);
constexpr auto pinned = static_cast<std::uint8_t>(cupti::memory_kind_pinned);
constexpr auto device = static_cast<std::uint8_t>(cupti::memory_kind_device);
constexpr auto managed = static_cast<std::uint8_t>(cupti::memory_kind_managed);

std::uint64_t number(const void* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

Mapping mapping(opencl::Flags flags, std::uint64_t bytes) {
    // What is mapped for writing holds what the buffer holds, too, unless all of it is to be overwritten.
    return {.device = {},
            .host = {},
            .bytes = bytes,
            .reads = (flags & (opencl::map_read | opencl::map_write)) != 0,
            .writes = (flags & (opencl::map_write | opencl::map_write_invalidate_region)) != 0};
}

}  // namespace

MemoryMap::MemoryMap() : next_address_(first_address) {}

Range MemoryMap::add_buffer(opencl::Buffer buffer, opencl::Flags flags, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::uint8_t kind = (flags & opencl::mem_alloc_host_ptr) != 0 ? pinned : device;
    const Range range{{next_address_, kind}, bytes};
    next_address_ += (bytes / alignment + 1) * alignment;
    buffers_.insert_or_assign(buffer, Known{.range = range, .host = 0, .part = false});
    return range;
}

void MemoryMap::add_part(opencl::Buffer part, opencl::Buffer whole, std::uint64_t offset, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(whole);
    if (found == buffers_.end()) return;
    const Place& place = found->second.range.place;
    buffers_.insert_or_assign(part,
                              Known{.range = {{place.address + offset, place.kind}, bytes}, .host = 0, .part = true});
}

std::optional<Range> MemoryMap::remove_buffer(opencl::Buffer buffer) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return std::nullopt;
    const Known known = found->second;
    buffers_.erase(found);
    if (known.host != 0) hosts_.erase(known.host);
    return known.part ? std::nullopt : std::optional(known.range);
}

Range MemoryMap::add_shared(const void* memory, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const Range range{{number(memory), managed}, bytes};
    hosts_.insert_or_assign(number(memory), range);
    return range;
}

std::optional<Range> MemoryMap::remove_shared(const void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = hosts_.find(number(memory));
    if (found == hosts_.end() || found->second.place.kind != managed) return std::nullopt;
    const Range range = found->second;
    hosts_.erase(found);
    return range;
}

Place MemoryMap::in_buffer(opencl::Buffer buffer, std::uint64_t offset) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    return {found == buffers_.end() ? 0 : found->second.range.place.address + offset, device};
}

Place MemoryMap::at(const void* memory) {
    const std::lock_guard lock(mutex_);
    return place_at(number(memory));
}

Place MemoryMap::place_at(std::uint64_t address) const {
    auto next = hosts_.upper_bound(address);
    if (next != hosts_.begin()) {
        const auto& [start, range] = *--next;
        if (address - start < range.bytes) return {range.place.address + (address - start), range.place.kind};
    }
    return {address, pageable};
}

Mapping MemoryMap::add_mapping(opencl::Buffer buffer, const void* memory, opencl::Flags flags, std::uint64_t offset,
                               std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    Mapping made = mapping(flags, bytes);
    const auto found = buffers_.find(buffer);
    if (found != buffers_.end()) {
        Known& known = found->second;
        made.device = {known.range.place.address + offset, device};
        // Page-locked memory is so as a whole, also while it is not mapped.
        const std::uint64_t start = number(memory) - offset;
        if (known.range.place.kind == pinned && place_at(number(memory)).kind == pageable) {
            if (known.host != 0) hosts_.erase(known.host);
            known.host = start;
            hosts_.insert_or_assign(start, known.range);
        }
    }
    made.host = place_at(number(memory));
    mappings_.emplace(std::pair(buffer, memory), made);
    return made;
}

Mapping MemoryMap::add_shared_mapping(const void* memory, opencl::Flags flags, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    Mapping made = mapping(flags, bytes);
    made.device = made.host = place_at(number(memory));
    mappings_.emplace(std::pair(opencl::Buffer{}, memory), made);
    return made;
}

std::optional<Mapping> MemoryMap::remove_mapping(opencl::Buffer buffer, const void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = mappings_.find(std::pair(buffer, memory));
    if (found == mappings_.end()) return std::nullopt;
    const Mapping removed = found->second;
    mappings_.erase(found);
    return removed;
}

}  // namespace isthmus::tracer
