// Where the memory of an OpenCL program lies, as records of copies have it.
//
// OpenCL tells no addresses of a device's memory: every buffer is given a range of addresses of its own, which no other
// has.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "driver/opencl_api.hpp"

namespace isthmus::tracer {

// Kinds are CUPTI's numbers of kinds of memory.
struct Place {
    std::uint64_t address = 0;
    std::uint8_t kind = 0;
};

struct Range {
    Place place;
    std::uint64_t bytes = 0;
};

// What the host sees of a buffer, or of shared virtual memory, until it is unmapped.
struct Mapping {
    Place device, host;
    std::uint64_t bytes = 0;
    bool reads = false, writes = false;
};

class MemoryMap {
  public:
    MemoryMap();

    Range add_buffer(opencl::Buffer buffer, opencl::Flags flags, std::uint64_t bytes);
    void add_part(opencl::Buffer part, opencl::Buffer whole, std::uint64_t offset, std::uint64_t bytes);
    // What is given back with it: nothing with a part.
    std::optional<Range> remove_buffer(opencl::Buffer buffer);
    Range add_shared(const void* memory, std::uint64_t bytes);
    std::optional<Range> remove_shared(const void* memory);

    // Of a buffer that was not seen to be made, and of images, the address is 0.
    Place in_buffer(opencl::Buffer buffer, std::uint64_t offset);
    // Memory that the program names by a pointer.
    Place at(const void* memory);

    Mapping add_mapping(opencl::Buffer buffer, const void* memory, opencl::Flags flags, std::uint64_t offset,
                        std::uint64_t bytes);
    Mapping add_shared_mapping(const void* memory, opencl::Flags flags, std::uint64_t bytes);
    // The buffer is null for shared memory.
    std::optional<Mapping> remove_mapping(opencl::Buffer buffer, const void* memory);

  private:
    struct Known {
        Range range;
        // Where the host sees the beginning of page-locked memory; 0 while it has not been mapped.
        std::uint64_t host = 0;
        // Of a buffer, whose memory it has.
        bool part = false;
    };
    Place place_at(std::uint64_t address) const;

    std::mutex mutex_;
    std::uint64_t next_address_;
    std::map<opencl::Buffer, Known> buffers_;
    // What is not pageable of the host's memory, by where it begins.
    std::map<std::uint64_t, Range> hosts_;
    std::multimap<std::pair<opencl::Buffer, const void*>, Mapping> mappings_;
};

}  // namespace isthmus::tracer
