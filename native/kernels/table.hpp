// The kernels that every device runs, one row each; CUDA, OpenCL and the host backend read them here.
//
// A new kernel is one row, its device code in kernels.cl, doubles.cl or rows.cl (then run scripts/make_ptx.py), and a
// function of the same name and parameters in backend/host/kernels.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace isthmus {

// How many threads a launch has. Blocks are added until the device is full; every kernel strides over its grid.
enum class Threads {
    one,
    per_64_bytes,  // the counted argument is bytes
    per_4_words,   // the same, of kernels that copy: blocks of copy_threads, of which callers may want few
    per_4_units,   // likewise of what is counted
    per_16_words,  // the counted argument is 32-bit words
    per_unit,      // one for each that is counted
    per_point,     // one for each point: the counted argument times the one after it
    whole_device,  // as many as keep the arithmetic units busy, whatever is counted; see work_blocks()
};

// ROW(name, operation, threads, counted, needs_doubles, parameters)
//
// The device code calls the kernel isthmus_NAME. `operation` is what faults of the host backend's model call it.
// `counted` is the index of the parameter that says how much there is to do. `parameters` are those of Device::launch,
// in order: a Region arrives at the device as a pointer (or cl_mem) followed by a u64 offset in bytes, because an
// OpenCL host binds whole cl_mem objects and can only reach inside one through such an offset; the rest arrives at its
// own size.
//
// Rules that all keep
// - One-dimensional launches. Any shape gives the right result; Threads names a fast one. No dynamic shared memory.
// - Regions have any alignment and sizes may be 0, unless a row says otherwise. A pointer that resolves to 8 bytes
// (fill,
//   verify), or a pair that is congruent modulo 16 (copy), runs at full speed.
// - All memory must be reachable from the device: device memory, managed memory, or mapped host memory.
//
// nothing: does nothing, so that a launch can be timed.
//
// fill and verify: the pattern is that of native/base/pattern.hpp, with `first_word` as it is there. One launch covers
// at most max_region_bytes, as verify counts in 32 bits (OpenCL 1.2 has no 64-bit atomics in its core). Cut a larger
// region there, and pass first_word + cut / 8 to the next launch, which keeps the pattern going. verify's `result` is a
// VerifyResult, which the host sets to VerifyResult{} before each launch.
//
// copy: the two ranges must not overlap, and nobody else may write to either during the launch.
//
// copy_pieces: copies `count` units of `unit` bytes (1, 2, 4, 8 or 16), from the unit `first` on, of `pieces` pieces of
// `width` bytes each, `rows` to a slice, taken in order. `unit` divides the width and everything that makes up an
// address. Where a piece begins follows from the pitches or, where bit 0 (destination) or bit 1 (source) of `scattered`
// is set, from `table`: 64-bit offsets for each piece, those of the destination before those of the source. A sum of
// offset and place within the pieces may pass through 2^64, so that a part of them can lie in a smaller buffer. The
// source must not overlap the destination, nor the pieces of the destination one another.
//
// copy_rows: copies `count` units of `unit` bytes (1, 4 or 16), which are whole rows of `row_bytes` bytes: of each of
// `layers` arrays `rows` of them. `table`, aligned to 8 bytes, has four 64-bit numbers for each layer: where row 0 of
// the destination lies and the bytes from one row to the next, then the same of the source; behind those two lists of
// 32-bit numbers, which say for each row that is copied which one of the destination it is, and which one of the
// source. Places count from the regions, modulo 2^64: from address 0 where a region has no allocation. `unit` divides
// whatever makes up an address. Where `verdict` has an allocation, and its first 32-bit word is not 0, nothing is
// copied. Rows that are written must overlap no others.
//
// check_rows: writes a list of `count` rows, integers of `index_bytes` (4 or 8) with a sign and `stride` bytes from one
// to the next, as 32-bit numbers to `checked`; 0 in place of those that are not at least 0 and less than `rows`, which
// is at most 2^32. With marks of 1 it sets each one's bit in `seen`, with marks of 2 it only looks, and finds those
// whose bit was set. `verdict` is a RowsVerdict (backend/rows.hpp), of whose sides (0: destination, 1: source) this is
// one; it counts what was found.
//
// add and sum work on 32-bit words, to which the regions are aligned. The one adds `value` to each, in place; the other
// adds them all to *result, modulo 2^32, which the host sets to 0 before. Blocks have a power of two of threads, at
// most block_threads.
//
// work: applies value * 1664525 + 1013904223, modulo 2^32, `rounds` times to each 32-bit word, in place. Time without
// memory: it keeps the device busy alone, so that launches on several streams share it.
//
// touch_in_turn: adds 1 to `count` 32-bit words, to which region and stride are aligned, each after the one before has
// ended. `none` is 0.
//
// chase: reads `hops` 64-bit words, each where the one before says: an offset in bytes from the start of `chain`, the
// first at `start`. The last word read, or `start` without hops, goes to the 64-bit word at `result`.
//
// add_doubles adds `value` to `count` 64-bit floats, to which region and stride are aligned; to the first of every
// `stride` bytes. ramp sets point (i, j) of a grid to (i + (first_column + j) % side) % 3343. laplacian sets every
// point but `halo` columns on either side to (up + down + left + right) * 0.25, added in that order; rows are periodic,
// 2 * halo is less than the columns, and the regions do not overlap. Points are 64-bit floats, row after row.
#define ISTHMUS_KERNELS(ROW)                                                                                           \
    ROW(nothing, "launch", one, 0, false, ())                                                                          \
    ROW(fill, "fill", per_64_bytes, 1, false, (Region region, u64 bytes, u64 seed, u64 first_word))                    \
    ROW(verify, "verify", per_64_bytes, 1, false, (Region region, u64 bytes, u64 seed, u64 first_word, Region result)) \
    ROW(copy, "kernel", per_4_words, 2, false, (Region destination, Region source, u64 bytes))                         \
    ROW(copy_pieces, "pieces", per_4_units, 13, false,                                                                 \
        (Region destination, u64 destination_pitch, u64 destination_slice, Region source, u64 source_pitch,            \
         u64 source_slice, Region table, u32 scattered, u32 unit, u64 width, u64 rows, u64 pieces, u64 first,          \
         u64 count))                                                                                                   \
    ROW(copy_rows, "rows", per_4_units, 8, false,                                                                      \
        (Region destination, Region source, Region table, Region verdict, u32 unit, u64 row_bytes, u64 rows,           \
         u64 layers, u64 count))                                                                                       \
    ROW(check_rows, "check", per_unit, 3, false,                                                                       \
        (Region list, u32 index_bytes, u64 stride, u64 count, u64 rows, Region seen, u32 marks, u32 side,              \
         Region checked, Region verdict))                                                                              \
    ROW(add, "add", per_16_words, 1, false, (Region region, u64 words, u32 value))                                     \
    ROW(sum, "sum", per_16_words, 1, false, (Region region, u64 words, Region result))                                 \
    ROW(work, "work", whole_device, 1, false, (Region region, u64 words, u32 rounds))                                  \
    ROW(touch_in_turn, "touch", one, 1, false, (Region region, u64 count, u64 stride, u32 none))                       \
    ROW(chase, "chase", one, 2, false, (Region chain, u64 start, u64 hops, Region result))                             \
    ROW(add_doubles, "doubles", per_unit, 1, true, (Region region, u64 count, u64 stride, double value))               \
    ROW(ramp, "ramp", per_point, 1, true, (Region region, u64 rows, u64 columns, u64 first_column, u64 side))          \
    ROW(laplacian, "laplacian", per_point, 2, true,                                                                    \
        (Region destination, Region source, u64 rows, u64 columns, u64 halo))

// One kernel; its number is its place in kernel_rows.
enum class KernelId : std::size_t {
#define ISTHMUS_ROW(name, operation, threads, counted, needs_doubles, parameters) name,
    ISTHMUS_KERNELS(ISTHMUS_ROW)
#undef ISTHMUS_ROW
};

struct KernelRow {
    const char* name;
    const char* operation;
    Threads threads;
    std::size_t counted;
    bool needs_doubles;
};

inline constexpr std::array kernel_rows{
#define ISTHMUS_ROW(name, operation, threads, counted, needs_doubles, parameters) \
    KernelRow{"isthmus_" #name, operation, Threads::threads, counted, needs_doubles},
    ISTHMUS_KERNELS(ISTHMUS_ROW)
#undef ISTHMUS_ROW
};

constexpr const KernelRow& row_of(KernelId kernel) {
    return kernel_rows[static_cast<std::size_t>(kernel)];
}

}  // namespace isthmus
