// The ways to the fake CUDA driver's copies that the library does not take, and programs do: generic copies, copies of
// sections that wait, each function for the thread's own default stream, and cuGetProcAddress. A part of fake_cuda.cpp.
#pragma once

// Whoever is asked: 0 and 1 are the legacy default stream, 2 the thread's own.
static void* of_thread(void* stream) {
    return stream == nullptr ? reinterpret_cast<void*>(2) : stream;
}
// The kind of the copy decides in which queue it waits.
static int copy_any(Address to, Address from, std::size_t bytes, void* stream, bool waits) {
    bool to_device = false;
    {
        const std::lock_guard lock(world);
        to_device = fake::memory.is_pageable(reinterpret_cast<void*>(from));
    }
    auto* const target = reinterpret_cast<void*>(to);
    auto* const source = reinterpret_cast<void*>(from);
    const char* const function = to_device ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoHAsync_v2";
    if (const int code = copy(function, target, source, bytes, stream); code != success) return code;
    return waits ? cuStreamSynchronize(stream) : success;
}

int cuMemcpy(Address to, Address from, std::size_t bytes) {
    return copy_any(to, from, bytes, nullptr, true);
}
int cuMemcpyAsync(Address to, Address from, std::size_t bytes, void* stream) {
    return copy_any(to, from, bytes, stream, false);
}
int cuMemcpy2D_v2(const fake::Copy2d* copy) {
    const int code = cuMemcpy2DAsync_v2(copy, nullptr);
    return code == success ? cuStreamSynchronize(nullptr) : code;
}
int cuMemcpy2DUnaligned_v2(const fake::Copy2d* copy) {
    return cuMemcpy2D_v2(copy);
}
int cuMemcpy3D_v2(const fake::Copy3d* copy) {
    const int code = cuMemcpy3DAsync_v2(copy, nullptr);
    return code == success ? cuStreamSynchronize(nullptr) : code;
}
int cuMemcpyHtoD_v2_ptds(Address to, const void* from, std::size_t bytes) {
    const int code = cuMemcpyHtoDAsync_v2(to, from, bytes, of_thread(nullptr));
    return code == success ? cuStreamSynchronize(of_thread(nullptr)) : code;
}
int cuMemcpyHtoDAsync_v2_ptsz(Address to, const void* from, std::size_t bytes, void* stream) {
    return cuMemcpyHtoDAsync_v2(to, from, bytes, of_thread(stream));
}
int cuMemcpyDtoHAsync_v2_ptsz(void* to, Address from, std::size_t bytes, void* stream) {
    return cuMemcpyDtoHAsync_v2(to, from, bytes, of_thread(stream));
}
int cuStreamQuery(void* handle) {
    ENTER_CONTEXT();
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    fake::streams.advance();
    return stream->queue.empty() ? success : not_ready;
}
// As programs of 12.0 and later ask: names without suffixes. What may be stood before does not come from dlsym, as of a
// real one.
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* found) {
    const auto any = [](auto* pointer) { return reinterpret_cast<void*>(pointer); };
    static const std::map<std::string_view, std::array<void*, 2>> copies{
        {"cuMemcpy", {any(&cuMemcpy), any(&cuMemcpy)}},
        {"cuMemcpyAsync", {any(&cuMemcpyAsync), any(&cuMemcpyAsync)}},
        {"cuMemcpyHtoD", {any(&cuMemcpyHtoD_v2), any(&cuMemcpyHtoD_v2_ptds)}},
        {"cuMemcpyHtoDAsync", {any(&cuMemcpyHtoDAsync_v2), any(&cuMemcpyHtoDAsync_v2_ptsz)}},
        {"cuMemcpyDtoH", {any(&cuMemcpyDtoH_v2), any(&cuMemcpyDtoH_v2)}},
        {"cuMemcpyDtoHAsync", {any(&cuMemcpyDtoHAsync_v2), any(&cuMemcpyDtoHAsync_v2_ptsz)}},
        {"cuMemcpy2D", {any(&cuMemcpy2D_v2), any(&cuMemcpy2D_v2)}},
        {"cuMemcpy2DAsync", {any(&cuMemcpy2DAsync_v2), any(&cuMemcpy2DAsync_v2)}},
        {"cuMemcpy3D", {any(&cuMemcpy3D_v2), any(&cuMemcpy3D_v2)}},
        {"cuMemcpy3DAsync", {any(&cuMemcpy3DAsync_v2), any(&cuMemcpy3DAsync_v2)}},
    };
    const auto known = copies.find(name);
    if (std::string_view(name) == "cuMemcpyBatchAsync") {
        *function = version < 13000 ? any(&cuMemcpyBatchAsync) : any(&cuMemcpyBatchAsync_v2);
    } else if (known != copies.end()) {
        *function = known->second[(flags & 2) != 0 ? 1 : 0];
    } else {
        *function = dlsym(RTLD_DEFAULT, name);
    }
    if (found != nullptr) *found = *function != nullptr ? 0 : 1;
    return *function != nullptr ? success : 500;  // CUDA_ERROR_NOT_FOUND
}
int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
