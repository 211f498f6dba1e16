// The driver's functions that are hooked: their names, our functions in their place, and the program's own.
#include "accelerator/functions.hpp"

#include <climits>

#include "accelerator/exports.hpp"
#include "accelerator/opencl/functions.hpp"

namespace isthmus::accelerator {
namespace {

using interpose::any;
using Entries = std::array<interpose::Hook, static_cast<std::size_t>(Function::count)>;

// In the order of Function. Made when it is first asked for, which may be before this library is initialised.
Entries& entries() {
#define ISTHMUS_ENTRY(symbol, suffix, name, since, before, parameters) \
    interpose::Hook{#name, {#symbol, #symbol #suffix}, since, before, {any(&(symbol)), any(&symbol##suffix)}, {}},
    static Entries all{ISTHMUS_HOOKED(ISTHMUS_ENTRY)};
#undef ISTHMUS_ENTRY
    return all;
}

}  // namespace

thread_local bool Inside::is_inside = false;
thread_local const void* Inside::driver_since = nullptr;
thread_local unsigned long Inside::copies = 0;

void* original(Function function, bool per_thread) noexcept {
    return interpose::original(entries()[static_cast<std::size_t>(function)], per_thread);
}

}  // namespace isthmus::accelerator

namespace isthmus::interpose {

std::span<Hook> hooked() noexcept {
    return accelerator::entries();
}
bool is_inside() noexcept {
    return accelerator::Inside::here();
}
void* instead(const char* symbol, void* answer) noexcept {
    return accelerator::instead_of_opencl(symbol, instead_of(symbol, answer));
}

}  // namespace isthmus::interpose
