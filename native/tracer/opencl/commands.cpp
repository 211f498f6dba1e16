// What commands of OpenCL do, as records have it.
#include "tracer/opencl/commands.hpp"

#include <algorithm>
#include <array>

#include "driver/cupti_api.hpp"
#include "tracer/opencl/originals.hpp"

namespace isthmus::tracer {
namespace {

Command copy(int kind, Place source, Place destination, std::uint64_t bytes, std::uint64_t rows) {
    constexpr std::uint64_t most_rows = UINT32_MAX;
    return {.what = Command::What::copy,
            .copy_kind = static_cast<std::uint8_t>(kind),
            .source = source,
            .destination = destination,
            .bytes = bytes,
            .rows = static_cast<std::uint32_t>(std::min(rows, most_rows))};
}

}  // namespace

Command nothing() {
    return {};
}

Command copy_to_device(Place host, Place device, std::uint64_t bytes, std::uint64_t rows) {
    return copy(cupti::memcpy_kind_htod, host, device, bytes, rows);
}

Command copy_to_host(Place device, Place host, std::uint64_t bytes, std::uint64_t rows) {
    return copy(cupti::memcpy_kind_dtoh, device, host, bytes, rows);
}

Command copy_on_device(Place source, Place destination, std::uint64_t bytes, std::uint64_t rows) {
    return copy(cupti::memcpy_kind_dtod, source, destination, bytes, rows);
}

Command copy_between(Place source, Place destination, std::uint64_t bytes) {
    const bool from_shared = source.kind == cupti::memory_kind_managed;
    const bool to_shared = destination.kind == cupti::memory_kind_managed;
    const int within = from_shared ? cupti::memcpy_kind_dtod : cupti::memcpy_kind_htoh;
    const int across = from_shared ? cupti::memcpy_kind_dtoh : cupti::memcpy_kind_htod;
    return copy(from_shared == to_shared ? within : across, source, destination, bytes, 1);
}

Command fill(std::uint64_t bytes) {
    Command made;
    made.what = Command::What::fill;
    made.bytes = bytes;
    return made;
}

Command kernel(opencl::Kernel kernel, trace::TraceFile& file) {
    Command made;
    made.what = Command::What::kernel;
    std::array<char, 512> name{};
    const auto& info = originals().clGetKernelInfo;
    // A name that is longer is left out.
    if (info && info(kernel, opencl::kernel_function_name, name.size(), name.data(), nullptr) == opencl::success) {
        made.name = file.text(name.data());
    }
    return made;
}

std::uint64_t Section::offset(const std::size_t* origin, std::size_t row_pitch_bytes,
                              std::size_t slice_pitch_bytes) const {
    const std::size_t row = row_pitch_bytes != 0 ? row_pitch_bytes : region[0];
    const std::size_t slice = slice_pitch_bytes != 0 ? slice_pitch_bytes : region[1] * row;
    return origin[2] * slice + origin[1] * row + origin[0];
}

}  // namespace isthmus::tracer
