// Stands before dlsym: programs that open the driver by themselves, as every static runtime does, find it so.
//
// What RTLD_NEXT and RTLD_DEFAULT mean depends on who calls, which the C library learns from the address that it
// returns to. Such calls are passed on by a jump, so that it is the program's.
#include "accelerator/functions.hpp"

#include "accelerator/opencl/functions.hpp"

// Sanitizers ask for functions before what is compiled for them can run.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): seen by the code below alone, by these names.
__attribute__((used, visibility("hidden"))) isthmus::accelerator::FindSymbol isthmus_next_dlsym() {
    return isthmus::accelerator::next_dlsym();
}
__attribute__((used, visibility("hidden"))) void* isthmus_dlsym(void* handle, const char* symbol) {
    const isthmus::accelerator::FindSymbol find = isthmus::accelerator::next_dlsym();
    if (find == nullptr) return nullptr;
    void* const found = isthmus::accelerator::instead_of(symbol, find(handle, symbol));
    return isthmus::accelerator::instead_of_opencl(symbol, found);
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
