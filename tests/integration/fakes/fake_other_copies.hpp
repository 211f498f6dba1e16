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
// Calls that `isthmus accelerate` leaves to the driver, as far as they can copy memory of the host here. An operation
// is a side of 40 bytes each (kind, address, length of rows, rows of layers, hint), extents, order and flags.
struct Operation {
    struct Side {
        std::uint64_t kind;
        Address address;
        std::size_t row_bytes, rows, hint;
    } from, to;
    std::size_t width, height, depth;
    int order;
    unsigned flags;
};
static int copy_operations(Operation* operations, std::size_t count, void* stream) {
    if (operations == nullptr || count == 0) return invalid_value;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& [from, to, width, height, depth, order, flags] = operations[i];
        const auto pitch = [&](const Operation::Side& side) { return side.row_bytes == 0 ? width : side.row_bytes; };
        const auto rows = [&](const Operation::Side& side) { return side.rows == 0 ? height : side.rows; };
        fake::Copy3d copy{};
        copy.source_type = copy.type = 4;
        copy.source_device = from.address;
        copy.source_pitch = pitch(from);
        copy.source_height = rows(from);
        copy.device = to.address;
        copy.pitch = pitch(to);
        copy.height_of_slices = rows(to);
        copy.width = width;
        copy.height = height;
        copy.depth = depth;
        if (const int code = cuMemcpy3DAsync_v2(&copy, stream); code != success) return code;
    }
    return success;
}
int cuMemcpyWithAttributesAsync(Address to, Address from, std::size_t bytes, fake::CopyAttributes* attributes,
                                void* stream) {
    const std::size_t first = 0;
    if (!fake::are_valid(attributes, &first, 1, 1)) return invalid_value;
    return copy_any(to, from, bytes, stream, false);
}
int cuMemcpyWithAttributesAsync_ptsz(Address to, Address from, std::size_t bytes, fake::CopyAttributes* attributes,
                                     void* stream) {
    return cuMemcpyWithAttributesAsync(to, from, bytes, attributes, of_thread(stream));
}
int cuMemcpy3DWithAttributesAsync(Operation* operation, unsigned long long flags, void* stream) {
    return flags != 0 ? invalid_value : copy_operations(operation, 1, stream);
}
int cuMemcpy3DWithAttributesAsync_ptsz(Operation* operation, unsigned long long flags, void* stream) {
    return cuMemcpy3DWithAttributesAsync(operation, flags, of_thread(stream));
}
int cuMemcpy3DBatchAsync(std::size_t count, Operation* operations, std::size_t*, unsigned long long flags,
                         void* stream) {
    return flags != 0 || stream == nullptr ? invalid_value : copy_operations(operations, count, stream);
}
int cuMemcpy3DBatchAsync_v2(std::size_t count, Operation* operations, unsigned long long flags, void* stream) {
    return flags != 0 || stream == nullptr ? invalid_value : copy_operations(operations, count, stream);
}
int cuMemcpy3DPeerAsync(const fake::Copy3d* copy, void* stream) {
    if (copy == nullptr) return invalid_value;
    fake::Copy3d here = *copy;
    here.source_reserved = here.reserved = nullptr;  // contexts
    return cuMemcpy3DAsync_v2(&here, stream);
}
int cuMemcpy3DPeer(const fake::Copy3d* copy) {
    const int code = cuMemcpy3DPeerAsync(copy, nullptr);
    return code == success ? cuStreamSynchronize(nullptr) : code;
}
// An array without a layout, as cuArrayCreate_v2 makes it here.
int cuMemcpyHtoAAsync_v2(void* array, std::size_t offset, const void* from, std::size_t bytes, void* stream) {
    return cuMemcpyHtoDAsync_v2(reinterpret_cast<Address>(array) + offset, from, bytes, stream);
}
int cuMemcpyAtoHAsync_v2(void* to, void* array, std::size_t offset, std::size_t bytes, void* stream) {
    return cuMemcpyDtoHAsync_v2(to, reinterpret_cast<Address>(array) + offset, bytes, stream);
}
int cuMemcpyHtoA_v2(void* array, std::size_t offset, const void* from, std::size_t bytes) {
    return cuMemcpyHtoD_v2(reinterpret_cast<Address>(array) + offset, from, bytes);
}
int cuMemcpyAtoH_v2(void* to, void* array, std::size_t offset, std::size_t bytes) {
    return cuMemcpyDtoH_v2(to, reinterpret_cast<Address>(array) + offset, bytes);
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
        {"cuMemcpyWithAttributesAsync", {any(&cuMemcpyWithAttributesAsync), any(&cuMemcpyWithAttributesAsync_ptsz)}},
        {"cuMemcpy3DWithAttributesAsync",
         {any(&cuMemcpy3DWithAttributesAsync), any(&cuMemcpy3DWithAttributesAsync_ptsz)}},
        {"cuMemcpyHtoA", {any(&cuMemcpyHtoA_v2), any(&cuMemcpyHtoA_v2)}},
        {"cuMemcpyHtoAAsync", {any(&cuMemcpyHtoAAsync_v2), any(&cuMemcpyHtoAAsync_v2)}},
        {"cuMemcpyAtoH", {any(&cuMemcpyAtoH_v2), any(&cuMemcpyAtoH_v2)}},
        {"cuMemcpyAtoHAsync", {any(&cuMemcpyAtoHAsync_v2), any(&cuMemcpyAtoHAsync_v2)}},
        {"cuMemcpy3DPeer", {any(&cuMemcpy3DPeer), any(&cuMemcpy3DPeer)}},
        {"cuMemcpy3DPeerAsync", {any(&cuMemcpy3DPeerAsync), any(&cuMemcpy3DPeerAsync)}},
    };
    const auto known = copies.find(name);
    if (std::string_view(name) == "cuMemcpyBatchAsync") {
        *function = version < 13000 ? any(&cuMemcpyBatchAsync) : any(&cuMemcpyBatchAsync_v2);
    } else if (std::string_view(name) == "cuMemcpy3DBatchAsync") {
        *function = version < 13000 ? any(&cuMemcpy3DBatchAsync) : any(&cuMemcpy3DBatchAsync_v2);
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
