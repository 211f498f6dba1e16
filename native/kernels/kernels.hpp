// Launch contract of the device code: names, parameter lists, launch shapes, and the embedded sources.
#pragma once

#include <cstdint>
#include <limits>

// CUDA and OpenCL run one kernel source. Every pointer parameter is followed by a u64 offset in bytes, because an
// OpenCL host binds whole cl_mem objects and can only reach inside one through such an offset; CUDA may pass 0. The
// lists give the parameters in order, at their natural sizes: a pointer (or cl_mem) 8 bytes, u64 8, u32 4.
//
//   isthmus_fill    u8* region, u64 region_offset, u64 bytes, u64 seed, u64 first_word
//   isthmus_verify  const u8* region, u64 region_offset, u64 bytes, u64 seed, u64 first_word,
//                   u32* result, u64 result_offset
//   isthmus_copy    u8* destination, u64 destination_offset, const u8* source, u64 source_offset, u64 bytes
//   isthmus_copy_pieces u8* destination, u64 destination_offset, u64 destination_pitch, u64 destination_slice_pitch,
//                   const u8* source, u64 source_offset, u64 source_pitch, u64 source_slice_pitch,
//                   const u64* table, u64 table_offset, u32 scattered, u32 unit, u64 width, u64 rows, u64 pieces,
//                   u64 first, u64 count
//   isthmus_add     u8* region, u64 region_offset, u64 words, u32 value
//   isthmus_sum     const u8* region, u64 region_offset, u64 words, u32* result, u64 result_offset
//   isthmus_work    u8* region, u64 region_offset, u64 words, u32 rounds
//   isthmus_touch_in_turn u8* region, u64 region_offset, u64 count, u64 stride, u32 none
//   isthmus_add_doubles   u8* region, u64 region_offset, u64 count, u64 stride, double value
//   isthmus_ramp    u8* region, u64 region_offset, u64 rows, u64 columns, u64 first_column, u64 side
//   isthmus_laplacian u8* destination, u64 destination_offset, const u8* source, u64 source_offset, u64 rows,
//                   u64 columns, u64 halo
//   isthmus_spin    const volatile u32* flag, u64 flag_offset, u64 limit_ns, u32* timed_out, u64 timed_out_offset
//                   (CUDA only: under OpenCL a user event holds back a queue)
//
// Common rules
// - One-dimensional launches. Every kernel strides over the whole grid, so any shape gives the right result; that of
//   block_threads and block_count() is a fast one. No dynamic shared memory.
// - `region`, `destination` and `source` may have any alignment; `bytes` may be any number, also 0. A pointer that
//   resolves to 8 bytes (fill, verify), or a pair that is congruent modulo 16 (copy), runs at full speed.
// - `result`, `flag` and `timed_out`, with their offsets, are aligned to 4 bytes.
// - All memory must be reachable from the device: device memory, managed memory, or mapped host memory through the
//   address or cl_mem that the device knows it by.
//
// isthmus_fill and isthmus_verify: the pattern is that of native/base/pattern.hpp, with `first_word` as it is there.
// One launch covers at most max_region_bytes, as verify counts in 32 bits (OpenCL 1.2 has no 64-bit atomics in its
// core). Cut a larger region there, and pass first_word + cut / 8 to the next launch, which keeps the pattern going.
//
// isthmus_verify: `result` points to a VerifyResult, which the host initialises to VerifyResult{} before each launch.
//
// isthmus_copy: the two ranges must not overlap, and nobody else may write to either during the launch.
//
// isthmus_copy_pieces: copies `count` units of `unit` bytes (1, 2, 4, 8 or 16), from the unit `first` on, of `pieces`
// pieces of `width` bytes each, `rows` to a slice, taken in order. `unit` divides the width and everything that makes
// up an address. Where a piece begins follows from the pitches or, where bit 0 (destination) or bit 1 (source) of
// `scattered` is set, from `table`: an offset for each piece, those of the destination before those of the source. A
// sum of offset and place within the pieces may pass through 2^64, so that a part of them can lie in a smaller buffer.
// The source must not overlap the destination, nor the pieces of the destination one another.
//
// isthmus_work: applies value * 1664525 + 1013904223, modulo 2^32, `rounds` times to each 32-bit word, in place. Time
// without memory: with work_blocks() it keeps the device busy alone, so that launches on several streams share it.
//
// isthmus_add and isthmus_sum work on 32-bit words, to which the region is aligned. The one adds `value` to each, in
// place; the other adds them all up to *result, modulo 2^32, which the host sets to 0 before. Its blocks have a power
// of two of threads, at most block_threads.
//
// isthmus_touch_in_turn: launch one block of one thread. It adds 1 to `count` 32-bit words, to which region and stride
// are aligned, each after the one before has ended. `none` is 0.
//
// isthmus_add_doubles adds `value` to `count` 64-bit floats, to which region and stride are aligned. isthmus_ramp and
// isthmus_laplacian are Device::fill_ramp and Device::laplacian; their regions are aligned likewise. OpenCL devices
// without 64-bit floats have none of the three.
//
// isthmus_spin: launch one block of one thread. It ends when *flag is seen to be non-zero or `limit_ns` nanoseconds
// after it began to run, whichever is first, so a gate whose host has died cannot hang a GPU. In the second case only,
// it sets *timed_out to 1. The host initialises both words to 0. `flag` belongs in mapped host memory: a store by the
// CPU (use release order) is what opens the gate. The device's timer may tick as coarsely as once per millisecond on
// old GPUs, so limits below that are not meaningful.
namespace isthmus {

namespace kernel_name {
inline constexpr const char* fill = "isthmus_fill";
inline constexpr const char* verify = "isthmus_verify";
inline constexpr const char* copy = "isthmus_copy";
inline constexpr const char* add = "isthmus_add";
inline constexpr const char* sum = "isthmus_sum";
inline constexpr const char* copy_pieces = "isthmus_copy_pieces";
inline constexpr const char* work = "isthmus_work";
inline constexpr const char* touch_in_turn = "isthmus_touch_in_turn";
inline constexpr const char* add_doubles = "isthmus_add_doubles";
inline constexpr const char* ramp = "isthmus_ramp";
inline constexpr const char* laplacian = "isthmus_laplacian";
inline constexpr const char* spin = "isthmus_spin";
}  // namespace kernel_name

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

// Blocks of a launch over `bytes`: enough that each thread has 64 bytes to move, the four 16-byte loads that copy keeps
// in flight, and at most what fills the device, as a thread that strides is cheaper than a block that has to be
// started. `multiprocessors` is the number of SMs (OpenCL: compute units).
constexpr std::uint32_t block_count(std::uint64_t bytes, std::uint32_t multiprocessors) {
    constexpr std::uint64_t block_bytes = std::uint64_t{block_threads} * 64;
    const std::uint64_t wanted = bytes / block_bytes + (bytes % block_bytes != 0);
    const std::uint64_t most = std::uint64_t{multiprocessors} * 8;  // 8 x 256 threads fill an SM since Pascal
    const std::uint64_t blocks = wanted < most ? wanted : most;
    return blocks == 0 ? 1 : static_cast<std::uint32_t>(blocks);
}

// Blocks of a launch over so many units (of isthmus_copy_pieces, or 64-bit floats): one for each thread, until the
// device is full.
constexpr std::uint32_t unit_blocks(std::uint64_t units, std::uint32_t multiprocessors) {
    return block_count(units * 64, multiprocessors);
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
