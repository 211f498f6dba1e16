// Functions of the CUDA driver that a library has programs get in place of the driver's own.
//
// The files of this folder are compiled into each library that hooks functions, for a dlsym is no part of the core.
// Each such library defines `hooked`, `is_inside` and `instead`.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>

namespace isthmus::interpose {

struct Hook {
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

// All that the library hooks. May be asked for before the library is initialised.
std::span<Hook> hooked() noexcept;
// Whether the calling thread gets the driver's own functions.
bool is_inside() noexcept;
// What a program gets that looked up `symbol` and would get `answer`, by all that the library hooks.
void* instead(const char* symbol, void* answer) noexcept;

// What a program gets that looked up `symbol` in the driver's library and would get `found`: our function, or `found`.
void* instead_of(const char* symbol, void* found) noexcept;
// The same for cuGetProcAddress, which is given a name without suffixes, a version of CUDA, and flags that say whose
// default stream is meant.
void* instead_of(const char* name, int version, unsigned long long flags, void* found) noexcept;
// The program's own function, as it first looked it up; null where there is no driver.
void* original(Hook& hook, bool per_thread) noexcept;

using FindSymbol = void* (*)(void*, const char*);
// The C library's dlsym.
FindSymbol system_dlsym() noexcept;
// The next dlsym after ours: another tool's, which has no version, or the C library's.
FindSymbol next_dlsym() noexcept;
// The next function of this name after ours, in its default version; null where there is none.
void* next_symbol(const char* symbol) noexcept;

// The driver's library, opened where it is not; null where there is none.
void* driver_library() noexcept;
// Whether the program has loaded it.
bool has_driver() noexcept;

// A function of the C library that this one comes before; null where there is none.
template <typename Pointer>
Pointer known_or_found(Pointer& known, const char* name) noexcept {
    if (known == nullptr) known = reinterpret_cast<Pointer>(next_symbol(name));
    return known;
}

}  // namespace isthmus::interpose

// Such a function is looked up as the library begins, for later that takes the loader's lock, which a thread may hold
// that waits for this one; by its first call only in what other libraries do that begin earlier.
#define ISTHMUS_NEXT(name, Pointer)        \
    static Pointer known_##name = nullptr; \
    __attribute__((constructor)) static void find_##name() { isthmus::interpose::known_or_found(known_##name, #name); }
#define ISTHMUS_NEXT_OF(name) isthmus::interpose::known_or_found(known_##name, #name)
