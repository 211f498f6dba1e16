// The driver's functions that are stood before: their names, ours, and the program's own.
#include "accelerator/functions.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstring>

#include "accelerator/exports.hpp"

namespace isthmus::accelerator {
namespace {

constexpr unsigned long long per_thread_default_stream = 2;

struct Entry {
    const char* name;                    // as cuGetProcAddress knows it
    std::array<const char*, 2> symbols;  // of the library: for the legacy default stream, and for the thread's own
    int since, before;                   // of the versions whose programs get a function of this signature
    std::array<void*, 2> ours;
    std::array<std::atomic<void*>, 2> originals{};
};

template <typename Pointer>
void* any(Pointer function) {
    return reinterpret_cast<void*>(function);
}

#define ISTHMUS_ENTRY(name, symbol, suffix, since, before)                                          \
    Entry {                                                                                         \
        name, {#symbol, #symbol #suffix}, since, before, {any(&(symbol)), any(&symbol##suffix)}, {} \
    }

using Entries = std::array<Entry, static_cast<std::size_t>(Function::count)>;

// In the order of Function. Made when it is first asked for, which may be before this library's turn to begin.
Entries& entries() {
    static Entries all{
        ISTHMUS_ENTRY("cuMemcpy", cuMemcpy, _ptds, 4000, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyAsync", cuMemcpyAsync, _ptsz, 4000, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyHtoD", cuMemcpyHtoD_v2, _ptds, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, _ptsz, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyDtoH", cuMemcpyDtoH_v2, _ptds, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2, _ptsz, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy2D", cuMemcpy2D_v2, _ptds, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy2DUnaligned", cuMemcpy2DUnaligned_v2, _ptds, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy2DAsync", cuMemcpy2DAsync_v2, _ptsz, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy3D", cuMemcpy3D_v2, _ptds, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy3DAsync", cuMemcpy3DAsync_v2, _ptsz, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyBatchAsync", cuMemcpyBatchAsync, _ptsz, 12080, 13000),
        ISTHMUS_ENTRY("cuMemcpyBatchAsync", cuMemcpyBatchAsync_v2, _ptsz, 13000, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyWithAttributesAsync", cuMemcpyWithAttributesAsync, _ptsz, 13020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy3DWithAttributesAsync", cuMemcpy3DWithAttributesAsync, _ptsz, 13020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy3DBatchAsync", cuMemcpy3DBatchAsync, _ptsz, 12080, 13000),
        ISTHMUS_ENTRY("cuMemcpy3DBatchAsync", cuMemcpy3DBatchAsync_v2, _ptsz, 13000, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy3DPeer", cuMemcpy3DPeer, _ptds, 4000, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpy3DPeerAsync", cuMemcpy3DPeerAsync, _ptsz, 4000, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyHtoA", cuMemcpyHtoA_v2, _ptds, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyHtoAAsync", cuMemcpyHtoAAsync_v2, _ptsz, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyAtoH", cuMemcpyAtoH_v2, _ptds, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemcpyAtoHAsync", cuMemcpyAtoHAsync_v2, _ptsz, 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemHostAlloc", cuMemHostAlloc, , 2020, INT_MAX),
        ISTHMUS_ENTRY("cuMemAllocHost", cuMemAllocHost_v2, , 3020, INT_MAX),
        ISTHMUS_ENTRY("cuMemHostRegister", cuMemHostRegister_v2, , 6050, INT_MAX),
        ISTHMUS_ENTRY("cuMemFreeHost", cuMemFreeHost, , 2000, INT_MAX),
        ISTHMUS_ENTRY("cuMemHostUnregister", cuMemHostUnregister, , 4000, INT_MAX),
        ISTHMUS_ENTRY("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2, , 11000, INT_MAX),
        ISTHMUS_ENTRY("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2, , 11000, INT_MAX),
        ISTHMUS_ENTRY("cuCtxDestroy", cuCtxDestroy_v2, , 4000, INT_MAX),
        ISTHMUS_ENTRY("cuStreamBeginCapture", cuStreamBeginCapture, _ptsz, 10000, 10010),
        ISTHMUS_ENTRY("cuStreamBeginCapture", cuStreamBeginCapture_v2, _ptsz, 10010, INT_MAX),
        ISTHMUS_ENTRY("cuStreamBeginCaptureToGraph", cuStreamBeginCaptureToGraph, _ptsz, 12030, INT_MAX),
        ISTHMUS_ENTRY("cuStreamEndCapture", cuStreamEndCapture, _ptsz, 10000, INT_MAX),
        ISTHMUS_ENTRY("cuGetProcAddress", cuGetProcAddress, _ptsz, 11030, 12000),
        ISTHMUS_ENTRY("cuGetProcAddress", cuGetProcAddress_v2, _ptsz, 12000, INT_MAX),
    };
    return all;
}

#undef ISTHMUS_ENTRY

bool is_ours(const void* function) {
    for (const Entry& entry : entries()) {
        for (const void* mine : entry.ours) {
            if (mine == function) return true;
        }
    }
    return false;
}

// Whether a function is of a library that comes before this one, and passes its calls on to ours by itself.
bool comes_before(const char* symbol, const void* found) {
    const FindSymbol find = system_dlsym();
    return find != nullptr && find(RTLD_DEFAULT, symbol) == found && find(RTLD_NEXT, symbol) != found;
}

// One that is not the one that is called already is left to the program: its own library of mocks, say.
void* taken(Entry& entry, std::size_t variant, void* found) {
    if (is_ours(found) || Inside::here()) return found;
    void* known = entry.originals[variant].load(std::memory_order_acquire);
    if (known == nullptr && comes_before(entry.symbols[variant], found)) return found;
    entry.originals[variant].compare_exchange_strong(known, found);
    return known == nullptr || known == found ? entry.ours[variant] : found;
}

void* from_driver(const char* symbol) {
    const FindSymbol find = next_dlsym();
    if (find == nullptr) return nullptr;
    if (void* next = next_symbol(symbol)) return next;
    // Of a program that was linked with the driver it is there already.
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : find(library, symbol);
}

}  // namespace

thread_local bool Inside::is_inside = false;
thread_local const void* Inside::driver_since = nullptr;
thread_local unsigned long Inside::copies = 0;

FindSymbol system_dlsym() noexcept {
    static const FindSymbol found = [] {
        void* next = nullptr;
        // As it was named when each architecture's C library began, and since it took in libdl.
        for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
            if (next == nullptr) next = dlvsym(RTLD_NEXT, "dlsym", version);
        }
        return reinterpret_cast<FindSymbol>(next);
    }();
    return found;
}

FindSymbol next_dlsym() noexcept {
    static const auto found = reinterpret_cast<FindSymbol>(next_symbol("dlsym"));
    return found;
}

void* next_symbol(const char* symbol) noexcept {
    const FindSymbol find = system_dlsym();
    return find == nullptr ? nullptr : find(RTLD_NEXT, symbol);
}

void* instead_of(const char* symbol, void* found) noexcept {
    if (found == nullptr || symbol == nullptr || std::strncmp(symbol, "cu", 2) != 0) return found;
    for (Entry& entry : entries()) {
        for (std::size_t variant = 0; variant < 2; ++variant) {
            if (std::strcmp(symbol, entry.symbols[variant]) == 0) return taken(entry, variant, found);
        }
    }
    return found;
}

void* instead_of(const char* name, int version, unsigned long long flags, void* found) noexcept {
    if (found == nullptr || name == nullptr || std::strncmp(name, "cu", 2) != 0) return found;
    const std::size_t variant = (flags & per_thread_default_stream) != 0 ? 1 : 0;
    for (Entry& entry : entries()) {
        if (version < entry.since || version >= entry.before || std::strcmp(name, entry.name) != 0) continue;
        return taken(entry, variant, found);
    }
    return instead_of(name, found);  // with its suffix, as some programs ask
}

void* original(Function function, bool per_thread) noexcept {
    Entry& entry = entries()[static_cast<std::size_t>(function)];
    const std::size_t variant = per_thread ? 1 : 0;
    if (void* known = entry.originals[variant].load(std::memory_order_acquire)) return known;
    void* found = from_driver(entry.symbols[variant]);
    void* known = nullptr;
    if (found != nullptr) entry.originals[variant].compare_exchange_strong(known, found);
    return known != nullptr ? known : found;
}

}  // namespace isthmus::accelerator
