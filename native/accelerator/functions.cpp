// The driver's functions that are hooked: their names, our functions in their place, and the program's own.
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

using Entries = std::array<Entry, static_cast<std::size_t>(Function::count)>;

// In the order of Function. Made when it is first asked for, which may be before this library is initialised.
Entries& entries() {
#define ISTHMUS_ENTRY(symbol, suffix, name, since, before, parameters) \
    Entry{#name, {#symbol, #symbol #suffix}, since, before, {any(&(symbol)), any(&symbol##suffix)}, {}},
    static Entries all{ISTHMUS_HOOKED(ISTHMUS_ENTRY)};
#undef ISTHMUS_ENTRY
    return all;
}

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

// A function other than the one that is called already is left to the program: its own library of mocks, say.
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
    // In a program that was linked with the driver it is loaded already.
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
        // Its versions: of the first C library of each architecture, and since the C library took in libdl.
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
    for (Entry& entry : entries()) {
        if (version < entry.since || version >= entry.before || std::strcmp(name, entry.name) != 0) continue;
        const bool has_variants = entry.ours[0] != entry.ours[1];
        return taken(entry, has_variants && (flags & per_thread_default_stream) != 0 ? 1 : 0, found);
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
