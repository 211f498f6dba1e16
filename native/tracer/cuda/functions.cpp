// What a function of CUDA does to a program's data.
#include "tracer/cuda/functions.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "driver/cuda_api.hpp"
#include "driver/cupti_api.hpp"

namespace isthmus::tracer {
namespace {

struct RoleOf {
    std::string_view prefix;
    Role role;
};
// The first that fits.
constexpr std::array roles{
    RoleOf{"cudaMemcpy", Role::copy},
    RoleOf{"cuMemcpy", Role::copy},
    RoleOf{"cudaMemset", Role::fill},
    RoleOf{"cuMemset", Role::fill},
    RoleOf{"cudaMemPrefetch", Role::other},
    RoleOf{"cuMemPrefetch", Role::other},
    RoleOf{"cudaMemAdvise", Role::other},
    RoleOf{"cuMemAdvise", Role::other},
    RoleOf{"cudaDeviceSynchronize", Role::wait},
    RoleOf{"cudaThreadSynchronize", Role::wait},
    RoleOf{"cudaStreamSynchronize", Role::wait},
    RoleOf{"cudaEventSynchronize", Role::wait},
    RoleOf{"cuCtxSynchronize", Role::wait},
    RoleOf{"cuStreamSynchronize", Role::wait},
    RoleOf{"cuEventSynchronize", Role::wait},
    RoleOf{"cudaMalloc", Role::allocate},
    RoleOf{"cudaHostAlloc", Role::allocate},
    RoleOf{"cudaHostRegister", Role::allocate},
    RoleOf{"cuMemAlloc", Role::allocate},
    RoleOf{"cuMemHostAlloc", Role::allocate},
    RoleOf{"cuMemHostRegister", Role::allocate},
    RoleOf{"cudaFree", Role::release},
    RoleOf{"cudaHostUnregister", Role::release},
    RoleOf{"cuMemFree", Role::release},
    RoleOf{"cuMemHostUnregister", Role::release},
    RoleOf{"cudaLaunch", Role::launch},
    RoleOf{"cudaGraphLaunch", Role::graph_launch},
    RoleOf{"cuLaunch", Role::launch},
    RoleOf{"cuGraphLaunch", Role::graph_launch},
    RoleOf{"cudaGraphics", Role::ignored},
    RoleOf{"cuGraphics", Role::ignored},
    RoleOf{"cudaGraph", Role::graph},
    RoleOf{"cuGraph", Role::graph},
    RoleOf{"cudaStreamBeginCapture", Role::graph},
    RoleOf{"cuStreamBeginCapture", Role::graph},
};

// The name without what CUDA appends for versions and for the stream of each thread.
std::string_view stem_of(std::string_view function) {
    for (;;) {
        const std::size_t mark = function.rfind('_');
        if (mark == std::string_view::npos) return function;
        const std::string_view suffix = function.substr(mark + 1);
        const bool version = suffix.size() > 1 && suffix[0] == 'v' &&
                             std::all_of(suffix.begin() + 1, suffix.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (!version && suffix != "ptds" && suffix != "ptsz") return function;
        function = function.substr(0, mark);
    }
}

template <typename T>
T at(const void* parameters, std::size_t offset) {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(parameters) + offset, sizeof value);
    return value;
}

// Of pointers to what a call wrote; 0 where it was given none.
std::uint64_t pointed_at(const void* parameters, std::size_t offset) {
    const auto* place = at<const std::uint64_t*>(parameters, offset);
    return place != nullptr ? *place : 0;
}

constexpr std::array linear_copies{
    LinearCopy{"cuMemcpyHtoD", 8, 0, 16, cupti::memcpy_kind_htod},
    LinearCopy{"cuMemcpyHtoDAsync", 8, 0, 16, cupti::memcpy_kind_htod, 24},
    LinearCopy{"cuMemcpyDtoH", 8, 0, 16, cupti::memcpy_kind_dtoh},
    LinearCopy{"cuMemcpyDtoHAsync", 8, 0, 16, cupti::memcpy_kind_dtoh, 24},
    LinearCopy{"cuMemcpyDtoD", 8, 0, 16, cupti::memcpy_kind_dtod},
    LinearCopy{"cuMemcpyDtoDAsync", 8, 0, 16, cupti::memcpy_kind_dtod, 24},
    LinearCopy{"cuMemcpy", 8, 0, 16, 0},
    LinearCopy{"cuMemcpyAsync", 8, 0, 16, 0, 24},
    LinearCopy{"cuMemcpyPeer", 16, 0, 32, cupti::memcpy_kind_ptop},
    LinearCopy{"cuMemcpyPeerAsync", 16, 0, 32, cupti::memcpy_kind_ptop, 40},
    LinearCopy{"cudaMemcpy", 8, 0, 16, 0, 0, 24},
    LinearCopy{"cudaMemcpyAsync", 8, 0, 16, 0, 32, 24},
};

// cudaMemcpyKind: to the device, from it, within it.
std::uint8_t copy_kind_of_runtime(int kind) {
    constexpr std::array<std::uint8_t, 4> kinds{0, cupti::memcpy_kind_htod, cupti::memcpy_kind_dtoh,
                                                cupti::memcpy_kind_dtod};
    return kind > 0 && kind < 4 ? kinds[static_cast<std::size_t>(kind)] : 0;
}

std::uint8_t copy_kind_between(int source, int destination) {
    if (source == cuda::memory_type_host && destination == cuda::memory_type_device) return cupti::memcpy_kind_htod;
    if (source == cuda::memory_type_device && destination == cuda::memory_type_host) return cupti::memcpy_kind_dtoh;
    if (source == cuda::memory_type_device && destination == cuda::memory_type_device) return cupti::memcpy_kind_dtod;
    return 0;
}

// Where a section begins; 0 in an array, which has no address.
template <typename Section>
CopyOperands of_section(const Section& section) {
    const auto side = [](int type, const void* host, cuda::DevicePointer device, std::size_t offset) -> std::uint64_t {
        if (type == cuda::memory_type_host) return reinterpret_cast<std::uint64_t>(host) + offset;
        constexpr int unified = 4;
        return type == cuda::memory_type_device || type == unified ? device + offset : 0;
    };
    return {.source = side(section.source_type, section.source_host, section.source_device,
                           section.source_y * section.source_pitch_bytes + section.source_x_bytes),
            .destination = side(section.destination_type, section.destination_host, section.destination_device,
                                section.destination_y * section.destination_pitch_bytes + section.destination_x_bytes),
            .bytes = section.width_bytes * section.height,
            .rows = static_cast<std::uint32_t>(section.height),
            .copy_kind = copy_kind_between(section.source_type, section.destination_type)};
}

struct MemoryLayout {
    std::string_view stem;
    // Whether the first parameter points to the address, rather than being it; and where the size stands, if it does.
    bool pointed;
    std::size_t bytes;
    std::uint16_t kind;
};
constexpr std::array memory_layouts{
    MemoryLayout{"cuMemAlloc", true, 8, cupti::memory_kind_device},
    MemoryLayout{"cuMemAllocAsync", true, 8, cupti::memory_kind_device},
    MemoryLayout{"cuMemAllocFromPoolAsync", true, 8, cupti::memory_kind_device},
    MemoryLayout{"cuMemAllocManaged", true, 8, cupti::memory_kind_managed},
    MemoryLayout{"cuMemAllocHost", true, 8, cupti::memory_kind_pinned},
    MemoryLayout{"cuMemHostAlloc", true, 8, cupti::memory_kind_pinned},
    MemoryLayout{"cuMemHostRegister", false, 8, cupti::memory_kind_pinned},
    MemoryLayout{"cuMemFree", false, 0, cupti::memory_kind_device},
    MemoryLayout{"cuMemFreeAsync", false, 0, cupti::memory_kind_device},
    MemoryLayout{"cuMemFreeHost", false, 0, cupti::memory_kind_pinned},
    MemoryLayout{"cuMemHostUnregister", false, 0, cupti::memory_kind_pinned},
    MemoryLayout{"cudaMalloc", true, 8, cupti::memory_kind_device},
    MemoryLayout{"cudaMallocAsync", true, 8, cupti::memory_kind_device},
    MemoryLayout{"cudaMallocManaged", true, 8, cupti::memory_kind_managed},
    MemoryLayout{"cudaMallocHost", true, 8, cupti::memory_kind_pinned},
    MemoryLayout{"cudaHostAlloc", true, 8, cupti::memory_kind_pinned},
    MemoryLayout{"cudaHostRegister", false, 8, cupti::memory_kind_pinned},
    MemoryLayout{"cudaFree", false, 0, cupti::memory_kind_device},
    MemoryLayout{"cudaFreeAsync", false, 0, cupti::memory_kind_device},
    MemoryLayout{"cudaFreeHost", false, 0, cupti::memory_kind_pinned},
    MemoryLayout{"cudaHostUnregister", false, 0, cupti::memory_kind_pinned},
};

}  // namespace

Role role_of(std::string_view function) {
    const auto* found =
        std::find_if(roles.begin(), roles.end(), [&](const RoleOf& each) { return function.starts_with(each.prefix); });
    return found == roles.end() ? Role::ignored : found->role;
}

std::optional<LinearCopy> linear_copy(std::string_view function) {
    const std::string_view stem = stem_of(function);
    const auto* found = std::find_if(linear_copies.begin(), linear_copies.end(),
                                     [&](const LinearCopy& each) { return each.stem == stem; });
    if (found == linear_copies.end()) return std::nullopt;
    LinearCopy layout = *found;
    layout.thread_stream =
        function.find("_ptsz") != std::string_view::npos || function.find("_ptds") != std::string_view::npos;
    return layout;
}

CopyOperands copy_operands(const LinearCopy& layout, const void* parameters) {
    return {.source = at<std::uint64_t>(parameters, layout.source),
            .destination = at<std::uint64_t>(parameters, layout.destination),
            .bytes = at<std::uint64_t>(parameters, layout.bytes),
            .rows = 1,
            .copy_kind = layout.from_runtime != 0 ? copy_kind_of_runtime(at<int>(parameters, layout.from_runtime))
                                                  : layout.copy_kind,
            .stream = layout.stream != 0 ? at<std::uint64_t>(parameters, layout.stream) : 0,
            .thread_stream = layout.thread_stream};
}

std::optional<CopyOperands> copy_operands(std::string_view function, const void* parameters) {
    if (const auto layout = linear_copy(function)) return copy_operands(*layout, parameters);
    const std::string_view stem = stem_of(function);
    if (stem == "cuMemcpy2D" || stem == "cuMemcpy2DUnaligned" || stem == "cuMemcpy2DAsync") {
        const auto* section = at<const cuda::Copy2d*>(parameters, 0);
        if (section != nullptr) return of_section(*section);
    }
    if (stem == "cuMemcpy3D" || stem == "cuMemcpy3DAsync") {
        const auto* section = at<const cuda::Copy3d*>(parameters, 0);
        if (section == nullptr) return std::nullopt;
        CopyOperands found = of_section(*section);
        found.bytes *= section->depth;
        found.rows *= static_cast<std::uint32_t>(section->depth);
        const std::size_t source_slice = section->source_pitch_bytes * section->source_height;
        const std::size_t destination_slice = section->destination_pitch_bytes * section->destination_height;
        if (found.source != 0) found.source += section->source_z * source_slice;
        if (found.destination != 0) found.destination += section->destination_z * destination_slice;
        return found;
    }
    return std::nullopt;
}

std::optional<Memory> memory_of(std::string_view function, const void* parameters) {
    const std::string_view stem = stem_of(function);
    const auto* found = std::find_if(memory_layouts.begin(), memory_layouts.end(),
                                     [&](const MemoryLayout& each) { return each.stem == stem; });
    if (found == memory_layouts.end()) {
        if (stem != "cuMemAllocPitch") return std::nullopt;
        return Memory{.address = pointed_at(parameters, 0),
                      .bytes = pointed_at(parameters, 8) * at<std::uint64_t>(parameters, 24),
                      .kind = cupti::memory_kind_device};
    }
    return Memory{.address = found->pointed ? pointed_at(parameters, 0) : at<std::uint64_t>(parameters, 0),
                  .bytes = found->bytes != 0 ? at<std::uint64_t>(parameters, found->bytes) : 0,
                  .kind = found->kind};
}

}  // namespace isthmus::tracer
