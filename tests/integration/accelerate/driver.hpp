// The driver's functions as programs under test get at them, by the way that `reach` names.
//
// linked (if compiled with LINKED), dlsym, address (cuGetProcAddress), versioned (the first of these functions), or
// thread (with the thread's own default stream).
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "driver/cuda_api.hpp"

using namespace isthmus::cuda;
using Code = ReturnCode;

#ifdef LINKED
extern "C" {
Code cuMemcpyHtoD_v2(DevicePointer, const void*, std::size_t);
Code cuMemcpyDtoH_v2(void*, DevicePointer, std::size_t);
Code cuMemcpyHtoDAsync_v2(DevicePointer, const void*, std::size_t, Stream);
Code cuMemcpyDtoHAsync_v2(void*, DevicePointer, std::size_t, Stream);
Code cuMemcpy(DevicePointer, DevicePointer, std::size_t);
Code cuStreamBeginCapture_v2(Stream, int);
Code cuStreamEndCapture(Stream, Graph*);
}
#endif

inline std::string reach;

inline void* library() {
    static void* const opened = dlopen("libcuda.so.1", RTLD_NOW);
    if (opened == nullptr) std::exit(77);
    return opened;
}

// The function of this name for cuGetProcAddress, and its symbol in the library.
template <typename Signature>
Signature* get(const char* name, const char* symbol) {
#ifdef LINKED
    if (reach == "linked") {
        const auto same = [&](const char* other) { return std::strcmp(symbol, other) == 0; };
        if (same("cuMemcpyHtoD_v2")) return reinterpret_cast<Signature*>(&cuMemcpyHtoD_v2);
        if (same("cuMemcpyDtoH_v2")) return reinterpret_cast<Signature*>(&cuMemcpyDtoH_v2);
        if (same("cuMemcpyHtoDAsync_v2")) return reinterpret_cast<Signature*>(&cuMemcpyHtoDAsync_v2);
        if (same("cuMemcpyDtoHAsync_v2")) return reinterpret_cast<Signature*>(&cuMemcpyDtoHAsync_v2);
        if (same("cuMemcpy")) return reinterpret_cast<Signature*>(&cuMemcpy);
        if (same("cuStreamBeginCapture_v2")) return reinterpret_cast<Signature*>(&cuStreamBeginCapture_v2);
        if (same("cuStreamEndCapture")) return reinterpret_cast<Signature*>(&cuStreamEndCapture);
    }
#endif
    void* found = nullptr;
    if (reach == "address" || reach == "thread") {
        static auto* const ask = reinterpret_cast<Code (*)(const char*, void**, int, std::uint64_t, int*)>(
            dlsym(library(), "cuGetProcAddress_v2"));
        // NVIDIA's runtime asks for these as CUDA 7.0 had them, however new it is.
        const int version = std::string_view(name).starts_with("cuDevicePrimaryCtxRe") ? 7000 : 12080;
        if (ask != nullptr) (void)ask(name, &found, version, reach == "thread" ? 2 : 0, nullptr);
    }
    if (reach == "versioned") {
        static auto* const ask =
            reinterpret_cast<Code (*)(const char*, void**, int, std::uint64_t)>(dlsym(library(), "cuGetProcAddress"));
        if (ask != nullptr) (void)ask(name, &found, 11040, 0);
    }
    if (found == nullptr) found = dlsym(library(), symbol);
    return reinterpret_cast<Signature*>(found);
}

struct Driver {
#define FUNCTION(name, symbol, ...) Code (*name)(__VA_ARGS__) = get<Code(__VA_ARGS__)>(#name, symbol);
    FUNCTION(cuInit, "cuInit", unsigned)
    FUNCTION(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", Context*, Device)
    FUNCTION(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2", Device)
    FUNCTION(cuCtxSetCurrent, "cuCtxSetCurrent", Context)
    FUNCTION(cuMemAlloc, "cuMemAlloc_v2", DevicePointer*, std::size_t)
    FUNCTION(cuMemFree, "cuMemFree_v2", DevicePointer)
    FUNCTION(cuMemHostAlloc, "cuMemHostAlloc", void**, std::size_t, unsigned)
    FUNCTION(cuMemFreeHost, "cuMemFreeHost", void*)
    FUNCTION(cuMemHostRegister, "cuMemHostRegister_v2", void*, std::size_t, unsigned)
    FUNCTION(cuMemHostUnregister, "cuMemHostUnregister", void*)
    FUNCTION(cuMemsetD8Async, "cuMemsetD8Async", DevicePointer, unsigned char, std::size_t, Stream)
    FUNCTION(cuStreamCreate, "cuStreamCreate", Stream*, unsigned)
    FUNCTION(cuStreamDestroy, "cuStreamDestroy_v2", Stream)
    FUNCTION(cuStreamSynchronize, "cuStreamSynchronize", Stream)
    FUNCTION(cuStreamWaitEvent, "cuStreamWaitEvent", Stream, Event, unsigned)
    FUNCTION(cuStreamWaitValue32, "cuStreamWaitValue32_v2", Stream, DevicePointer, std::uint32_t, unsigned)
    FUNCTION(cuStreamBeginCapture, "cuStreamBeginCapture_v2", Stream, int)
    FUNCTION(cuStreamEndCapture, "cuStreamEndCapture", Stream, Graph*)
    FUNCTION(cuEventCreate, "cuEventCreate", Event*, unsigned)
    FUNCTION(cuEventRecord, "cuEventRecord", Event, Stream)
    FUNCTION(cuEventDestroy, "cuEventDestroy_v2", Event)
    FUNCTION(cuEventQuery, "cuEventQuery", Event)
    FUNCTION(cuEventSynchronize, "cuEventSynchronize", Event)
    FUNCTION(cuMemcpyHtoD, "cuMemcpyHtoD_v2", DevicePointer, const void*, std::size_t)
    FUNCTION(cuMemcpyDtoH, "cuMemcpyDtoH_v2", void*, DevicePointer, std::size_t)
    FUNCTION(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", DevicePointer, const void*, std::size_t, Stream)
    FUNCTION(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void*, DevicePointer, std::size_t, Stream)
    FUNCTION(cuMemcpy, "cuMemcpy", DevicePointer, DevicePointer, std::size_t)
    FUNCTION(cuMemcpyAsync, "cuMemcpyAsync", DevicePointer, DevicePointer, std::size_t, Stream)
    FUNCTION(cuMemcpy2D, "cuMemcpy2D_v2", const Copy2d*)
    FUNCTION(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", const Copy2d*, Stream)
    FUNCTION(cuMemcpy3D, "cuMemcpy3D_v2", const Copy3d*)
    FUNCTION(cuMemcpy3DAsync, "cuMemcpy3DAsync_v2", const Copy3d*, Stream)
#undef FUNCTION
    Code (*cuMemcpyBatchAsync)(DevicePointer*, DevicePointer*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*,
                               std::size_t, std::size_t*, Stream) =
        get<Code(DevicePointer*, DevicePointer*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*, std::size_t,
                 std::size_t*, Stream)>("cuMemcpyBatchAsync", "cuMemcpyBatchAsync");
};
inline const Driver* driver = nullptr;

// Gets at the driver's functions (`how`: as reach), and makes the first device's context current. Null where the driver
// does not begin.
inline Context begin_driver(const std::string& how) {
    reach = how;
    static const Driver functions;
    driver = &functions;
    Context context = nullptr;
    if (driver->cuInit(0) != success || driver->cuDevicePrimaryCtxRetain(&context, 0) != success) return nullptr;
    driver->cuCtxSetCurrent(context);
    return context;
}

inline std::atomic<long> wrong = 0;

inline void expect(bool right) {
    if (!right) ++wrong;
}

inline DevicePointer at(const void* host) {
    return reinterpret_cast<DevicePointer>(host);
}

// In parts that are too small for the library to look at.
inline void fetch(std::byte* to, DevicePointer from, std::size_t bytes) {
    constexpr std::size_t part = 128 << 10;
    for (std::size_t i = 0; i < bytes; i += part) {
        expect(driver->cuMemcpyDtoH(to + i, from + i, std::min(part, bytes - i)) == success);
    }
}
inline void put(DevicePointer to, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t part = 128 << 10;
    for (std::size_t i = 0; i < bytes; i += part) {
        expect(driver->cuMemcpyHtoD(to + i, from + i, std::min(part, bytes - i)) == success);
    }
    // Such copies have read their source when they return, and need not have arrived.
    expect(driver->cuStreamSynchronize(nullptr) == success);
}

// Memory of the host, while it lives.
class HostBlock {
  public:
    HostBlock(std::size_t bytes, bool is_pinned) {
        if (!is_pinned) pageable_.resize(bytes);
        if (is_pinned) expect(driver->cuMemHostAlloc(&pinned_, bytes, 0) == success);
    }
    ~HostBlock() {
        if (pinned_ != nullptr) driver->cuMemFreeHost(pinned_);
    }
    HostBlock(const HostBlock&) = delete;
    HostBlock& operator=(const HostBlock&) = delete;
    std::byte* data() { return pinned_ != nullptr ? static_cast<std::byte*>(pinned_) : pageable_.data(); }
    std::byte& operator[](std::size_t i) { return data()[i]; }

  private:
    std::vector<std::byte> pageable_;
    void* pinned_ = nullptr;
};

// Memory of the device, while it lives.
struct Block {
    explicit Block(std::size_t bytes) { expect(driver->cuMemAlloc(&address, bytes) == success); }
    ~Block() { driver->cuMemFree(address); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    DevicePointer address = 0;
};
