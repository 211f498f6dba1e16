// What commands of OpenCL do, as records have it.
#pragma once

#include "tracer/opencl/recorder.hpp"

namespace isthmus::tracer {

// Of a command that moves nothing that is recorded.
Command nothing();
Command copy_to_device(Place host, Place device, std::uint64_t bytes, std::uint64_t rows = 1);
Command copy_to_host(Place device, Place host, std::uint64_t bytes, std::uint64_t rows = 1);
Command copy_on_device(Place source, Place destination, std::uint64_t bytes, std::uint64_t rows = 1);
// Between two pointers of which each may be to shared memory.
Command copy_between(Place source, Place destination, std::uint64_t bytes);
Command fill(std::uint64_t bytes);
Command kernel(opencl::Kernel kernel, trace::TraceFile& file);

// A section of a buffer or of the host's memory, as OpenCL describes it: three distances, and pitches that may be 0.
struct Section {
    const std::size_t* region = nullptr;
    std::uint64_t bytes() const { return region[0] * rows(); }
    std::uint64_t rows() const { return region[1] * region[2]; }
    std::uint64_t offset(const std::size_t* origin, std::size_t row_pitch_bytes, std::size_t slice_pitch_bytes) const;
};

}  // namespace isthmus::tracer
