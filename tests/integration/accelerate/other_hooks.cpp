// A preloaded library with hooks of its own, as memory savers and tools that share a GPU have. Each hook asks the
// driver something, passes the call on, and is counted; how often each was called is printed to stderr at the end.
//
// What it passes a call to it looks up anew at each call: by RTLD_NEXT, or, compiled with BY_HANDLE, once and in the
// driver's library. With HOOKS_LOOKUPS it stands before dlsym and cuGetProcAddress, too, and answers with its hooks: by
// symbol, and by name and version. With HOOKS_MEMCPY it stands before memcpy.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

using Address = unsigned long long;
using Stream = void*;
using FindSymbol = void* (*)(void*, const char*);

enum Hook { to_device, to_host, to_device_async, allocated, pinned, unpinned, hooks };
std::atomic<long> seen[hooks];

#ifdef HOOKS_LOOKUPS
void* find(void* handle, const char* symbol) {
    static const auto real = [] {
        void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
        return reinterpret_cast<FindSymbol>(found);
    }();
    return real(handle, symbol);
}
#else
void* find(void* handle, const char* symbol) {
    return dlsym(handle, symbol);
}
#endif

void* of_driver(const char* symbol) {
    return find(dlopen("libcuda.so.1", RTLD_NOW), symbol);
}

template <typename... Parameters>
int passed_on(const char* symbol, void*& known, Parameters... parameters) {
#ifdef BY_HANDLE
    if (known == nullptr) known = of_driver(symbol);
#else
    known = find(RTLD_NEXT, symbol);
    // A program that opens the driver by itself has none behind this library.
    if (known == nullptr) known = of_driver(symbol);
#endif
    return reinterpret_cast<int (*)(Parameters...)>(known)(parameters...);
}

// As a tool asks that keeps books: in which context, how much is left, whose memory.
void ask(Address address) {
    void* context = nullptr;
    std::size_t left = 0, all = 0;
    unsigned kind = 0;
    const auto current = reinterpret_cast<int (*)(void**)>(of_driver("cuCtxGetCurrent"));
    const auto memory = reinterpret_cast<int (*)(std::size_t*, std::size_t*)>(of_driver("cuMemGetInfo_v2"));
    const auto attribute = reinterpret_cast<int (*)(void*, int, Address)>(of_driver("cuPointerGetAttribute"));
    if (current != nullptr) (void)current(&context);
    if (memory != nullptr) (void)memory(&left, &all);
    if (attribute != nullptr && address != 0) (void)attribute(&kind, 2, address);
}

template <typename... Parameters>
int hooked(Hook hook, Address address, const char* symbol, void*& known, Parameters... parameters) {
    ++seen[hook];
    ask(address);
    return passed_on(symbol, known, parameters...);
}

#ifdef BY_HANDLE
// As some look up all that they will need when they begin.
void* first = of_driver("cuMemcpyHtoD_v2");
#endif

__attribute__((destructor)) void print() {
    std::fprintf(stderr, "seen by others:");
    for (const auto& count : seen) std::fprintf(stderr, " %ld", count.load());
    std::fprintf(stderr, "\n");
}

}  // namespace

#define HOOK(symbol, hook, address, parameters, ...)               \
    int symbol parameters {                                        \
        static thread_local void* known = nullptr;                 \
        return hooked(hook, address, #symbol, known, __VA_ARGS__); \
    }

extern "C" {
HOOK(cuMemcpyHtoD_v2, to_device, to, (Address to, const void* from, std::size_t bytes), to, from, bytes)
HOOK(cuMemcpyDtoH_v2, to_host, from, (void* to, Address from, std::size_t bytes), to, from, bytes)
HOOK(cuMemcpyHtoDAsync_v2, to_device_async, to, (Address to, const void* from, std::size_t bytes, Stream stream), to,
     from, bytes, stream)
HOOK(cuMemAlloc_v2, allocated, 0, (Address * made, std::size_t bytes), made, bytes)
HOOK(cuMemHostAlloc, pinned, 0, (void** made, std::size_t bytes, unsigned flags), made, bytes, flags)
HOOK(cuMemFreeHost, unpinned, 0, (void* memory), memory)

#ifdef HOOKS_MEMCPY
void* memcpy(void* to, const void* from, std::size_t bytes) {
    static std::atomic<void*> next = nullptr;
    if (next == nullptr) next = dlsym(RTLD_NEXT, "memcpy");
    return reinterpret_cast<void* (*)(void*, const void*, std::size_t)>(next.load())(to, from, bytes);
}
#endif

#ifdef HOOKS_LOOKUPS
int cuGetProcAddress(const char* name, void** found, int version, std::uint64_t flags);
int cuGetProcAddress_v2(const char* name, void** found, int version, std::uint64_t flags, int* status);

struct Row {
    const char *name, *symbol;
    int since;
    void* hook;
};
static const Row rows[] = {
    {"cuMemcpyHtoD", "cuMemcpyHtoD_v2", 3020, reinterpret_cast<void*>(&cuMemcpyHtoD_v2)},
    {"cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020, reinterpret_cast<void*>(&cuMemcpyDtoH_v2)},
    {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020, reinterpret_cast<void*>(&cuMemcpyHtoDAsync_v2)},
    {"cuMemAlloc", "cuMemAlloc_v2", 3020, reinterpret_cast<void*>(&cuMemAlloc_v2)},
    {"cuMemHostAlloc", "cuMemHostAlloc", 2020, reinterpret_cast<void*>(&cuMemHostAlloc)},
    {"cuMemFreeHost", "cuMemFreeHost", 2000, reinterpret_cast<void*>(&cuMemFreeHost)},
    {"cuGetProcAddress", "cuGetProcAddress", 11030, reinterpret_cast<void*>(&cuGetProcAddress)},
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000, reinterpret_cast<void*>(&cuGetProcAddress_v2)},
};

static void answer(const char* name, void** found, int version, std::uint64_t flags) {
    // Its hooks are of the legacy default stream.
    if (found == nullptr || *found == nullptr || (flags & 2) != 0) return;
    for (const Row& row : rows) {
        if (std::strcmp(name, row.name) == 0 && version >= row.since) *found = row.hook;
    }
}
int cuGetProcAddress(const char* name, void** found, int version, std::uint64_t flags) {
    static thread_local void* known = nullptr;
    const int code = passed_on(__func__, known, name, found, version, flags);
    if (code == 0) answer(name, found, version, flags);
    return code;
}
int cuGetProcAddress_v2(const char* name, void** found, int version, std::uint64_t flags, int* status) {
    static thread_local void* known = nullptr;
    const int code = passed_on(__func__, known, name, found, version, flags, status);
    if (code == 0) answer(name, found, version, flags);
    return code;
}

void* dlsym(void* handle, const char* symbol) {
    static thread_local bool is_inside = false;
    if (is_inside || std::strncmp(symbol, "cu", 2) != 0) return find(handle, symbol);
    is_inside = true;
    void* found = find(handle, symbol);
    for (const Row& row : rows) {
        if (found != nullptr && std::strcmp(symbol, row.symbol) == 0) found = row.hook;
    }
    is_inside = false;
    return found;
}
#endif
}
