// The calls that random programs make: the driver's, and the runtime's where it is installed.
#pragma once

#include "../driver.hpp"

// The runtime's structures, by hand.
struct RuntimePointer {
    void* memory;
    std::size_t pitch_bytes, width_bytes, rows;
};
struct RuntimePosition {
    std::size_t x, y, z;
};
struct RuntimeCopy3d {
    void* source_array;
    RuntimePosition source_at;
    RuntimePointer source;
    void* destination_array;
    RuntimePosition destination_at;
    RuntimePointer destination;
    RuntimePosition extent;
    int kind;
};

// CUmemAllocationProp and CUmemAccessDesc
struct MappedProperties {
    int type, handle_types;
    MemoryLocation location;
    void* metadata;
    unsigned char flags[8];
};
struct MappedAccess {
    MemoryLocation location;
    int flags;
};

using HostFunction = void (*)(void*);

// What driver.hpp does not name, by its symbols: asked by name, cuGetProcAddress gives signatures of later versions.
struct MoreOfDriver {
#define FUNCTION(name, symbol, ...) \
    Code (*name)(__VA_ARGS__) = reinterpret_cast<Code (*)(__VA_ARGS__)>(dlsym(library(), symbol));
    FUNCTION(cuCtxCreate, "cuCtxCreate_v2", Context*, unsigned, Device)
    FUNCTION(cuCtxDestroy, "cuCtxDestroy_v2", Context)
    FUNCTION(cuCtxSynchronize, "cuCtxSynchronize")
    FUNCTION(cuDevicePrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags_v2", Device, unsigned)
    FUNCTION(cuMemAllocManaged, "cuMemAllocManaged", DevicePointer*, std::size_t, unsigned)
    FUNCTION(cuMemAllocAsync, "cuMemAllocAsync", DevicePointer*, std::size_t, Stream)
    FUNCTION(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", DevicePointer*, void*, unsigned)
    FUNCTION(cuMemAddressReserve, "cuMemAddressReserve", DevicePointer*, std::size_t, std::size_t, DevicePointer,
             unsigned long long)
    FUNCTION(cuMemCreate, "cuMemCreate", unsigned long long*, std::size_t, const MappedProperties*, unsigned long long)
    FUNCTION(cuMemMap, "cuMemMap", DevicePointer, std::size_t, std::size_t, unsigned long long, unsigned long long)
    FUNCTION(cuMemSetAccess, "cuMemSetAccess", DevicePointer, std::size_t, const MappedAccess*, std::size_t)
    FUNCTION(cuMemcpyDtoD, "cuMemcpyDtoD_v2", DevicePointer, DevicePointer, std::size_t)
    FUNCTION(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", DevicePointer, DevicePointer, std::size_t, Stream)
    FUNCTION(cuMemcpyPeer, "cuMemcpyPeer", DevicePointer, Context, DevicePointer, Context, std::size_t)
    FUNCTION(cuMemcpy2DUnaligned, "cuMemcpy2DUnaligned_v2", const Copy2d*)
    FUNCTION(cuArrayCreate, "cuArrayCreate_v2", Array*, const ArrayDescriptor*)
    FUNCTION(cuArrayDestroy, "cuArrayDestroy", Array)
    FUNCTION(cuMemcpyHtoA, "cuMemcpyHtoA_v2", Array, std::size_t, const void*, std::size_t)
    FUNCTION(cuMemcpyAtoH, "cuMemcpyAtoH_v2", void*, Array, std::size_t, std::size_t)
    FUNCTION(cuStreamQuery, "cuStreamQuery", Stream)
    FUNCTION(cuStreamWaitValue32, "cuStreamWaitValue32_v2", Stream, DevicePointer, std::uint32_t, unsigned)
    FUNCTION(cuLaunchHostFunc, "cuLaunchHostFunc", Stream, HostFunction, void*)
    FUNCTION(cuEventDestroy, "cuEventDestroy_v2", Event)
    FUNCTION(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", GraphExecutable*, Graph, unsigned long long)
    FUNCTION(cuGraphLaunch, "cuGraphLaunch", GraphExecutable, Stream)
    FUNCTION(cuGraphDestroy, "cuGraphDestroy", Graph)
    FUNCTION(cuGraphExecDestroy, "cuGraphExecDestroy", GraphExecutable)
    FUNCTION(cuModuleLoadData, "cuModuleLoadData", Module*, const void*)
    FUNCTION(cuModuleGetFunction, "cuModuleGetFunction", Kernel*, Module, const char*)
    FUNCTION(cuLaunchKernel, "cuLaunchKernel", Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
             unsigned, Stream, void**, void**)
    FUNCTION(cuMemcpyBatchAsync2, "cuMemcpyBatchAsync_v2", DevicePointer*, DevicePointer*, std::size_t*, std::size_t,
             CopyAttributes*, std::size_t*, std::size_t, Stream)
#undef FUNCTION
    // Tests of what no real driver can do without harm are for a fake one, and the other way round.
    const bool is_fake = dlsym(library(), "fake_record_calls") != nullptr;
};
inline const MoreOfDriver* more = nullptr;
// The same copies for the calling thread's own default stream.
inline const Driver* of_thread = nullptr;

// Null where no runtime is installed.
struct Runtime {
    static void* open() {
        void* opened = nullptr;
        for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}) {
            if (opened == nullptr) opened = dlopen(name, RTLD_NOW);
        }
        return opened;
    }
    void* const library = open();
    template <typename Signature>
    Signature* find(const char* name) const {
        return library == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library, name));
    }
#define FUNCTION(name, ...) Code (*name)(__VA_ARGS__) = find<Code(__VA_ARGS__)>(#name);
    FUNCTION(cudaFree, void*)
    FUNCTION(cudaGetLastError)
    FUNCTION(cudaDeviceReset)
    FUNCTION(cudaMemcpy, void*, const void*, std::size_t, int)
    FUNCTION(cudaMemcpyAsync, void*, const void*, std::size_t, int, Stream)
    FUNCTION(cudaMemcpy2D, void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int)
    FUNCTION(cudaMemcpy2DAsync, void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int, Stream)
    FUNCTION(cudaMemcpy3D, const RuntimeCopy3d*)
    FUNCTION(cudaMemcpy3DAsync, const RuntimeCopy3d*, Stream)
    FUNCTION(cudaMemcpyPeer, void*, int, const void*, int, std::size_t)
#undef FUNCTION
    // As of CUDA 13.
    Code (*cudaMemcpyBatchAsync)(void* const*, const void* const*, const std::size_t*, std::size_t, CopyAttributes*,
                                 std::size_t*, std::size_t, Stream) =
        dlopen("libcudart.so.13", RTLD_NOW) == nullptr
            ? nullptr
            : find<Code(void* const*, const void* const*, const std::size_t*, std::size_t, CopyAttributes*,
                        std::size_t*, std::size_t, Stream)>("cudaMemcpyBatchAsync");
};
inline const Runtime* runtime = nullptr;

inline constexpr Code absent = -1;
// Calls a function that the driver may lack.
template <typename... Parameters, typename... Arguments>
Code call(Code (*function)(Parameters...), Arguments... arguments) {
    return function == nullptr ? absent : function(arguments...);
}
