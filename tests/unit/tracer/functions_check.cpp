// Parameters of calls as CUDA lays them out, and what is read from them.
#include <cassert>
#include <cstdlib>

#include "driver/cuda_api.hpp"
#include "driver/cupti_api.hpp"
#include "tracer/content.hpp"
#include "tracer/cuda/functions.hpp"

using namespace isthmus;
using namespace isthmus::tracer;

#define EXPECT(condition) \
    if (!(condition)) return std::abort()

static void roles() {
    EXPECT(role_of("cudaMemcpyAsync_ptsz") == Role::copy);
    EXPECT(role_of("cuMemcpyHtoD_v2") == Role::copy);
    EXPECT(role_of("cudaMemcpyToSymbol_v3020") == Role::copy);
    EXPECT(role_of("cudaMemset2DAsync") == Role::fill);
    EXPECT(role_of("cuMemAllocManaged") == Role::allocate);
    EXPECT(role_of("cudaMallocHost") == Role::allocate);
    EXPECT(role_of("cudaHostUnregister") == Role::release);
    EXPECT(role_of("cuMemFreeHost") == Role::release);
    EXPECT(role_of("cuStreamSynchronize_ptsz") == Role::wait);
    EXPECT(role_of("cudaLaunchKernelExC") == Role::launch);
    EXPECT(role_of("cudaMemPrefetchAsync_v8000") == Role::other);
    EXPECT(role_of("cudaGraphLaunch_v10000") == Role::graph_launch);
    for (const char* each : {"cudaStreamBeginCapture_v10000", "cuGraphInstantiate", "cudaGraphCreate_v10000"}) {
        EXPECT(role_of(each) == Role::graph);
    }
    for (const char* each : {"cuMemGetInfo_v2", "cudaGetLastError", "cudaStreamCreate", "cuCtxGetCurrent",
                             "cudaGraphicsMapResources_v3020", ""}) {
        EXPECT(role_of(each) == Role::ignored);
    }
}

static void rows() {
    struct {
        std::uint64_t destination, source, bytes;
        int kind;
        std::uint64_t stream;
    } const linear{0x1000, 0x2000, 77, 2, 0};
    auto found = copy_operands("cuMemcpyHtoDAsync_v2_ptsz", &linear);
    EXPECT(found && found->source == 0x2000 && found->destination == 0x1000 && found->bytes == 77 && found->rows == 1);
    EXPECT(found->copy_kind == cupti::memcpy_kind_htod);
    EXPECT(copy_operands("cuMemcpyDtoH_v2", &linear)->copy_kind == cupti::memcpy_kind_dtoh);
    EXPECT(copy_operands("cuMemcpyAsync", &linear)->copy_kind == 0);
    EXPECT(copy_operands("cudaMemcpy_v3020", &linear)->copy_kind == cupti::memcpy_kind_dtoh);
    EXPECT(copy_operands("cudaMemcpy_v3020", &linear)->stream == 0);
    struct {
        std::uint64_t destination, source, bytes, stream;
    } const queued{0x1000, 0x2000, 77, 0x99};
    found = copy_operands("cuMemcpyHtoDAsync_v2", &queued);
    EXPECT(found->stream == 0x99 && !found->thread_stream);
    struct {
        std::uint64_t destination, source, bytes, kind, stream;
    } const from_runtime{0x1000, 0x2000, 77, 1, 0x99};
    found = copy_operands("cudaMemcpyAsync_ptsz_v7000", &from_runtime);
    EXPECT(found->stream == 0x99 && found->thread_stream);
    EXPECT(copy_operands("cuMemcpyDtoH_v2_ptds", &linear)->thread_stream);
    auto other = linear;
    for (const int kind : {4, 0, -1, 1000}) {
        other.kind = kind;
        EXPECT(copy_operands("cudaMemcpyAsync", &other)->copy_kind == 0);
    }
    struct {
        std::uint64_t destination, destination_context, source, source_context, bytes, stream;
    } const peer{1, 2, 3, 4, 5, 6};
    found = copy_operands("cuMemcpyPeerAsync_ptsz", &peer);
    EXPECT(found->source == 3 && found->destination == 1 && found->bytes == 5);
    EXPECT(found->copy_kind == cupti::memcpy_kind_ptop);
    EXPECT(!copy_operands("cudaMemcpyToSymbol", &linear));
}

static void sections() {
    cuda::Copy2d section{};
    section.source_type = cuda::memory_type_host;
    section.source_host = reinterpret_cast<const void*>(0x10000);
    section.source_pitch_bytes = 256;
    section.source_y = 2;
    section.source_x_bytes = 8;
    section.destination_type = cuda::memory_type_device;
    section.destination_device = 0x40000;
    section.destination_pitch_bytes = 8;
    section.width_bytes = 8;
    section.height = 30;
    const void* parameters = &section;
    const auto flat = copy_operands("cuMemcpy2DAsync_v2", &parameters);
    EXPECT(flat->source == 0x10000 + 2 * 256 + 8 && flat->destination == 0x40000);
    EXPECT(flat->bytes == 240 && flat->rows == 30 && flat->copy_kind == cupti::memcpy_kind_htod);
    cuda::Copy3d box{};
    box.source_type = cuda::memory_type_device;
    box.source_device = 0x1000;
    box.source_pitch_bytes = 64;
    box.source_height = 10;
    box.source_z = 3;
    box.destination_type = 3;  // an array, which has no address
    box.width_bytes = 16;
    box.height = 4;
    box.depth = 5;
    parameters = &box;
    const auto deep = copy_operands("cuMemcpy3D_v2", &parameters);
    EXPECT(deep->source == 0x1000 + 3 * 640 && deep->destination == 0 && deep->bytes == 320 && deep->rows == 20);
    parameters = nullptr;
    EXPECT(!copy_operands("cuMemcpy2D_v2", &parameters) && !copy_operands("cuMemcpy3D_v2", &parameters));
}

static void memory() {
    std::uint64_t address = 0xABC000;
    struct {
        std::uint64_t* address;
        std::uint64_t bytes, flags;
    } got{&address, 4096, 0};
    auto found = memory_of("cuMemHostAlloc", &got);
    EXPECT(found->address == 0xABC000 && found->bytes == 4096 && found->kind == cupti::memory_kind_pinned);
    EXPECT(memory_of("cuMemAlloc_v2", &got)->kind == cupti::memory_kind_device);
    EXPECT(memory_of("cudaMallocManaged_v6000", &got)->kind == cupti::memory_kind_managed);
    got.address = nullptr;
    EXPECT(memory_of("cuMemAlloc_v2", &got)->address == 0);
    struct {
        std::uint64_t address, bytes;
    } const registered{0x5000, 8192};
    found = memory_of("cuMemHostRegister_v2", &registered);
    EXPECT(found->address == 0x5000 && found->bytes == 8192);
    EXPECT(memory_of("cuMemFree_v2", &registered)->bytes == 0);
    std::uint64_t pitch = 512;
    struct {
        std::uint64_t *address, *pitch;
        std::uint64_t width, height;
    } const pitched{&address, &pitch, 400, 10};
    EXPECT(memory_of("cuMemAllocPitch_v2", &pitched)->bytes == 5120);
    EXPECT(!memory_of("cuMemcpyHtoD_v2", &registered));
}

static void contents() {
    std::byte bytes[1000] = {};
    const std::uint64_t zeros = content_hash(bytes, 1000);
    EXPECT(zeros != 0 && zeros == content_hash(bytes, 1000) && zeros != content_hash(bytes, 999));
    for (std::size_t place = 0; place < 1000; ++place) {
        bytes[place] = std::byte{1};
        EXPECT(content_hash(bytes, 1000) != zeros);
        bytes[place] = std::byte{0};
    }
    bytes[0] = std::byte{1};
    const std::uint64_t first = content_hash(bytes, 1000);
    bytes[0] = std::byte{0};
    bytes[64] = std::byte{1};
    EXPECT(content_hash(bytes, 1000) != first);
    EXPECT(content_hash(nullptr, 0) != 0);
}

int main() {
    roles();
    rows();
    sections();
    memory();
    contents();
}
