// What benchmarks/transfer.py times through the C interface, each beside what the driver offers for it.
//
// The script builds it against the installed package and loads it: cc -O2 -shared -fPIC transfer_powers.c -listhmus.
// Every function returns the seconds of one run, measured here so that nothing of Python is in them, or a negative
// number; turns_error then says why. One thread at a time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <isthmus.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// Of cuda.h, which nobody needs to have.
typedef uint64_t device_pointer;
typedef struct {
    unsigned access_order, source_type, source_id, destination_type, destination_id, flags;
} copy_attributes;  // CUmemcpyAttributes: two locations of two ints each
typedef struct {
    size_t source_x, source_y;
    unsigned source_type;
    const void* source_host;
    device_pointer source_device;
    void* source_array;
    size_t source_pitch, destination_x, destination_y;
    unsigned destination_type;
    void* destination_host;
    device_pointer destination_device;
    void* destination_array;
    size_t destination_pitch, width_bytes, rows;
} section;  // CUDA_MEMCPY2D
enum { type_host = 1, type_device = 2, non_blocking = 1, order_stream = 1 };

static struct {
    int (*init)(unsigned);
    int (*device_get)(int*, int);
    int (*context_retain)(void**, int);
    int (*context_set)(void*);
    int (*stream_create)(void**, unsigned);
    int (*stream_synchronize)(void*);
    int (*to_device)(device_pointer, const void*, size_t);
    int (*to_host)(void*, device_pointer, size_t);
    int (*to_device_queued)(device_pointer, const void*, size_t, void*);
    int (*to_host_queued)(void*, device_pointer, size_t, void*);
    int (*copy_section)(const section*);
    // As of CUDA 12.8; absent from older drivers.
    int (*batch)(device_pointer*, device_pointer*, size_t*, size_t, copy_attributes*, size_t*, size_t, size_t*, void*);
} driver;

static isthmus_session* session;
static isthmus_status status;
static void *library, *stream;
static char error[1200];

const char* turns_error(void) {
    return error;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int failed_call(const char* call, int code) {
    if (code != 0) snprintf(error, sizeof error, "%s failed with CUDA error %d", call, code);
    return code != 0;
}

static int failed_copy(isthmus_code code) {
    if (code != ISTHMUS_OK) snprintf(error, sizeof error, "%s: %s", status.operation, status.message);
    return code != ISTHMUS_OK;
}

static int load(const char* symbol, void* function) {
    void* const found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found);
    if (found == NULL) snprintf(error, sizeof error, "the driver has no %s", symbol);
    return found == NULL;
}

static int open_driver(int device) {
    void* context = NULL;
    int ordinal = 0;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        snprintf(error, sizeof error, "%s", dlerror());
        return 1;
    }
    if (load("cuInit", &driver.init) || load("cuDeviceGet", &driver.device_get) ||
        load("cuDevicePrimaryCtxRetain", &driver.context_retain) || load("cuCtxSetCurrent", &driver.context_set) ||
        load("cuStreamCreate", &driver.stream_create) || load("cuStreamSynchronize", &driver.stream_synchronize) ||
        load("cuMemcpyHtoD_v2", &driver.to_device) || load("cuMemcpyDtoH_v2", &driver.to_host) ||
        load("cuMemcpyHtoDAsync_v2", &driver.to_device_queued) ||
        load("cuMemcpyDtoHAsync_v2", &driver.to_host_queued) || load("cuMemcpy2D_v2", &driver.copy_section))
        return 1;
    if (load("cuMemcpyBatchAsync", &driver.batch)) driver.batch = NULL;
    return failed_call("cuInit", driver.init(0)) || failed_call("cuDeviceGet", driver.device_get(&ordinal, device)) ||
           failed_call("cuDevicePrimaryCtxRetain", driver.context_retain(&context, ordinal)) ||
           failed_call("cuCtxSetCurrent", driver.context_set(context)) ||
           failed_call("cuStreamCreate", driver.stream_create(&stream, non_blocking));
}

// Zero, or nonzero with turns_error. Of the host backend, whose device memory the host can address, the driver's copy
// is memcpy.
int turns_open(const char* device) {
    int index = 0;
    error[0] = 0;
    if (strncmp(device, "cuda", 4) == 0) {
        if (device[4] == ':') sscanf(device + 5, "%d", &index);
        if (open_driver(index)) return 1;
    }
    return failed_copy(isthmus_open(device, NULL, &session, &status));
}

int turns_close(void) {
    const int failed = failed_copy(isthmus_close(session, &status));
    session = NULL;
    return failed;
}

// Device memory that goes with the session; null with turns_error.
void* turns_allocate(size_t bytes) {
    void* memory = NULL;
    return failed_copy(isthmus_allocate(session, ISTHMUS_DEVICE, bytes, &memory, &status)) ? NULL : memory;
}

size_t turns_pinned_bytes(void) {
    return isthmus_pinned_bytes(session);
}
size_t turns_pinned_budget_bytes(void) {
    return isthmus_pinned_budget_bytes(session);
}

static int copy_by_driver(int to_device, void* destination, const void* source, size_t bytes) {
    if (library == NULL) {
        memcpy(destination, source, bytes);
        return 0;
    }
    return to_device ? failed_call("cuMemcpyHtoD", driver.to_device((device_pointer)destination, source, bytes))
                     : failed_call("cuMemcpyDtoH", driver.to_host(destination, (device_pointer)source, bytes));
}

// The driver's copy, and then until what it has begun has ended: from pageable memory to the device it returns when the
// bytes have left where they were, and Isthmus when they are there.
static int copy_and_wait(int to_device, void* destination, const void* source, size_t bytes) {
    if (copy_by_driver(to_device, destination, source, bytes)) return 1;
    return library != NULL && failed_call("cuStreamSynchronize", driver.stream_synchronize(NULL));
}

// What the driver's asynchronous copies take of the default stream when they are waited for at once.
static int queue_and_wait(int to_device, void* destination, const void* source, size_t bytes) {
    if (library == NULL) return copy_by_driver(to_device, destination, source, bytes);
    const int failed =
        to_device
            ? failed_call("cuMemcpyHtoDAsync",
                          driver.to_device_queued((device_pointer)destination, source, bytes, NULL))
            : failed_call("cuMemcpyDtoHAsync", driver.to_host_queued(destination, (device_pointer)source, bytes, NULL));
    return failed || failed_call("cuStreamSynchronize", driver.stream_synchronize(NULL));
}

// Of one of `repeats` copies that follow one another. Way 0 is Isthmus, told the direction; 1 the driver; 2 Isthmus,
// which asks; 3 the driver, until the bytes have arrived; 4 the driver, queued and waited for. The first is of slot
// `first` of the host's side, which has `slots` of them every `slot_bytes`; each copy takes the next one.
double turns_copy(int way, int to_device, void* device, char* host, size_t bytes, size_t slot_bytes, size_t slots,
                  size_t first, size_t repeats) {
    const isthmus_direction direction = way == 2 ? ISTHMUS_BY_ADDRESS : to_device ? ISTHMUS_H2D : ISTHMUS_D2H;
    const double begin = now();
    for (size_t turn = 0; turn < repeats; ++turn) {
        char* const slot = host + (first + turn) % slots * slot_bytes;
        void* const destination = to_device ? device : slot;
        const void* const source = to_device ? slot : device;
        const int failed =
            way == 1   ? copy_by_driver(to_device, destination, source, bytes)
            : way == 3 ? copy_and_wait(to_device, destination, source, bytes)
            : way == 4 ? queue_and_wait(to_device, destination, source, bytes)
                       : failed_copy(isthmus_copy(session, destination, source, bytes, direction, NULL, &status));
        if (failed) return -1;
    }
    return (now() - begin) / (double)repeats;
}

// Of one call of a function that asks the driver something: one that only writes to `answer`, or that is asked of the
// default stream or the current context. Exchanging a mode twice leaves it as it was.
double turns_question(const char* name, int of_default, size_t repeats) {
    int (*ask)(void*) = NULL;
    int (*ask_of)(void*, void*) = NULL;
    uint64_t answer = 0;
    int code = 0;
    if (library == NULL) return 0;
    if (of_default ? load(name, &ask_of) : load(name, &ask)) return -1;
    const double begin = now();
    for (size_t turn = 0; turn < 2 * repeats && code == 0; ++turn)
        code = of_default ? ask_of(NULL, &answer) : ask(&answer);
    if (failed_call(name, code)) return -1;
    return (now() - begin) / (double)(2 * repeats);
}

static int copy_in_a_loop(int to_device, size_t pieces, void* const* destinations, const void* const* sources,
                          const size_t* sizes) {
    for (size_t piece = 0; piece < pieces; ++piece) {
        if (library == NULL)
            memcpy(destinations[piece], sources[piece], sizes[piece]);
        else if (to_device
                     ? failed_call("cuMemcpyHtoDAsync", driver.to_device_queued((device_pointer)destinations[piece],
                                                                                sources[piece], sizes[piece], stream))
                     : failed_call("cuMemcpyDtoHAsync",
                                   driver.to_host_queued(destinations[piece], (device_pointer)sources[piece],
                                                         sizes[piece], stream)))
            return 1;
    }
    return library != NULL && failed_call("cuStreamSynchronize", driver.stream_synchronize(stream));
}

static int copy_batch(size_t pieces, void* const* destinations, const void* const* sources, const size_t* sizes) {
    copy_attributes attributes = {.access_order = order_stream};
    size_t first = 0, failed = 0;
    if (driver.batch == NULL) {
        snprintf(error, sizeof error, "the driver has no cuMemcpyBatchAsync");
        return 1;
    }
    return failed_call("cuMemcpyBatchAsync",
                       driver.batch((device_pointer*)(uintptr_t)destinations, (device_pointer*)(uintptr_t)sources,
                                    (size_t*)(uintptr_t)sizes, pieces, &attributes, &first, 1, &failed, stream)) ||
           failed_call("cuStreamSynchronize", driver.stream_synchronize(stream));
}

// Of all pieces: way 0 is Isthmus, 1 a loop of queued copies, 2 the driver's batch call.
double turns_pieces(int way, int to_device, size_t pieces, void* const* destinations, const void* const* sources,
                    const size_t* sizes) {
    const double begin = now();
    const int failed = way == 0   ? failed_copy(isthmus_copy_batch(session, pieces, destinations, sources, sizes,
                                                                 to_device ? ISTHMUS_H2D : ISTHMUS_D2H, NULL, &status))
                       : way == 1 ? copy_in_a_loop(to_device, pieces, destinations, sources, sizes)
                                  : copy_batch(pieces, destinations, sources, sizes);
    return failed ? -1 : now() - begin;
}

static int column_by_driver(void* destination, const void* source, size_t width, size_t rows, size_t pitch) {
    const section asked = {.source_type = type_device,
                           .source_device = (device_pointer)source,
                           .source_pitch = pitch,
                           .destination_type = type_host,
                           .destination_host = destination,
                           .destination_pitch = width,
                           .width_bytes = width,
                           .rows = rows};
    if (library != NULL) return failed_call("cuMemcpy2D", driver.copy_section(&asked));
    for (size_t row = 0; row < rows; ++row)
        memcpy((char*)destination + row * width, (const char*)source + row * pitch, width);
    return 0;
}

// Of rows of `width` bytes every `pitch` bytes of the device, side by side to the host.
double turns_column(int ours, void* destination, void* source, size_t width, size_t rows, size_t pitch,
                    size_t repeats) {
    const ptrdiff_t packed = (ptrdiff_t)width, apart = (ptrdiff_t)pitch;
    const isthmus_array to = {.address = destination,
                              .element_bytes = width,
                              .dimensions = 1,
                              .shape = &rows,
                              .strides_bytes = &packed,
                              .side = ISTHMUS_HOST};
    const isthmus_array from = {.address = source,
                                .element_bytes = width,
                                .dimensions = 1,
                                .shape = &rows,
                                .strides_bytes = &apart,
                                .side = ISTHMUS_DEVICE};
    const double begin = now();
    for (size_t i = 0; i < repeats; ++i) {
        const int failed = ours ? failed_copy(isthmus_copy_array(session, &to, &from, NULL, &status))
                                : column_by_driver(destination, source, width, rows, pitch);
        if (failed) return -1;
    }
    return (now() - begin) / (double)repeats;
}
