// The few calls of NVIDIA's driver that these programs need, found in libcuda.so.1: they build without a toolkit.
#ifndef DRIVER_H
#define DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Device;  // an address of device memory
typedef struct Context* Context;
typedef struct Stream* Stream;
typedef struct Event* Event;

// Types and names as in the driver's ABI since CUDA 4.0; `_v2` are the calls with 64-bit sizes.
static struct {
    int (*cuInit)(unsigned);
    int (*cuDeviceGet)(int*, int);
    int (*cuDeviceGetName)(char*, int, int);
    int (*cuDevicePrimaryCtxRetain)(Context*, int);
    int (*cuCtxSetCurrent)(Context);
    int (*cuMemAlloc_v2)(Device*, size_t);
    int (*cuMemFree_v2)(Device);
    int (*cuMemHostAlloc)(void**, size_t, unsigned);
    int (*cuMemFreeHost)(void*);
    int (*cuMemcpyHtoD_v2)(Device, const void*, size_t);
    int (*cuMemcpyDtoH_v2)(void*, Device, size_t);
    int (*cuMemcpyHtoDAsync_v2)(Device, const void*, size_t, Stream);
    int (*cuMemcpyDtoHAsync_v2)(void*, Device, size_t, Stream);
    int (*cuMemcpyDtoDAsync_v2)(Device, Device, size_t, Stream);
    int (*cuStreamCreate)(Stream*, unsigned);
    int (*cuStreamSynchronize)(Stream);
    int (*cuStreamDestroy_v2)(Stream);
    int (*cuEventCreate)(Event*, unsigned);
    int (*cuEventRecord)(Event, Stream);
    int (*cuEventSynchronize)(Event);
    int (*cuEventElapsedTime)(float*, Event, Event);
    int (*cuEventDestroy_v2)(Event);
} cu;

// Ends the program where a call failed: every call can, and pinned memory is short on many machines.
#define CHECK(call)                                                         \
    do {                                                                    \
        const int code = (call);                                            \
        if (code != 0) {                                                    \
            fprintf(stderr, "%s failed with CUDA error %d\n", #call, code); \
            exit(EXIT_FAILURE);                                             \
        }                                                                   \
    } while (0)

static void* driver_function(void* library, const char* name) {
    void* function = dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "the driver has no %s: it is too old\n", name);
        exit(EXIT_FAILURE);
    }
    return function;
}

// Loads the driver and makes the first device's primary context current, which programs of the runtime share.
static int open_device(void) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "no NVIDIA driver here: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
#define FIND(name) *(void**)&cu.name = driver_function(library, #name)
    FIND(cuInit), FIND(cuDeviceGet), FIND(cuDeviceGetName), FIND(cuDevicePrimaryCtxRetain), FIND(cuCtxSetCurrent);
    FIND(cuMemAlloc_v2), FIND(cuMemFree_v2), FIND(cuMemHostAlloc), FIND(cuMemFreeHost);
    FIND(cuMemcpyHtoD_v2), FIND(cuMemcpyDtoH_v2), FIND(cuMemcpyHtoDAsync_v2), FIND(cuMemcpyDtoHAsync_v2);
    FIND(cuMemcpyDtoDAsync_v2), FIND(cuStreamCreate), FIND(cuStreamSynchronize), FIND(cuStreamDestroy_v2);
    FIND(cuEventCreate), FIND(cuEventRecord), FIND(cuEventSynchronize), FIND(cuEventElapsedTime);
    FIND(cuEventDestroy_v2);
#undef FIND
    int device = 0;
    Context context = NULL;
    CHECK(cu.cuInit(0));
    CHECK(cu.cuDeviceGet(&device, 0));
    CHECK(cu.cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cu.cuCtxSetCurrent(context));
    return device;
}

#endif
