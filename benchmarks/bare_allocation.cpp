// The floor for allocations: times nothing but the calls that get memory and give it back, straight on the CUDA driver.
//
// Build and run:  g++ -O2 -std=c++20 benchmarks/bare_allocation.cpp -ldl -o bare_allocation && ./bare_allocation
// [BYTES...]
//
// It deliberately shares no code with the core: what it prints is what `isthmus measure allocation` is held against.
// One JSON line per kind and size, with the median seconds of a call. Exit code 3: no usable device.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr double most_seconds = 1.0;  // of samples, for one kind and size
constexpr std::size_t most_samples = 50;
constexpr std::size_t least_samples = 6;

// Of cuda.h, which nobody needs to have.
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Pool = struct PoolTag*;
struct PoolProperties {
    int allocation_type, handle_types, location_type, location_id;
    unsigned char rest[72];
};
constexpr int release_threshold = 4;
constexpr unsigned attach_global = 1;

struct Driver {
    int (*init)(unsigned);
    int (*device_get)(Device*, int);
    int (*primary_context_retain)(Context*, Device);
    int (*context_set_current)(Context);
    int (*host_alloc)(void**, std::size_t, unsigned);
    int (*host_free)(void*);
    int (*host_register)(void*, std::size_t, unsigned);
    int (*host_unregister)(void*);
    int (*device_alloc)(DevicePointer*, std::size_t);
    int (*managed_alloc)(DevicePointer*, std::size_t, unsigned);
    int (*device_free)(DevicePointer);
    int (*stream_create)(Stream*, unsigned);
    int (*stream_synchronize)(Stream);
    int (*pool_create)(Pool*, const PoolProperties*);
    int (*pool_set)(Pool, int, void*);
    int (*pool_trim)(Pool, std::size_t);
    int (*pool_alloc)(DevicePointer*, std::size_t, Pool, Stream);
    int (*pool_free)(DevicePointer, Stream);
};

void require(int code, const char* function) {
    if (code == 0) return;
    std::fprintf(stderr, "bare_allocation: %s: CUDA error %d\n", function, code);
    std::exit(3);
}

template <typename Function>
void load(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) require(-1, name);
}

Driver open_driver() {
    void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda == nullptr) require(-1, "libcuda.so.1");
    Driver driver{};
    load(cuda, "cuInit", driver.init);
    load(cuda, "cuDeviceGet", driver.device_get);
    load(cuda, "cuDevicePrimaryCtxRetain", driver.primary_context_retain);
    load(cuda, "cuCtxSetCurrent", driver.context_set_current);
    load(cuda, "cuMemHostAlloc", driver.host_alloc);
    load(cuda, "cuMemFreeHost", driver.host_free);
    load(cuda, "cuMemHostRegister_v2", driver.host_register);
    load(cuda, "cuMemHostUnregister", driver.host_unregister);
    load(cuda, "cuMemAlloc_v2", driver.device_alloc);
    load(cuda, "cuMemAllocManaged", driver.managed_alloc);
    load(cuda, "cuMemFree_v2", driver.device_free);
    load(cuda, "cuStreamCreate", driver.stream_create);
    load(cuda, "cuStreamSynchronize", driver.stream_synchronize);
    load(cuda, "cuMemPoolCreate", driver.pool_create);
    load(cuda, "cuMemPoolSetAttribute", driver.pool_set);
    load(cuda, "cuMemPoolTrimTo", driver.pool_trim);
    load(cuda, "cuMemAllocFromPoolAsync", driver.pool_alloc);
    load(cuda, "cuMemFreeAsync", driver.pool_free);
    return driver;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void touch(void* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(data)[at] = 1;
}

// `get` returns what `give_back` takes; `blocks` are held at once, where one call is too short for the clock.
void measure(const char* kind, std::size_t bytes, std::size_t blocks, const std::function<std::uintptr_t()>& get,
             const std::function<void(std::uintptr_t)>& give_back, bool touched = false) {
    std::vector<std::uintptr_t> held(blocks);
    std::vector<double> allocate, free;
    double spent = 0;
    for (std::size_t i = 0; i < most_samples + 2 && (i < least_samples + 2 || spent < most_seconds); ++i) {
        const double start = now();
        for (std::uintptr_t& block : held) block = get();
        const double got = now();
        if (touched) {
            for (const std::uintptr_t block : held) touch(reinterpret_cast<void*>(block), bytes);
        }
        const double middle = now();
        for (const std::uintptr_t block : held) give_back(block);
        const double end = now();
        spent += end - start;
        if (i < 2) continue;  // They warm up.
        allocate.push_back((got - start) / static_cast<double>(blocks));
        free.push_back((end - middle) / static_cast<double>(blocks));
    }
    std::printf("{\"kind\": \"%s\", \"bytes\": %zu, \"allocate\": %.4g, \"free\": %.4g}\n", kind, bytes,
                median(allocate), median(free));
}

void measure_all(const Driver& cu, Pool pool, Stream stream, std::size_t bytes) {
    const std::size_t many = std::clamp((std::size_t{4} << 20) / bytes, std::size_t{1}, std::size_t{64});
    const auto on_device = [](DevicePointer memory) { return static_cast<std::uintptr_t>(memory); };
    // Volatile, lest the compiler sees that nobody uses what malloc returns.
    measure(
        "malloc", bytes, many,
        [&] {
            void* volatile p = std::malloc(bytes);
            return reinterpret_cast<std::uintptr_t>(p);
        },
        [](std::uintptr_t p) { std::free(reinterpret_cast<void*>(p)); }, true);
    for (const auto& [kind, flags] :
         {std::pair{"pinned", 0U}, {"pinned_portable", 1U}, {"mapped", 2U}, {"write_combined", 4U}}) {
        measure(
            kind, bytes, 1,
            [&, f = flags] {
                void* p = nullptr;
                require(cu.host_alloc(&p, bytes, f), "cuMemHostAlloc");
                return reinterpret_cast<std::uintptr_t>(p);
            },
            [&](std::uintptr_t p) { cu.host_free(reinterpret_cast<void*>(p)); });
    }
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    touch(pages, bytes);
    measure(
        "registered", bytes, 1,
        [&] {
            require(cu.host_register(pages, bytes, 3), "cuMemHostRegister");
            return std::uintptr_t{0};
        },
        [&](std::uintptr_t) { cu.host_unregister(pages); });
    munmap(pages, bytes);
    measure(
        "managed", bytes, 1,
        [&] {
            DevicePointer p = 0;
            require(cu.managed_alloc(&p, bytes, attach_global), "cuMemAllocManaged");
            return on_device(p);
        },
        [&](std::uintptr_t p) { cu.device_free(p); }, true);
    measure(
        "device", bytes, 1,
        [&] {
            DevicePointer p = 0;
            require(cu.device_alloc(&p, bytes), "cuMemAlloc");
            return on_device(p);
        },
        [&](std::uintptr_t p) { cu.device_free(p); });
    measure(
        "device_pool", bytes, many,
        [&] {
            DevicePointer p = 0;
            require(cu.pool_alloc(&p, bytes, pool, stream), "cuMemAllocFromPoolAsync");
            return on_device(p);
        },
        [&](std::uintptr_t p) { cu.pool_free(p, stream); });
    require(cu.stream_synchronize(stream), "cuStreamSynchronize");
    require(cu.pool_trim(pool, 0), "cuMemPoolTrimTo");
}

}  // namespace

int main(int argc, char** argv) {
    const Driver cu = open_driver();
    Device device = 0;
    Context context = nullptr;
    require(cu.init(0), "cuInit");
    require(cu.device_get(&device, 0), "cuDeviceGet");
    require(cu.primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    require(cu.context_set_current(context), "cuCtxSetCurrent");
    Stream stream = nullptr;
    require(cu.stream_create(&stream, 1), "cuStreamCreate");
    PoolProperties properties{1, 0, 1, device, {}};
    Pool pool = nullptr;
    require(cu.pool_create(&pool, &properties), "cuMemPoolCreate");
    std::uint64_t keep = UINT64_MAX;
    require(cu.pool_set(pool, release_threshold, &keep), "cuMemPoolSetAttribute");

    std::vector<std::size_t> sizes;
    for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    if (sizes.empty()) sizes = {256, std::size_t{1} << 20, std::size_t{64} << 20};
    // As in a program that has run for a while: glibc recycles what is smaller than a large block it was given back.
    void* volatile block = std::malloc(std::size_t{31} << 20);
    std::free(block);
    for (const std::size_t bytes : sizes) measure_all(cu, pool, stream, bytes);
}
