// The functions of the fake CUDA driver that copy one piece: a part of fake_cuda.cpp.
#pragma once

static Address address_of(const void* host) {
    return reinterpret_cast<Address>(host);
}
static int to_device(Address to, const void* from, std::size_t bytes, void* stream) {
    return copy("cuMemcpyHtoDAsync_v2", to, address_of(from), bytes, stream, {.to_device = true});
}
static int to_host(void* to, Address from, std::size_t bytes, void* stream) {
    return copy("cuMemcpyDtoHAsync_v2", address_of(to), from, bytes, stream, {.to_host = true});
}
// The kind of the copy decides in which queue it waits.
static int copy_any(Address to, Address from, std::size_t bytes, void* stream) {
    bool to_device = false;
    {
        const std::lock_guard lock(world);
        to_device = fake::memory.is_pageable(reinterpret_cast<void*>(from));
    }
    return copy(to_device ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoHAsync_v2", to, from, bytes, stream);
}
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void* stream) {
    const fake::ToldCopy told(__func__, to, address_of(from), bytes, stream);
    return copy(__func__, to, address_of(from), bytes, stream, {.to_device = true});
}
int cuMemcpyHtoDAsync_v2_ptsz(Address to, const void* from, std::size_t bytes, void* stream) {
    return to_device(to, from, bytes, of_thread(stream));
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void* stream) {
    const fake::ToldCopy told(__func__, address_of(to), from, bytes, stream);
    return copy(__func__, address_of(to), from, bytes, stream, {.to_host = true});
}
int cuMemcpyDtoHAsync_v2_ptsz(void* to, Address from, std::size_t bytes, void* stream) {
    return to_host(to, from, bytes, of_thread(stream));
}
int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
    const fake::ToldCopy told(__func__, to, address_of(from), bytes);
    return waited_for(__func__, legacy, [=] {
        return copy("cuMemcpyHtoD_v2", to, address_of(from), bytes, legacy, {.to_device = true});
    });
}
int cuMemcpyHtoD_v2_ptds(Address to, const void* from, std::size_t bytes) {
    return waited_for(__func__, of_thread(legacy), [=] { return to_device(to, from, bytes, of_thread(legacy)); });
}
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
    const fake::ToldCopy told(__func__, address_of(to), from, bytes);
    return waited_for(__func__, legacy,
                      [=] { return copy("cuMemcpyDtoH_v2", address_of(to), from, bytes, legacy, {.to_host = true}); });
}
int cuMemcpyDtoH_v2_ptds(void* to, Address from, std::size_t bytes) {
    return waited_for(__func__, of_thread(legacy), [=] { return to_host(to, from, bytes, of_thread(legacy)); });
}
int cuMemcpy(Address to, Address from, std::size_t bytes) {
    return waited_for(__func__, legacy, [=] { return copy_any(to, from, bytes, legacy); });
}
int cuMemcpy_ptds(Address to, Address from, std::size_t bytes) {
    return waited_for(__func__, of_thread(legacy), [=] { return copy_any(to, from, bytes, of_thread(legacy)); });
}
int cuMemcpyAsync(Address to, Address from, std::size_t bytes, void* stream) {
    return copy_any(to, from, bytes, stream);
}
int cuMemcpyAsync_ptsz(Address to, Address from, std::size_t bytes, void* stream) {
    return copy_any(to, from, bytes, of_thread(stream));
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void* stream) {
    return copy(__func__, to, from, bytes, stream);
}
// Refuses what a real one needs no function for, and contexts that the memory is not of.
int cuMemcpyPeerAsync(Address to, void* to_context, Address from, void* from_context, std::size_t bytes, void* stream) {
    fake::refuse_forked(__func__);
    if (to_context == from_context) return invalid_value;
    {
        const std::lock_guard lock(world);
        if (fake::memory.owner(to) != to_context || fake::memory.owner(from) != from_context) return invalid_value;
    }
    return copy(__func__, to, from, bytes, stream);
}
