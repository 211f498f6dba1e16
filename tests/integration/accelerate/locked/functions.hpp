// The driver's functions for page-locked memory; null where it lacks one.
#pragma once

#include "../driver.hpp"

template <typename Signature>
Signature* find(const char* symbol) {
    return reinterpret_cast<Signature*>(dlsym(library(), symbol));
}

struct Memory {
#define FUNCTION(name, symbol, ...) Code (*name)(__VA_ARGS__) = find<Code(__VA_ARGS__)>(symbol);
    FUNCTION(cuMemHostAlloc, "cuMemHostAlloc", void**, std::size_t, unsigned)
    FUNCTION(cuMemAllocHost, "cuMemAllocHost_v2", void**, std::size_t)
    FUNCTION(cuMemFreeHost, "cuMemFreeHost", void*)
    FUNCTION(cuMemHostRegister, "cuMemHostRegister_v2", void*, std::size_t, unsigned)
    FUNCTION(cuMemHostUnregister, "cuMemHostUnregister", void*)
    FUNCTION(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", DevicePointer*, void*, unsigned)
    FUNCTION(cuMemHostGetFlags, "cuMemHostGetFlags", unsigned*, void*)
    FUNCTION(cuMemGetAddressRange, "cuMemGetAddressRange_v2", DevicePointer*, std::size_t*, DevicePointer)
    FUNCTION(cuPointerGetAttribute, "cuPointerGetAttribute", void*, int, DevicePointer)
    FUNCTION(cuPointerGetAttributes, "cuPointerGetAttributes", unsigned, int*, void**, DevicePointer)
    FUNCTION(cuPointerSetAttribute, "cuPointerSetAttribute", const void*, int, DevicePointer)
    FUNCTION(cuIpcGetMemHandle, "cuIpcGetMemHandle", void*, DevicePointer)
    FUNCTION(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", unsigned long long*, void*)
    FUNCTION(cuMemFree, "cuMemFree_v2", DevicePointer)
    FUNCTION(cuMemAlloc, "cuMemAlloc_v2", DevicePointer*, std::size_t)
    FUNCTION(cuMemcpyHtoD, "cuMemcpyHtoD_v2", DevicePointer, const void*, std::size_t)
    FUNCTION(cuMemcpyDtoH, "cuMemcpyDtoH_v2", void*, DevicePointer, std::size_t)
    FUNCTION(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", DevicePointer, const void*, std::size_t, Stream)
    FUNCTION(cuCtxCreate, "cuCtxCreate_v2", Context*, unsigned, Device)
    FUNCTION(cuCtxDestroy, "cuCtxDestroy_v2", Context)
    FUNCTION(cuCtxSetCurrent, "cuCtxSetCurrent", Context)
    FUNCTION(cuCtxSynchronize, "cuCtxSynchronize")
    FUNCTION(cuStreamCreate, "cuStreamCreate", Stream*, unsigned)
    FUNCTION(cuStreamDestroy, "cuStreamDestroy_v2", Stream)
    FUNCTION(cuStreamBeginCapture, "cuStreamBeginCapture_v2", Stream, int)
    FUNCTION(cuStreamEndCapture, "cuStreamEndCapture", Stream, Graph*)
#undef FUNCTION
    // Of the fake driver.
    std::size_t (*found_bytes)() = find<std::size_t()>("fake_found_bytes");
};

// What a function that may be missing returns.
template <typename... Parameters, typename... Arguments>
Code call(Code (*function)(Parameters...), Arguments... arguments) {
    constexpr Code absent = -1;
    return function == nullptr ? absent : function(arguments...);
}
