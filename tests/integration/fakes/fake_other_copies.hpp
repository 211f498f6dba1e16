// The ways to the fake CUDA driver's copies that the library does not take, and programs do: copies of sections that
// wait, each function for the thread's own default stream, and cuGetProcAddress. A part of fake_cuda.cpp.
#pragma once

int cuMemcpy2D_v2(const fake::Copy2d* given) {
    return section_and_wait("cuMemcpy2DAsync_v2", given, legacy);
}
int cuMemcpy2D_v2_ptds(const fake::Copy2d* given) {
    return section_and_wait("cuMemcpy2DAsync_v2", given, of_thread(legacy));
}
int cuMemcpy2DUnaligned_v2(const fake::Copy2d* given) {
    return cuMemcpy2D_v2(given);
}
int cuMemcpy2DUnaligned_v2_ptds(const fake::Copy2d* given) {
    return cuMemcpy2D_v2_ptds(given);
}
int cuMemcpy2DAsync_v2_ptsz(const fake::Copy2d* given, void* stream) {
    return cuMemcpy2DAsync_v2(given, of_thread(stream));
}
int cuMemcpy3D_v2(const fake::Copy3d* given) {
    return section_and_wait("cuMemcpy3DAsync_v2", given, legacy);
}
int cuMemcpy3D_v2_ptds(const fake::Copy3d* given) {
    return section_and_wait("cuMemcpy3DAsync_v2", given, of_thread(legacy));
}
int cuMemcpy3DAsync_v2_ptsz(const fake::Copy3d* given, void* stream) {
    return cuMemcpy3DAsync_v2(given, of_thread(stream));
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
int cuMemcpyWithAttributesAsync(Address to, Address from, std::size_t bytes, BatchAttributes* attributes,
                                void* stream) {
    const std::size_t first = 0;
    if (!are_attributes(attributes, &first, 1, 1)) return invalid_value;
    return copy_any(to, from, bytes, stream);
}
int cuMemcpyWithAttributesAsync_ptsz(Address to, Address from, std::size_t bytes, BatchAttributes* attributes,
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
// These know no null stream, also of the thread.
int cuMemcpyBatchAsync_ptsz(Address* to, Address* from, std::size_t* sizes, std::size_t count, void* attributes,
                            std::size_t* places, std::size_t kinds, std::size_t* failed, void* stream) {
    return cuMemcpyBatchAsync(to, from, sizes, count, attributes, places, kinds, failed, stream);
}
int cuMemcpyBatchAsync_v2_ptsz(Address* to, Address* from, std::size_t* sizes, std::size_t count, void* attributes,
                               std::size_t* places, std::size_t kinds, void* stream) {
    return cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, places, kinds, stream);
}
int cuStreamQuery(void* handle) {
    ENTER_CONTEXT();
    if (const int code = fake::refusal_of_asking(handle, current); code != success) return code;
    if (fake::captures.forbid()) return fake::capture_unsupported;
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    fake::streams.advance();
    return fake::streams.is_idle(*stream) ? success : not_ready;
}
// As programs of 12.0 and later ask: names without suffixes. What may be stood before does not come from dlsym, as of a
// real one.
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* found) {
    const auto any = [](auto* pointer) { return reinterpret_cast<void*>(pointer); };
    static const std::map<std::string_view, std::array<void*, 2>> copies{
        {"cuStreamBeginCapture", {any(&cuStreamBeginCapture_v2), any(&cuStreamBeginCapture_v2)}},
        {"cuStreamEndCapture", {any(&cuStreamEndCapture), any(&cuStreamEndCapture)}},
        {"cuMemcpy", {any(&cuMemcpy), any(&cuMemcpy_ptds)}},
        {"cuMemcpyAsync", {any(&cuMemcpyAsync), any(&cuMemcpyAsync_ptsz)}},
        {"cuMemcpyHtoD", {any(&cuMemcpyHtoD_v2), any(&cuMemcpyHtoD_v2_ptds)}},
        {"cuMemcpyHtoDAsync", {any(&cuMemcpyHtoDAsync_v2), any(&cuMemcpyHtoDAsync_v2_ptsz)}},
        {"cuMemcpyDtoH", {any(&cuMemcpyDtoH_v2), any(&cuMemcpyDtoH_v2_ptds)}},
        {"cuMemcpyDtoHAsync", {any(&cuMemcpyDtoHAsync_v2), any(&cuMemcpyDtoHAsync_v2_ptsz)}},
        {"cuMemcpy2D", {any(&cuMemcpy2D_v2), any(&cuMemcpy2D_v2_ptds)}},
        {"cuMemcpy2DAsync", {any(&cuMemcpy2DAsync_v2), any(&cuMemcpy2DAsync_v2_ptsz)}},
        {"cuMemcpy3D", {any(&cuMemcpy3D_v2), any(&cuMemcpy3D_v2_ptds)}},
        {"cuMemcpy3DAsync", {any(&cuMemcpy3DAsync_v2), any(&cuMemcpy3DAsync_v2_ptsz)}},
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
    } else if (std::string_view(name) == "cuDevicePrimaryCtxReset") {
        *function = version < 11000 ? any(&cuDevicePrimaryCtxReset) : any(&cuDevicePrimaryCtxReset_v2);
    } else if (std::string_view(name) == "cuDevicePrimaryCtxRelease") {
        *function = version < 11000 ? any(&cuDevicePrimaryCtxRelease) : any(&cuDevicePrimaryCtxRelease_v2);
    } else if (std::string_view(name) == "cuMemHostRegister") {
        *function = version < 6050 ? any(&cuMemHostRegister) : any(&cuMemHostRegister_v2);
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
