// Functions of the CUDA driver that a library has programs get in place of the driver's own.
#include "interpose/hooks/hooks.hpp"

#include <dlfcn.h>

#include <cstring>

namespace isthmus::interpose {
namespace {

constexpr unsigned long long per_thread_default_stream = 2;

bool is_ours(const void* function) {
    for (const Hook& hook : hooked()) {
        for (const void* mine : hook.ours) {
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

// A function other than the one that is called already is left to the program: its own library of mocks, say.
void* taken(Hook& hook, std::size_t variant, void* found) {
    if (is_ours(found) || is_inside()) return found;
    void* known = hook.originals[variant].load(std::memory_order_acquire);
    if (known == nullptr && comes_before(hook.symbols[variant], found)) return found;
    hook.originals[variant].compare_exchange_strong(known, found);
    return known == nullptr || known == found ? hook.ours[variant] : found;
}

void* from_driver(const char* symbol) {
    const FindSymbol find = next_dlsym();
    if (find == nullptr) return nullptr;
    if (void* next = next_symbol(symbol)) return next;
    void* library = driver_library();
    return library == nullptr ? nullptr : find(library, symbol);
}

}  // namespace

void* driver_library() noexcept {
    // In a program that was linked with the driver it is loaded already.
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

bool has_driver() noexcept {
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;
}

// These two wait for no other thread that looks them up: it may be waiting by a call that is hooked itself.
FindSymbol system_dlsym() noexcept {
    static constinit std::atomic<FindSymbol> known = nullptr;
    if (FindSymbol found = known.load(std::memory_order_relaxed)) return found;
    void* next = nullptr;
    // Its versions: of the first C library of each architecture, and since the C library took in libdl.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
        if (next == nullptr) next = dlvsym(RTLD_NEXT, "dlsym", version);
    }
    known.store(reinterpret_cast<FindSymbol>(next), std::memory_order_relaxed);
    return reinterpret_cast<FindSymbol>(next);
}

FindSymbol next_dlsym() noexcept {
    static constinit std::atomic<FindSymbol> known = nullptr;
    if (known.load(std::memory_order_relaxed) == nullptr)
        known.store(reinterpret_cast<FindSymbol>(next_symbol("dlsym")), std::memory_order_relaxed);
    return known.load(std::memory_order_relaxed);
}

void* next_symbol(const char* symbol) noexcept {
    const FindSymbol find = system_dlsym();
    return find == nullptr ? nullptr : find(RTLD_NEXT, symbol);
}

void* instead_of(const char* symbol, void* found) noexcept {
    if (found == nullptr || symbol == nullptr || std::strncmp(symbol, "cu", 2) != 0) return found;
    for (Hook& hook : hooked()) {
        for (std::size_t variant = 0; variant < 2; ++variant) {
            if (std::strcmp(symbol, hook.symbols[variant]) == 0) return taken(hook, variant, found);
        }
    }
    return found;
}

void* instead_of(const char* name, int version, unsigned long long flags, void* found) noexcept {
    if (found == nullptr || name == nullptr || std::strncmp(name, "cu", 2) != 0) return found;
    for (Hook& hook : hooked()) {
        if (version < hook.since || version >= hook.before || std::strcmp(name, hook.name) != 0) continue;
        const bool has_variants = hook.ours[0] != hook.ours[1];
        return taken(hook, has_variants && (flags & per_thread_default_stream) != 0 ? 1 : 0, found);
    }
    return instead_of(name, found);  // with its suffix, as some programs ask
}

void* original(Hook& hook, bool per_thread) noexcept {
    const std::size_t variant = per_thread ? 1 : 0;
    if (void* known = hook.originals[variant].load(std::memory_order_acquire)) return known;
    void* found = from_driver(hook.symbols[variant]);
    void* known = nullptr;
    if (found != nullptr) hook.originals[variant].compare_exchange_strong(known, found);
    return known != nullptr ? known : found;
}

}  // namespace isthmus::interpose
