// Looks for functions of a driver as programs do that go on without one, and says which are there.
//
// looks_for_driver [local|global LIBRARY]: opens this driver first, for itself or for all.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

int main(int count, char** words) {
    const int scope = count > 1 && std::strcmp(words[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    if (count > 2 && dlopen(words[2], RTLD_NOW | scope) == nullptr) return 77;
    void* const program = dlopen(nullptr, RTLD_NOW);
    for (const char* symbol : {"cuMemHostAlloc", "cuMemcpyHtoD_v2", "cuGetProcAddress_v2", "cuInit", "clCreateContext",
                               "clEnqueueReadBuffer", "clock", "memcpy", "dlsym", "cuNothing"}) {
        dlerror();
        const bool found[] = {dlsym(RTLD_DEFAULT, symbol) != nullptr,
                              dlerror() == nullptr,
                              dlsym(RTLD_NEXT, symbol) != nullptr,
                              dlerror() == nullptr,
                              dlsym(program, symbol) != nullptr,
                              dlerror() == nullptr,
                              dlvsym(RTLD_DEFAULT, symbol, "NONE") != nullptr};
        std::printf("%s:", symbol);
        for (const bool each : found) std::printf(" %d", each ? 1 : 0);
        std::printf("\n");
    }
    return 0;
}
