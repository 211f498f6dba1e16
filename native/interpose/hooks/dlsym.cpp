// Hooks dlsym: programs that open the driver by themselves, as every static runtime does, look up its functions so.
//
// What RTLD_NEXT and RTLD_DEFAULT mean depends on who calls, which the C library learns from the address that it
// returns to. Such calls are passed on by a jump, so that it is the program's.
//
// A program that looks whether there is a driver is not to take this library's functions for one.
#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstddef>
#include <string_view>

#include "driver/opencl_loader.hpp"
#include "interpose/foreign_process.hpp"
#include "interpose/hooks/hooks.hpp"

// Sanitizers ask for functions before what is compiled for them can run.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::interpose {
namespace {

// As functions of CUDA's driver and of OpenCL are named.
bool is_of_driver(const char* symbol) {
    const std::string_view name = symbol != nullptr ? symbol : "";
    return (name.starts_with("cu") || name.starts_with("cl")) && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z';
}

// The load address of the program or library that an address is in.
const void* object_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

const void* this_object() {
    return object_of(reinterpret_cast<const void*>(&this_object));
}

const void* program() {
    return object_of(reinterpret_cast<const void*>(getauxval(AT_PHDR)));  // NOLINT(performance-no-int-to-ptr)
}

bool is_loaded(const char* symbol) {
    void* library = nullptr;
    guarded([&] {
        library = symbol[1] == 'l' ? opencl::loaded_loader() : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    });
    return library != nullptr && dlclose(library) == 0;
}

// Whether there is a function behind ours that all of the program sees. Our tracer's does not count by itself.
bool has_another(const char* symbol) {
    Dl_info info{};
    void* const next = next_symbol(symbol);
    if (next == nullptr || dladdr(next, &info) == 0 || info.dli_fname == nullptr) return next != nullptr;
    const std::string_view path = info.dli_fname;
    return !path.substr(path.rfind('/') + 1).starts_with("libisthmus_") || is_loaded(symbol);
}

// What dlerror says is that there is no such symbol.
std::nullptr_t answer_none(const char* symbol) {
    [[maybe_unused]] const void* const none = dlvsym(RTLD_DEFAULT, symbol, "none");
    return nullptr;
}

// Whether `caller` finds this library's function where without it there would be none. What RTLD_NEXT or RTLD_DEFAULT
// would find for a caller cannot be asked from here: a library that was opened together with a driver may see that
// driver, and is assumed to.
bool finds_ours_alone(void* handle, const char* symbol, const void* caller) {
    const void* const ours = this_object();
    const void* const first = object_of(system_dlsym()(RTLD_DEFAULT, symbol));
    if (first != ours && (handle == RTLD_DEFAULT || first != object_of(caller))) return false;
    if (object_of(caller) != program() && is_loaded(symbol)) return false;
    return !has_another(symbol);
}

}  // namespace
}  // namespace isthmus::interpose

extern "C" {
using namespace isthmus::interpose;

// NOLINTBEGIN(readability-identifier-naming): seen by the code below alone, by these names.
// Null where the answer is that there is no such symbol.
__attribute__((used, visibility("hidden"))) FindSymbol isthmus_next_dlsym(void* handle, const char* symbol,
                                                                          const void* caller) {
    const FindSymbol find = next_dlsym();
    if (find == nullptr || !is_of_driver(symbol)) return find;
    return finds_ours_alone(handle, symbol, caller) ? answer_none(symbol) : find;
}
__attribute__((used, visibility("hidden"))) void* isthmus_dlsym(void* handle, const char* symbol) {
    const FindSymbol find = next_dlsym();
    if (find == nullptr) return nullptr;
    void* const found = find(handle, symbol);
    // A handle of the program itself also sees what is preloaded.
    if (found != nullptr && is_of_driver(symbol) && object_of(found) == this_object() && !has_another(symbol)) {
        return answer_none(symbol);
    }
    // The library whose function comes next after ours looks up what it passes its calls on to, which is not ours.
    const void* const caller = object_of(__builtin_return_address(0));
    if (caller != nullptr && is_of_driver(symbol) && object_of(next_symbol(symbol)) == caller) return found;
    return instead(symbol, found);
}
// NOLINTEND(readability-identifier-naming)
}

#if defined(__x86_64__)
asm(R"(
    .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    leaq 1(%rdi), %rax
    cmpq $1, %rax
    ja isthmus_dlsym
    pushq %rdi
    pushq %rsi
    subq $8, %rsp
    movq 24(%rsp), %rdx
    call isthmus_next_dlsym
    addq $8, %rsp
    popq %rsi
    popq %rdi
    testq %rax, %rax
    je 1f
    jmp *%rax
1:  ret
    .size dlsym, .-dlsym
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl dlsym
    .type dlsym, %function
dlsym:
    add x2, x0, #1
    cmp x2, #1
    b.ls 2f
    b isthmus_dlsym
2:  stp x29, x30, [sp, #-32]!
    stp x0, x1, [sp, #16]
    mov x2, x30
    bl isthmus_next_dlsym
    mov x2, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    cbz x2, 1f
    br x2
1:  mov x0, #0
    ret
    .size dlsym, .-dlsym
)");
#else
#error "write the jump for this architecture"
#endif

#endif
