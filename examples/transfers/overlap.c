// Takes 64 MiB through the device in chunks on one stream and on four, and compares: copy in, work, copy out.
#include <time.h>

#include "driver.h"

enum { CHUNKS = 16, STREAMS = 4, WORK = 4 };
static const size_t bytes = (size_t)64 << 20;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// The work is copies within the device, so that no compiler of kernels is needed; the last leaves what came in.
static double seconds_on(Stream* streams, int count, const char* in, char* out, Device device, Device other) {
    const size_t chunk = bytes / CHUNKS;
    memset(out, 0, bytes);
    const double start = now();
    for (size_t at = 0; at < CHUNKS; ++at) {
        Stream stream = streams[at % (size_t)count];
        const size_t offset = at * chunk;
        CHECK(cu.cuMemcpyHtoDAsync_v2(device + offset, in + offset, chunk, stream));
        for (int i = 0; i < WORK; ++i) {
            CHECK(cu.cuMemcpyDtoDAsync_v2(other + offset, device + offset, chunk, stream));
        }
        CHECK(cu.cuMemcpyDtoHAsync_v2(out + offset, other + offset, chunk, stream));
    }
    for (int i = 0; i < count; ++i) CHECK(cu.cuStreamSynchronize(streams[i]));
    return now() - start;
}

int main(void) {
    Stream streams[STREAMS] = {NULL};
    void* in = NULL;
    void* out = NULL;
    Device device = 0;
    Device other = 0;
    (void)open_device();
    // Copies overlap from pinned memory alone.
    CHECK(cu.cuMemHostAlloc(&in, bytes, 0));
    CHECK(cu.cuMemHostAlloc(&out, bytes, 0));
    CHECK(cu.cuMemAlloc_v2(&device, bytes));
    CHECK(cu.cuMemAlloc_v2(&other, bytes));
    for (int i = 0; i < STREAMS; ++i) CHECK(cu.cuStreamCreate(&streams[i], 1));
    for (size_t i = 0; i < bytes; ++i) ((unsigned char*)in)[i] = (unsigned char)(i * 31 + (i >> 12));

    int same = 1;
    double seconds[2] = {0.0, 0.0};
    for (int round = 0; round < 3; ++round) {  // the first rounds warm up
        seconds[0] = seconds_on(streams, 1, in, out, device, other);
        same &= memcmp(in, out, bytes) == 0;
        seconds[1] = seconds_on(streams, STREAMS, in, out, device, other);
        same &= memcmp(in, out, bytes) == 0;
    }
    printf("64 MiB there, worked on and back: %.2f ms on one stream, %.2f ms on %d (%.2f times as fast)\n",
           1e3 * seconds[0], 1e3 * seconds[1], STREAMS, seconds[0] / seconds[1]);
    printf("contents %s\n", same ? "unchanged" : "CHANGED");

    for (int i = 0; i < STREAMS; ++i) CHECK(cu.cuStreamDestroy_v2(streams[i]));
    CHECK(cu.cuMemFree_v2(device));
    CHECK(cu.cuMemFree_v2(other));
    CHECK(cu.cuMemFreeHost(in));
    CHECK(cu.cuMemFreeHost(out));
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
