// How the device code of table.hpp is launched, what it answers, and the embedded sources.
#pragma once

#include <cstdint>
#include <limits>

// isthmus_spin is CUDA's alone, as under OpenCL a user event holds back a queue:
//   isthmus_spin    const volatile u32* flag, u64 flag_offset, u64 limit_ns, u32* timed_out, u64 timed_out_offset
// Launch one block of one thread. It ends when *flag is seen to be non-zero or `limit_ns` nanoseconds after it began to
// run, whichever is first, so a gate whose host has died cannot hang a GPU. In the second case only, it sets *timed_out
// to 1. The host initialises both words, which are aligned to 4 bytes, to 0. `flag` belongs in mapped host memory: a
// store by the CPU (use release order) is what opens the gate. The device's timer may tick as coarsely as once per
// millisecond on old GPUs, so limits below that are not meaningful.
namespace isthmus {

inline constexpr const char* spin_kernel = "isthmus_spin";

// What isthmus_verify found. Unlike Mismatch, `first_word` counts from the start of the launch's region, as 32 bits
// might not hold it otherwise: the host adds the parameter first_word.
struct VerifyResult {
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t words = 0;  // how many 64-bit words differ; a partial last word counts as one
    std::uint32_t first_word = none;
};
static_assert(sizeof(VerifyResult) == 8);

// 16 GiB: 2^31 words, so that neither a count nor an index can reach VerifyResult::none.
inline constexpr std::uint64_t max_region_bytes = std::uint64_t{1} << 34;

// Threads per block (OpenCL: work-group size; where a device allows less, its maximum does as well).
inline constexpr std::uint32_t block_threads = 256;

// Threads of a block that copies.
inline constexpr std::uint32_t copy_threads = 1024;

// Blocks of a launch that copies `units` of any size, four for each thread: at most what fills the device, or `most`,
// if that is not 0.
constexpr std::uint32_t copy_blocks(std::uint64_t units, std::uint32_t multiprocessors, std::uint32_t most) {
    constexpr std::uint64_t block_units = std::uint64_t{copy_threads} * 4;
    const std::uint64_t wanted = units / block_units + (units % block_units != 0);
    const std::uint64_t whole = std::uint64_t{multiprocessors} * 2;  // 2 x 1024 threads fill an SM
    const std::uint64_t allowed = most == 0 || most > whole ? whole : most;
    const std::uint64_t blocks = wanted < allowed ? wanted : allowed;
    return blocks == 0 ? 1 : static_cast<std::uint32_t>(blocks);
}

// Blocks of a launch over `bytes`: enough that each thread has 64 bytes to move, as much as hides what starting one
// costs, and at most what fills the device, as a thread that strides is cheaper than a block that has to be started.
// `multiprocessors` is the number of SMs (OpenCL: compute units).
constexpr std::uint32_t block_count(std::uint64_t bytes, std::uint32_t multiprocessors) {
    constexpr std::uint64_t block_bytes = std::uint64_t{block_threads} * 64;
    const std::uint64_t wanted = bytes / block_bytes + (bytes % block_bytes != 0);
    const std::uint64_t most = std::uint64_t{multiprocessors} * 8;  // 8 x 256 threads fill an SM since Pascal
    const std::uint64_t blocks = wanted < most ? wanted : most;
    return blocks == 0 ? 1 : static_cast<std::uint32_t>(blocks);
}

// Blocks of a launch of isthmus_work: one set of 1024 threads for each multiprocessor saturates its integer units, so
// that a second launch at the same time makes both slower, and a chunk takes its share of the whole's time.
constexpr std::uint32_t work_blocks(std::uint32_t multiprocessors) {
    return multiprocessors * (1024 / block_threads);
}

// Both are NUL-terminated. Their definitions are written at build time by embed.cmake.
extern const char* const kernels_ptx;     // for cuModuleLoadData: every driver since R525, every GPU since sm_60
extern const char* const kernels_opencl;  // OpenCL C 1.2, for clCreateProgramWithSource

}  // namespace isthmus
