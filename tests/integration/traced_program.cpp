// A program that copies through a fake CUPTI, and loads the tracer as the driver would.
//
// traced_program TRACER ENDING COPIES [LAUNCHES]: after so many launches each of two threads makes so many copies of 64
// bytes and more; what the device did is delivered every 100 copies. ENDING is how the program ends then: exit, _exit,
// kill, fork, exec; or windows: it launches, and copies now and then, until a seventh window opens in which kernels are
// recorded; or graph: it launches one three times; or pages: it copies from new pages every other time; or fetch: it
// fetches into ordinary and into page-locked memory before. With jump the main thread leaves a copy out of a signal
// handler first, and with exit-in-copy a handler ends the program within a copy.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

extern "C" {
bool fake_listened();
void fake_context();
void fake_copy(std::uint64_t source, std::uint64_t destination, std::uint64_t bytes);
void fake_copy_that(void (*within)());
void fake_fetch(std::uint64_t source, std::uint64_t destination, std::uint64_t bytes);
void fake_deliver();
void fake_launch();
std::uint32_t fake_launches_told();
std::uint32_t fake_windows();
void fake_graph(std::uint64_t graph, int launches);
}

// Without waiting, from a place that is no memory.
void fetch() {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const auto get = [driver](auto* function, const char* name) {
        return reinterpret_cast<decltype(function)>(dlsym(driver, name));
    };
    int (*initialize)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*enter)(void*) = nullptr;
    int (*allocate)(void**, std::size_t, unsigned) = nullptr;
    void *context = nullptr, *locked = nullptr;
    get(initialize, "cuInit")(0);
    get(retain, "cuDevicePrimaryCtxRetain")(&context, 0);
    get(enter, "cuCtxSetCurrent")(context);
    get(allocate, "cuMemHostAlloc")(&locked, 64, 0);
    static const std::uint64_t ordinary[8]{1, 2, 3};
    for (const void* place : {static_cast<const void*>(ordinary), static_cast<const void*>(locked)}) {
        fake_fetch(0x7000'0000'0000, reinterpret_cast<std::uint64_t>(place), 64);
    }
}

// A copy of 8 MiB, before which so many pages of 4 KiB are touched for the first time.
void copy_new_pages(std::size_t pages) {
    constexpr std::size_t bytes = std::size_t{8} << 20, page = 4096;
    void* const made = mmap(nullptr, pages * page + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(made, pages * page + page, MADV_NOHUGEPAGE);
    for (std::size_t index = 0; index < pages; ++index) static_cast<volatile char*>(made)[index * page] = 1;
    fake_copy(reinterpret_cast<std::uint64_t>(made), 0x7000'0000'0000, bytes);
    munmap(made, pages * page + page);
}

sigjmp_buf before_copy;

void leave_copy() {
    signal(SIGUSR1, [](int) { siglongjmp(before_copy, 1); });
    if (sigsetjmp(before_copy, 1) == 0) fake_copy_that([] { raise(SIGUSR1); });
}

int main(int count, char** words) {
    if (count < 4) return 2;
    const std::string ending = words[2];
    const int copies = std::atoi(words[3]);
    void* tracer = dlopen(words[1], RTLD_NOW);
    if (tracer == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 3;
    reinterpret_cast<int (*)()>(dlsym(tracer, "InitializeInjection"))();
    if (fake_listened()) {
        fake_context();
        const int launches = count > 4 ? std::atoi(words[4]) : 0;
        for (int index = 0; index < launches; ++index) fake_launch();
        if (launches > 0) std::printf("launches told of: %u\n", fake_launches_told());
        const auto work = [&](std::uint64_t base) {
            for (int index = 0; index < copies; ++index) {
                const auto place = static_cast<std::uint64_t>(index);
                fake_copy(base + place * 4096, 0x7000'0000'0000 + place * 64, 64 + place);
                if (index % 100 == 99) fake_deliver();
            }
        };
        if (ending == "jump") leave_copy();
        std::thread other(work, 0x1000'0000);
        work(0x2000'0000);
        other.join();
        if (ending == "fetch") fetch();
        if (ending == "graph" && dlopen("libcuda.so.1", RTLD_NOW) != nullptr) fake_graph(1, 3);
        for (std::uint64_t index = 0; ending == "windows" && fake_windows() < 7; ++index) {
            fake_launch();
            if (index % 1000 == 0) fake_copy(0x1000'0000, 0x7000'0000'0000, 64);
        }
        for (int index = 0; ending == "pages" && index < 4; ++index) copy_new_pages(index % 2 == 0 ? 4096 : 0);
        signal(SIGUSR1, [](int) { std::exit(6); });
        if (ending == "exit-in-copy") fake_copy_that([] { raise(SIGUSR1); });
    }
    std::puts("worked");
    std::fflush(stdout);
    if (ending == "_exit") _exit(5);
    if (ending == "kill") kill(getpid(), SIGKILL);
    if (ending == "fork") {
        const pid_t child = fork();
        if (child == 0) std::exit(7);
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    if (ending == "exec") execl(words[0], words[0], words[1], "exit", words[3], static_cast<char*>(nullptr));
    return 4;
}
