// Kernels on 64-bit floats, for CUDA and OpenCL as kernels.cl is; table.hpp states the contract. OpenCL devices may
// lack such floats: then these are not there.

#if !defined(__OPENCL_VERSION__) || defined(cl_khr_fp64)

KERNEL isthmus_add_doubles(GLOBAL u8* region, u64 region_offset, u64 count, u64 stride, double value) {
    GLOBAL u8* const at = region + region_offset;
    for (u64 i = FIRST(count); i < END(count); i += STEP) *(GLOBAL double*)(at + i * stride) += value;
}

// The division of 64 bits takes longer than all else that a point needs.
DEVICE u64 row_of(u64 point, u64 columns, u64 points) {
    return points >> 32 ? point / columns : (u32)point / (u32)columns;
}

KERNEL isthmus_ramp(GLOBAL u8* region, u64 region_offset, u64 rows, u64 columns, u64 first_column, u64 side) {
    GLOBAL double* const at = (GLOBAL double*)(region + region_offset);
    const u64 points = rows * columns;
    for (u64 i = FIRST(points); i < END(points); i += STEP) {
        const u64 row = row_of(i, columns, points);
        at[i] = (double)((row + (first_column + i - row * columns) % side) % 3343);
    }
}

KERNEL isthmus_laplacian(GLOBAL u8* destination, u64 destination_offset, const GLOBAL u8* source, u64 source_offset,
                         u64 rows, u64 columns, u64 halo) {
    GLOBAL double* const to = (GLOBAL double*)(destination + destination_offset);
    const GLOBAL double* const from = (const GLOBAL double*)(source + source_offset);
    const u64 width = columns - 2 * halo;
    const u64 points = rows * width;
    for (u64 i = FIRST(points); i < END(points); i += STEP) {
        const u64 row = row_of(i, width, points);
        const u64 column = halo + i - row * width;
        const double up = from[(row == 0 ? rows - 1 : row - 1) * columns + column];
        const double down = from[(row == rows - 1 ? 0 : row + 1) * columns + column];
        const u64 here = row * columns + column;
        to[here] = (up + down + from[here - 1] + from[here + 1]) * 0.25;
    }
}

#endif
