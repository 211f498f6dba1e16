// A CUDA driver made of host memory, for what no real one does on demand: being old, failing, having little memory.
//
// It does everything at once and in order. FAKE_CUDA_INIT is the code that cuInit returns, FAKE_CUDA_MEMORY the
// bytes of all devices together, FAKE_CUDA_DEVICES their number (1), FAKE_CUDA_LOCKED how many may be page-locked. When
// the process ends, the file FAKE_CUDA_LIVE names how many allocations were not given back, of how many. A function
// named in OMIT_<function> is not there at all, as in a driver that is too old for it. With FAKE_CUDA_NULL_STREAMS
// every stream is the null stream.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../host_kernels.hpp"

namespace {

using Address = unsigned long long;
constexpr int success = 0;
constexpr int out_of_memory = 2;
constexpr int no_device = 100;

std::size_t used = 0;
std::size_t locked = 0;
std::map<void*, std::size_t> registered;

std::size_t limit(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : std::size_t{1} << 30;
}
std::size_t memory() {
    return limit("FAKE_CUDA_MEMORY");
}

// Copies that are recorded instead of done, while a stream of this thread is in capture.
using Recorded = std::vector<std::function<void()>>;
thread_local Recorded* capture = nullptr;

int copy(void* to, const void* from, std::size_t bytes) {
    if (capture != nullptr) return capture->push_back([=] { std::memcpy(to, from, bytes); }), success;
    return std::memcpy(to, from, bytes), success;
}

struct Copy2d {
    std::size_t source_x, source_y;
    int source_type;
    const std::byte* source_host;
    Address source_device;
    void* source_array;
    std::size_t source_pitch, x, y;
    int type;
    std::byte* host;
    Address device;
    void* array;
    std::size_t pitch, width, height;
};
struct Copy3d {
    std::size_t source_x, source_y, source_z, source_level;
    int source_type;
    const std::byte* source_host;
    Address source_device;
    void *source_array, *source_reserved;
    std::size_t source_pitch, source_height, x, y, z, level;
    int type;
    std::byte* host;
    Address device;
    void *array, *reserved;
    std::size_t pitch, height_of_slices, width, height, depth;
};
template <typename Copy>
int copy_rows(const Copy& copy, std::size_t depth, std::size_t source_height, std::size_t height) {
    if (copy.source_pitch < copy.width || copy.pitch < copy.width) return 1;
    const auto* from = copy.source_type == 1 ? copy.source_host : reinterpret_cast<std::byte*>(copy.source_device);
    auto* to = copy.type == 1 ? copy.host : reinterpret_cast<std::byte*>(copy.device);
    for (std::size_t z = 0; z < depth; ++z) {
        for (std::size_t y = 0; y < copy.height; ++y) {
            std::memcpy(to + (z * height + y) * copy.pitch, from + (z * source_height + y) * copy.source_pitch,
                        copy.width);
        }
    }
    return success;
}

int copy_batch(Address* to, Address* from, std::size_t* sizes, std::size_t count, std::size_t* failed, void* stream) {
    if (stream == nullptr) return 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (sizes[i] == 0) return (failed != nullptr ? *failed = i : i), 1;
        std::memcpy(reinterpret_cast<void*>(to[i]), reinterpret_cast<void*>(from[i]), sizes[i]);
    }
    return success;
}

// Told when the library is unloaded, which is after everything else.
struct Ledger {
    long live = 0, all = 0;
    ~Ledger() {
        const char* path = std::getenv("FAKE_CUDA_LIVE");
        if (path != nullptr && all > 0) std::ofstream(path) << live << ' ' << all;
    }
    void add() { ++live, ++all; }
    void remove() { --live; }
} ledger;

int lock(std::size_t bytes) {
    if (locked + bytes > limit("FAKE_CUDA_LOCKED")) return out_of_memory;
    locked += bytes;
    return success;
}

int devices() {
    const char* text = std::getenv("FAKE_CUDA_DEVICES");
    return text != nullptr ? std::atoi(text) : 1;
}

// Each device's context is the address of one of these.
char contexts[16];

// Sizes are kept in front of what is handed out.
void* take(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    auto* block = static_cast<std::byte*>(std::aligned_alloc(page, (bytes / page + 2) * page));
    ledger.add();
    std::memcpy(block, &bytes, sizeof bytes);
    return block + page;
}

std::size_t give(void* memory) {
    auto* block = static_cast<std::byte*>(memory) - 4096;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    std::free(block);
    ledger.remove();
    return bytes;
}

int take_device(Address* address, std::size_t bytes) {
    if (used + bytes > memory()) return out_of_memory;
    used += bytes;
    *address = reinterpret_cast<Address>(take(bytes));
    return success;
}

// The device code itself, by one thread.
template <typename... Parameters, std::size_t... Indices>
void call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<Indices...>) {
    kernel(*static_cast<Parameters*>(arguments[Indices])...);
}

void run(const std::string& name, void** arguments) {
    const auto runs = [&]<typename... Parameters>(const char* known, void (*kernel)(Parameters...)) {
        if (name == known) call(kernel, arguments, std::index_sequence_for<Parameters...>());
    };
    runs("isthmus_fill", &device::isthmus_fill);
    runs("isthmus_verify", &device::isthmus_verify);
    runs("isthmus_copy", &device::isthmus_copy);
    runs("isthmus_copy_pieces", &device::isthmus_copy_pieces);
    runs("isthmus_add", &device::isthmus_add);
    runs("isthmus_sum", &device::isthmus_sum);
    runs("isthmus_work", &device::isthmus_work);
    runs("isthmus_touch_in_turn", &device::isthmus_touch_in_turn);
    runs("isthmus_add_doubles", &device::isthmus_add_doubles);
    runs("isthmus_ramp", &device::isthmus_ramp);
    runs("isthmus_laplacian", &device::isthmus_laplacian);
    // isthmus_spin would wait for a host that waits for it: nothing is ever queued here.
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
    const char* code = std::getenv("FAKE_CUDA_INIT");
    return code != nullptr ? std::atoi(code) : success;
}
int cuDriverGetVersion(int* version) {
    return *version = 11040, success;
}
int cuGetErrorName(int code, const char** name) {
    *name = code == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == no_device   ? "CUDA_ERROR_NO_DEVICE"
                                  : "CUDA_ERROR";
    return success;
}
int cuGetErrorString(int, const char** text) {
    return *text = "says the fake driver", success;
}
int cuDeviceGetCount(int* count) {
    return *count = devices(), success;
}
int cuDeviceGet(int* device, int index) {
    return *device = index, index < devices() ? success : 101;
}
int cuDeviceGetName(char* name, int bytes, int) {
    return std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes)), success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    return *bytes = memory(), success;
}
// Attributes 19, 83, 89 and 99: it maps host memory, has managed memory that migrates on demand, and registers; 88: it
// reaches ordinary memory if FAKE_CUDA_HMM is set.
int cuDeviceGetAttribute(int* value, int attribute, int) {
    return *value = attribute == 75                      ? 6
                    : attribute == 18 || attribute == 76 ? 0
                    : attribute == 88                    ? std::getenv("FAKE_CUDA_HMM") != nullptr
                    : attribute == 22 || attribute == 23 ? 65536
                                                         : 1,
           success;
}
#ifndef OMIT_cuDeviceGetUuid
int cuDeviceGetUuid(char* uuid, int) {
    return std::memset(uuid, 7, 16), success;
}
#endif
int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
    return std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%X:00.0", 0xAF + device), success;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    return *context = &contexts[device], success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
    return success;
}
int cuCtxSetCurrent(void*) {
    return success;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    return *total = memory(), *free = memory() - used, success;
}
int cuMemAlloc_v2(Address* address, std::size_t bytes) {
    return take_device(address, bytes);
}
int cuMemAllocManaged(Address* address, std::size_t bytes, unsigned) {
    return take_device(address, bytes);
}
int cuMemFree_v2(Address address) {
    return used -= give(reinterpret_cast<void*>(address)), success;
}
int cuMemAllocPitch_v2(Address* address, std::size_t* pitch, std::size_t width, std::size_t rows, unsigned) {
    *pitch = (width + 511) / 512 * 512;
    return take_device(address, *pitch * rows);
}
struct ArrayDescriptor {
    std::size_t width, height;
    int format;
    unsigned channels;
};
int cuArrayCreate_v2(void** array, const ArrayDescriptor* descriptor) {
    return take_device(reinterpret_cast<Address*>(array), descriptor->width * descriptor->height * 4);
}
int cuArrayDestroy(void* array) {
    return used -= give(array), success;
}
int cuMemPoolCreate(void** pool, const void*) {
    return *pool = &used, success;
}
int cuMemPoolDestroy(void*) {
    return success;
}
int cuMemPoolSetAttribute(void*, int, void*) {
    return success;
}
int cuMemPoolTrimTo(void*, std::size_t) {
    return success;
}
#ifndef OMIT_cuMemAllocFromPoolAsync
int cuMemAllocFromPoolAsync(Address* address, std::size_t bytes, void*, void*) {
    return take_device(address, bytes);
}
#endif
int cuMemFreeAsync(Address address, void*) {
    return used -= give(reinterpret_cast<void*>(address)), success;
}
int cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
    if (lock(bytes) != success) return out_of_memory;
    return *host = take(bytes), success;
}
int cuMemFreeHost(void* host) {
    return locked -= give(host), success;
}
int cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned) {
    if (lock(bytes) != success) return out_of_memory;
    ledger.add();
    return registered[host] = bytes, success;
}
int cuMemHostUnregister(void* host) {
    const auto found = registered.find(host);
    if (found == registered.end()) return 713;  // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
    ledger.remove();
    return locked -= found->second, registered.erase(found), success;
}
int cuMemHostGetDevicePointer_v2(Address* address, void* host, unsigned) {
    return *address = reinterpret_cast<Address>(host), success;
}
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void*) {
    return copy(reinterpret_cast<void*>(to), from, bytes);
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void*) {
    return copy(to, reinterpret_cast<void*>(from), bytes);
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void*) {
    return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), success;
}
int cuMemcpy2DAsync_v2(const Copy2d* copy, void*) {
    return copy_rows(*copy, 1, 0, 0);
}
int cuMemcpy3DAsync_v2(const Copy3d* copy, void*) {
    return copy_rows(*copy, copy->depth, copy->source_height, copy->height_of_slices);
}
#ifndef OMIT_cuMemcpyBatchAsync
int cuMemcpyBatchAsync(Address* to, Address* from, std::size_t* sizes, std::size_t count, void*, std::size_t*,
                       std::size_t, std::size_t* failed, void* stream) {
    return copy_batch(to, from, sizes, count, failed, stream);
}
#endif
#ifndef OMIT_cuMemcpyBatchAsync_v2
int cuMemcpyBatchAsync_v2(Address* to, Address* from, std::size_t* sizes, std::size_t count, void*, std::size_t*,
                          std::size_t, void* stream) {
    return copy_batch(to, from, sizes, count, nullptr, stream);
}
#endif
int cuStreamBeginCapture_v2(void*, int) {
    return capture = new Recorded, success;
}
int cuStreamEndCapture(void*, void** graph) {
    ledger.add();
    return *graph = std::exchange(capture, nullptr), success;
}
#ifndef OMIT_cuGraphInstantiateWithFlags
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
    ledger.add();
    return *executable = new Recorded(*static_cast<Recorded*>(graph)), success;
}
#endif
int cuGraphLaunch(void* executable, void*) {
    for (const auto& command : *static_cast<Recorded*>(executable)) command();
    return success;
}
int cuGraphDestroy(void* graph) {
    ledger.remove();
    return delete static_cast<Recorded*>(graph), success;
}
int cuGraphExecDestroy(void* executable) {
    return cuGraphDestroy(executable);
}
#ifndef OMIT_cuMemcpyPeerAsync
// Refuses what a real one needs no function for.
int cuMemcpyPeerAsync(Address to, void* to_context, Address from, void* from_context, std::size_t bytes, void*) {
    if (to_context == from_context) return 1;
    return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), success;
}
#endif
int cuDeviceCanAccessPeer(int* can, int, int) {
    return *can = 1, success;
}
// As after another library has done it.
int cuCtxEnablePeerAccess(void*, unsigned) {
    return 704;
}
int cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, void*) {
    return std::memset(reinterpret_cast<void*>(to), value, bytes), success;
}
#ifndef OMIT_cuMemPrefetchAsync
int cuMemPrefetchAsync(Address, std::size_t, int, void*) {
    return success;
}
#endif
#ifndef OMIT_cuMemAdvise
int cuMemAdvise(Address, std::size_t, int advice, int) {
    return advice >= 1 && advice <= 6 ? success : 1;
}
#endif
int cuStreamCreate(void** stream, unsigned) {
    return *stream = std::getenv("FAKE_CUDA_NULL_STREAMS") != nullptr ? nullptr : &used, success;
}
int cuStreamDestroy_v2(void*) {
    return success;
}
int cuStreamSynchronize(void*) {
    return success;
}
int cuEventCreate(void** event, unsigned) {
    return *event = new std::chrono::steady_clock::time_point, success;
}
int cuEventDestroy_v2(void* event) {
    return delete static_cast<std::chrono::steady_clock::time_point*>(event), success;
}
int cuEventRecord(void* event, void*) {
    return *static_cast<std::chrono::steady_clock::time_point*>(event) = std::chrono::steady_clock::now(), success;
}
int cuEventQuery(void*) {
    return success;
}
int cuEventElapsedTime(float* milliseconds, void* start, void* stop) {
    const auto time = [](void* event) { return *static_cast<std::chrono::steady_clock::time_point*>(event); };
    *milliseconds = std::chrono::duration<float, std::milli>(time(stop) - time(start)).count();
    return success;
}
int cuModuleLoadData(void** module, const void*) {
    return *module = &used, success;
}
int cuModuleUnload(void*) {
    return success;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
    return *function = new std::string(name), success;
}
#ifndef OMIT_cuLaunchKernel
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                   void** arguments, void**) {
    return run(*static_cast<std::string*>(function), arguments), success;
}
#endif

}  // extern "C"
