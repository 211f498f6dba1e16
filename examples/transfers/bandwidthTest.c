// Copies 16 MiB of pageable and of pinned memory to the device and back, timed by events: bandwidthTest [MiB ...]
#include "driver.h"

enum { DEFAULT_MIB = 16 };

static float milliseconds_since(Event start, Event stop) {
    float milliseconds = 0.0F;
    CHECK(cu.cuEventRecord(stop, NULL));
    CHECK(cu.cuEventSynchronize(stop));
    CHECK(cu.cuEventElapsedTime(&milliseconds, start, stop));
    return milliseconds;
}

// One copy each way, as in the article; the contents must come back. Returns whether they did.
static int profile_copies(float* source, float* returned, Device device, size_t bytes, const char* name) {
    Event start = NULL;
    Event stop = NULL;
    CHECK(cu.cuEventCreate(&start, 0));
    CHECK(cu.cuEventCreate(&stop, 0));
    memset(returned, 0, bytes);
    printf("\n%s transfers\n", name);

    CHECK(cu.cuEventRecord(start, NULL));
    CHECK(cu.cuMemcpyHtoD_v2(device, source, bytes));
    printf("  Host to Device bandwidth (GB/s): %f\n", (double)bytes * 1e-6 / milliseconds_since(start, stop));

    CHECK(cu.cuEventRecord(start, NULL));
    CHECK(cu.cuMemcpyDtoH_v2(returned, device, bytes));
    printf("  Device to Host bandwidth (GB/s): %f\n", (double)bytes * 1e-6 / milliseconds_since(start, stop));

    CHECK(cu.cuEventDestroy_v2(start));
    CHECK(cu.cuEventDestroy_v2(stop));
    const int same = memcmp(source, returned, bytes) == 0;
    if (!same) printf("*** %s transfers failed ***\n", name);
    return same;
}

static int copies_of(size_t bytes, const char* name) {
    float* pageable = malloc(bytes);
    float* pageable_returned = malloc(bytes);
    void* pinned = NULL;
    void* pinned_returned = NULL;
    Device device = 0;
    CHECK(cu.cuMemHostAlloc(&pinned, bytes, 0));
    CHECK(cu.cuMemHostAlloc(&pinned_returned, bytes, 0));
    CHECK(cu.cuMemAlloc_v2(&device, bytes));
    if (pageable == NULL || pageable_returned == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        return 0;
    }
    for (size_t i = 0; i < bytes / sizeof *pageable; ++i) pageable[i] = (float)i;
    memcpy(pinned, pageable, bytes);

    printf("\nDevice: %s\nTransfer size (MB): %zu\n", name, bytes >> 20);
    int same = profile_copies(pageable, pageable_returned, device, bytes, "Pageable");
    same &= profile_copies(pinned, pinned_returned, device, bytes, "Pinned");

    CHECK(cu.cuMemFree_v2(device));
    CHECK(cu.cuMemFreeHost(pinned));
    CHECK(cu.cuMemFreeHost(pinned_returned));
    free(pageable);
    free(pageable_returned);
    return same;
}

int main(int count, char** words) {
    char name[128] = "";
    const int device = open_device();
    CHECK(cu.cuDeviceGetName(name, sizeof name, device));
    int same = 1;
    for (int at = 1; at < count; ++at) {
        const long mebibytes = strtol(words[at], NULL, 10);
        if (mebibytes < 1 || mebibytes > 65536) {
            fprintf(stderr, "not a size in MiB: %s; expected 1 to 65536\n", words[at]);
            return 2;
        }
        same &= copies_of((size_t)mebibytes << 20, name);
    }
    if (count < 2) same = copies_of((size_t)DEFAULT_MIB << 20, name);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
