// The floor for small transfers: times nothing but a copy and a wait, straight on the CUDA driver.
//
// Build and run:  g++ -O2 -std=c++20 benchmarks/bare_loop.cpp -ldl -o bare_loop && ./bare_loop [BYTES...]
//
// It deliberately shares no code with the core: what it prints is what the core's own figures for pinned memory are
// held against. One JSON line per size and direction; seconds are of one copy with its wait. Exit code 3: no usable
// device.
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t buffer_bytes = 64 * 1024;
constexpr int warm_ups = 200;
constexpr int samples = 2000;

// Of cuda.h, which nobody needs to have.
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
constexpr unsigned host_alloc_portable = 1;
constexpr unsigned host_alloc_device_map = 2;
constexpr unsigned stream_non_blocking = 1;

struct Driver {
    int (*init)(unsigned);
    int (*device_get)(Device*, int);
    int (*primary_context_retain)(Context*, Device);
    int (*primary_context_release)(Device);
    int (*context_set_current)(Context);
    int (*host_alloc)(void**, std::size_t, unsigned);
    int (*host_free)(void*);
    int (*device_alloc)(DevicePointer*, std::size_t);
    int (*device_free)(DevicePointer);
    int (*stream_create)(Stream*, unsigned);
    int (*stream_destroy)(Stream);
    int (*copy_h2d)(DevicePointer, const void*, std::size_t, Stream);
    int (*copy_d2h)(void*, DevicePointer, std::size_t, Stream);
    int (*stream_synchronize)(Stream);
};

[[noreturn]] void fail(int exit_code, const char* what, const char* detail) {
    std::fprintf(stderr, "bare_loop: %s: %s\n", what, detail);
    std::exit(exit_code);
}

void require(int code, const char* function) {
    if (code == 0) return;
    char detail[48];
    std::snprintf(detail, sizeof detail, "CUDA error %d", code);
    fail(3, function, detail);
}

template <typename Pointer>
void load(void* library, const char* symbol, Pointer& function) {
    function = reinterpret_cast<Pointer>(dlsym(library, symbol));
    if (function == nullptr) fail(3, symbol, "the driver has no such function; CUDA 11.0 or later is needed");
}

Driver open_driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) fail(3, "no CUDA driver; install NVIDIA's driver", dlerror());
    Driver driver{};
    load(library, "cuInit", driver.init);
    load(library, "cuDeviceGet", driver.device_get);
    load(library, "cuDevicePrimaryCtxRetain", driver.primary_context_retain);
    load(library, "cuDevicePrimaryCtxRelease_v2", driver.primary_context_release);
    load(library, "cuCtxSetCurrent", driver.context_set_current);
    load(library, "cuMemHostAlloc", driver.host_alloc);
    load(library, "cuMemFreeHost", driver.host_free);
    load(library, "cuMemAlloc_v2", driver.device_alloc);
    load(library, "cuMemFree_v2", driver.device_free);
    load(library, "cuStreamCreate", driver.stream_create);
    load(library, "cuStreamDestroy_v2", driver.stream_destroy);
    load(library, "cuMemcpyHtoDAsync_v2", driver.copy_h2d);
    load(library, "cuMemcpyDtoHAsync_v2", driver.copy_d2h);
    load(library, "cuStreamSynchronize", driver.stream_synchronize);
    return driver;
}

// Times `copy_and_wait`, which makes two driver calls and returns the code of the first that fails.
template <typename CopyAndWait>
void time_case(std::size_t bytes, const char* direction, CopyAndWait copy_and_wait) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> seconds(samples);
    for (int i = 0; i < warm_ups; ++i) require(copy_and_wait(), direction);
    for (double& sample : seconds) {
        const Clock::time_point begin = Clock::now();
        const int code = copy_and_wait();
        const Clock::time_point end = Clock::now();
        require(code, direction);
        sample = std::chrono::duration<double>(end - begin).count();
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf(
        "{\"bytes\": %zu, \"direction\": \"%s\", \"median_seconds\": %.9f, \"p25\": %.9f, \"p75\": %.9f, "
        "\"samples\": %d}\n",
        bytes, direction, seconds[samples / 2], seconds[samples / 4], seconds[samples * 3 / 4], samples);
}

std::vector<std::size_t> sizes_from(int count, char** arguments) {
    if (count < 2) return {1, 4096};
    std::vector<std::size_t> sizes;
    for (int i = 1; i < count; ++i) {
        char* end = nullptr;
        errno = 0;
        const unsigned long long bytes = std::strtoull(arguments[i], &end, 10);
        if (errno != 0 || *end != '\0' || bytes < 1 || bytes > buffer_bytes) {
            fail(2, arguments[i], "expected a number of bytes from 1 to 65536");
        }
        sizes.push_back(static_cast<std::size_t>(bytes));
    }
    return sizes;
}

}  // namespace

int main(int argument_count, char** arguments) {
    const std::vector<std::size_t> sizes = sizes_from(argument_count, arguments);
    const Driver driver = open_driver();

    Device device = 0;
    Context context = nullptr;
    void* host = nullptr;
    DevicePointer memory = 0;
    Stream stream = nullptr;
    require(driver.init(0), "cuInit");
    require(driver.device_get(&device, 0), "cuDeviceGet");
    require(driver.primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    require(driver.context_set_current(context), "cuCtxSetCurrent");
    require(driver.host_alloc(&host, buffer_bytes, host_alloc_portable | host_alloc_device_map), "cuMemHostAlloc");
    require(driver.device_alloc(&memory, buffer_bytes), "cuMemAlloc");
    require(driver.stream_create(&stream, stream_non_blocking), "cuStreamCreate");

    for (const std::size_t bytes : sizes) {
        time_case(bytes, "h2d", [&] {
            const int copied = driver.copy_h2d(memory, host, bytes, stream);
            return copied != 0 ? copied : driver.stream_synchronize(stream);
        });
        time_case(bytes, "d2h", [&] {
            const int copied = driver.copy_d2h(host, memory, bytes, stream);
            return copied != 0 ? copied : driver.stream_synchronize(stream);
        });
    }

    require(driver.stream_destroy(stream), "cuStreamDestroy");
    require(driver.device_free(memory), "cuMemFree");
    require(driver.host_free(host), "cuMemFreeHost");
    require(driver.primary_context_release(device), "cuDevicePrimaryCtxRelease");
    return 0;
}
