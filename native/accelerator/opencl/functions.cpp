// The functions of OpenCL that are hooked: their names, our functions in their place, and the program's own.
#include "accelerator/opencl/functions.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstring>

#include "accelerator/functions.hpp"
#include "driver/opencl_loader.hpp"
#include "interpose/foreign_process.hpp"

namespace isthmus::accelerator {
namespace {

struct Entry {
    const char* symbol;
    void* ours;
    std::atomic<void*> original{};
};

using Entries = std::array<Entry, static_cast<std::size_t>(ClFunction::count)>;

// In the order of ClFunction. Made when it is first asked for, which may be before this library's turn to begin.
Entries& entries() {
#define ISTHMUS_ENTRY(function, result, parameters) Entry{#function, reinterpret_cast<void*>(&(function)), {}},
    static Entries all{ISTHMUS_OPENCL_HOOKED(ISTHMUS_ENTRY)};
#undef ISTHMUS_ENTRY
    return all;
}

// Behind this library, or a loader that only a part of the program sees.
void* behind_ours(const char* symbol) noexcept {
    const FindSymbol find = next_dlsym();
    if (find == nullptr) return nullptr;
    if (void* next = next_symbol(symbol)) return next;
    void* loader = nullptr;
    interpose::guarded([&] { loader = opencl::loaded_loader(); });
    return loader == nullptr ? nullptr : find(loader, symbol);
}

}  // namespace

void* instead_of_opencl(const char* symbol, void* found) noexcept {
    if (found == nullptr || symbol == nullptr || std::strncmp(symbol, "cl", 2) != 0) return found;
    for (Entry& entry : entries()) {
        if (std::strcmp(symbol, entry.symbol) != 0) continue;
        if (found == entry.ours || Inside::here()) return found;
        // One that is not the one that is called already is left to the program: another loader, say.
        void* known = nullptr;
        entry.original.compare_exchange_strong(known, found);
        return known == nullptr || known == found ? entry.ours : found;
    }
    return found;
}

void* original(ClFunction function) noexcept {
    Entry& entry = entries()[static_cast<std::size_t>(function)];
    if (void* known = entry.original.load(std::memory_order_acquire)) return known;
    void* found = behind_ours(entry.symbol);
    void* known = nullptr;
    if (found != nullptr) entry.original.compare_exchange_strong(known, found);
    return known != nullptr ? known : found;
}

// Where the program found its own, the others are, too.
const opencl::Api& programs_opencl() {
    static const opencl::Api& found = *new opencl::Api(opencl::Api::found_by([](const char* symbol) -> void* {
        static void* const library = [] {
            Dl_info info{};
            for (const Entry& entry : entries()) {
                void* const known = entry.original;
                if (known != nullptr && dladdr(known, &info) != 0 && info.dli_fname != nullptr) {
                    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
                }
            }
            return static_cast<void*>(nullptr);
        }();
        const FindSymbol find = next_dlsym();
        if (library != nullptr && find != nullptr) return find(library, symbol);
        return behind_ours(symbol);
    }));
    return found;
}

}  // namespace isthmus::accelerator
