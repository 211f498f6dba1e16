// A program that does what programs may do and what costs a guest his footing, with traced calls before and after.
//
// hostile_program VARIANT: prints what it saw; its output, its files and how it ends are to be the same with and
// without a guest. It is compiled for the calls of one guest: OPENCL, DRIVER (CUDA's copies), or else CUDA by a fake
// CUPTI, where HOSTILE_GUEST names the library that the driver would load.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

// More than a guest has room for at first.
constexpr int many = 15'000;

}  // namespace

#ifdef OPENCL
#include "driver/opencl_api.hpp"

using namespace isthmus::opencl;

extern "C" {
ReturnCode clGetPlatformIDs(std::uint32_t, Platform*, std::uint32_t*);
#define DECLARE(function, place, since, result, parameters) __attribute__((weak)) result function parameters;
ISTHMUS_OPENCL_FUNCTIONS(DECLARE)
}

static void traced_calls(int count) {
    static Device device = [] {
        Platform platform = nullptr;
        Device found = nullptr;
        clGetPlatformIDs(1, &platform, nullptr);
        clGetDeviceIDs(platform, device_type_all, 1, &found, nullptr);
        return found;
    }();
    static Context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    static Queue queue = clCreateCommandQueue(context, device, 0, nullptr);
    static Buffer buffer = clCreateBuffer(context, mem_read_write, 64, nullptr, nullptr);
    const char host[64] = {};
    for (int index = 0; index < count; ++index) {
        clEnqueueWriteBuffer(queue, buffer, 1, 0, sizeof host, host, 0, nullptr, nullptr);
    }
}
#elif defined(DRIVER)
extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuMemAlloc_v2(std::uint64_t*, std::size_t);
int cuMemcpyHtoDAsync_v2(std::uint64_t, const void*, std::size_t, void*);
}

// One in a hundred is large enough to be looked at.
static void traced_calls(int count) {
    constexpr std::size_t large = 512 << 10;
    static void* context = [] {
        void* found = nullptr;
        cuInit(0);
        cuDevicePrimaryCtxRetain(&found, 0);
        return found;
    }();
    static const char* const host = static_cast<const char*>(std::calloc(1, large));
    cuCtxSetCurrent(context);
    static const std::uint64_t device = [] {
        std::uint64_t found = 0;
        cuMemAlloc_v2(&found, large);
        return found;
    }();
    for (int index = 0; index < count; ++index) {
        cuMemcpyHtoDAsync_v2(device, host, index % 100 == 5 ? large : 64, nullptr);
    }
}
#else
extern "C" {
bool fake_listened();
void fake_context();
void fake_copy(std::uint64_t source, std::uint64_t destination, std::uint64_t bytes);
void fake_deliver();
}

static void traced_calls(int count) {
    static const bool listened = [] {
        if (const char* guest = std::getenv("HOSTILE_GUEST")) {
            void* library = dlopen(guest, RTLD_NOW);
            if (library == nullptr) std::abort();
            reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
        }
        if (fake_listened()) fake_context();
        return fake_listened();
    }();
    if (!listened) return;
    for (int index = 0; index < count; ++index) {
        fake_copy(0x1000'0000, 0x7000'0000'0000, 64);
        if (index % 100 == 99) fake_deliver();
    }
}
#endif

namespace {

int told(const char* what, long number) {
    std::printf("%s: %ld\n", what, number);
    std::fflush(stdout);
    return 20;
}

void close_all(int last) {
    for (int descriptor = 3; descriptor < last; ++descriptor) close(descriptor);
}

void limit(int what, rlim_t most) {
    const rlimit both{most, most};
    if (setrlimit(what, &both) != 0) std::abort();
}

int ended(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return told("child", status);
}

// Files of its own at the numbers that it closed, 8 MiB of results in all, and a guest that needs room then.
int closes_files() {
    traced_calls(10);
    close_all(1024);
    constexpr int files = 8;
    const std::string megabyte(1 << 20, 'r');
    std::vector<int> opened;
    for (int index = 0; index < files; ++index) {
        const int descriptor = open(("results-" + std::to_string(index)).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
        opened.push_back(descriptor);
        told("opened", descriptor);
        if (write(descriptor, megabyte.data(), megabyte.size()) != static_cast<ssize_t>(megabyte.size())) return 1;
    }
    traced_calls(2 * many);
    for (const int descriptor : opened) {
        struct stat found {};
        told("failed", fstat(descriptor, &found));
        told("bytes", found.st_size);
    }
    return 11;
}

// A thread that closes what it does not own, and takes the numbers, while the guest needs room.
int closes_meanwhile() {
    traced_calls(10);
    std::atomic<bool> done = false;
    long lost = 0;
    std::thread closing([&] {
        do {
            close_all(12);
            const int descriptor = open("mine", O_RDWR | O_CREAT | O_TRUNC, 0644);
            const bool written = write(descriptor, "results", 7) == 7;
            char back[8] = {};
            lost += !written || pread(descriptor, back, 8, 0) != 7 || std::strcmp(back, "results") != 0;
        } while (!done);
    });
    traced_calls(4 * many);
    done = true;
    closing.join();
    return told("lost", lost);
}

int becomes_daemon() {
    traced_calls(10);
    const std::string done = std::string(get_current_dir_name()) + "/done";
    if (const pid_t child = fork(); child != 0) {
        ended(child);
        while (access(done.c_str(), F_OK) != 0) usleep(1000);
        return 9;
    }
    setsid();
    if (fork() != 0) _exit(0);
    if (chdir("/") != 0) _exit(1);
    close_all(1024);
    traced_calls(many);
    const int first = open("/dev/null", O_RDONLY);
    const int descriptor = open((done + ".new").c_str(), O_WRONLY | O_CREAT, 0644);
    if (dprintf(descriptor, "%d %d\n", first, descriptor) > 0) rename((done + ".new").c_str(), done.c_str());
    std::exit(9);
}

std::atomic<int> signals = 0;

void count_signal(int) {
    ++signals;
}

void handle(int number) {
    struct sigaction action {};
    action.sa_handler = count_signal;
    sigaction(number, &action, nullptr);
}

int meets_file_limit(bool handles) {
    traced_calls(10);
    if (handles) handle(SIGXFSZ);
    limit(RLIMIT_FSIZE, 64 << 10);
    traced_calls(2 * many);
    if (!handles) return told("signals", signals);
    const int descriptor = open("limited", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const std::string much(80 << 10, 'x');
    told("written", write(descriptor, much.data(), much.size()));
    told("more", write(descriptor, much.data(), much.size()));
    told("reason", errno);
    return told("signals", signals);
}

int has_timers() {
    handle(SIGALRM);
    const itimerval often{{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, nullptr);
    traced_calls(2 * many);
    while (signals == 0) sched_yield();
    setitimer(ITIMER_REAL, nullptr, nullptr);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return told("blocked", sigismember(&blocked, SIGALRM));
}

int forks(bool by_system_call) {
    traced_calls(100);
    const auto child = static_cast<pid_t>(by_system_call ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork());
    if (child == 0) {
        traced_calls(many);
        by_system_call ? _exit(3) : std::exit(3);
    }
    traced_calls(many);
    ended(child);
    return 12;
}

int forks_for_another() {
    traced_calls(100);
    const pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", static_cast<char*>(nullptr));
        _exit(1);
    }
    traced_calls(many);
    return ended(child);
}

int goes_elsewhere() {
    mkdir("below", 0755);
    if (chdir("below") != 0) return 1;
    traced_calls(10);
    if (chdir("/") != 0) return 1;
    traced_calls(many);
    return told("file", access("1.part", F_OK));
}

int drops_privileges() {
    traced_calls(10);
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
    traced_calls(2 * many);
    return told("made", open("/isthmus-not-mine", O_WRONLY | O_CREAT, 0644));
}

int lacks_descriptors() {
    traced_calls(10);
    limit(RLIMIT_NOFILE, 3);
    traced_calls(2 * many);
    told("opened", open("/dev/null", O_RDONLY));
    return told("reason", errno);
}

// All of its address space is taken, then some of it given back.
int lacks_memory() {
    traced_calls(10);
    limit(RLIMIT_AS, rlim_t{1} << 29);
    std::vector<void*> taken;
    taken.reserve(1 << 20);
    for (std::size_t bytes = 1 << 24; bytes >= 4096; bytes /= 2) {
        while (void* memory = std::malloc(bytes)) taken.push_back(memory);
    }
    traced_calls(2 * many);
    for (void* memory : taken) std::free(memory);
    traced_calls(many);
    return told("got", std::malloc(1 << 20) != nullptr);
}

int takes_all_keys() {
    std::map<pthread_key_t, long> values;
    pthread_key_t key{};
    while (pthread_key_create(&key, nullptr) == 0) values[key] = static_cast<long>(values.size()) + 1;
    for (const auto& [each, value] : values) pthread_setspecific(each, reinterpret_cast<void*>(value));
    traced_calls(100);
    long changed = 0;
    for (const auto& [each, value] : values) changed += pthread_getspecific(each) != reinterpret_cast<void*>(value);
    return told("changed", changed);
}

// What is not a place to be cancelled at does not become one.
int cancels_threads() {
    traced_calls(10);
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            pthread_cancel(pthread_self());
            traced_calls(2 * many);
            told("not cancelled", 1);
            pthread_testcancel();
            return nullptr;
        },
        nullptr);
    void* result = nullptr;
    pthread_join(thread, &result);
    return told("cancelled", result == PTHREAD_CANCELED);
}

int keeps_errno() {
    traced_calls(10);
    long changed = 0;
    for (int index = 0; index < many; ++index) {
        errno = 77;
        traced_calls(1);
        changed += errno != 77;
    }
    return told("changed", changed);
}

int has_threads() {
    for (int wave = 0; wave < 20; ++wave) {
        std::vector<std::thread> threads;
        for (int index = 0; index < 10; ++index) threads.emplace_back([] { traced_calls(50); });
        for (std::thread& each : threads) each.join();
    }
    return 13;
}

int leaves_main_thread() {
    traced_calls(10);
    std::thread([] {
        traced_calls(many);
        told("last thread", 1);
    }).detach();
    pthread_exit(nullptr);
}

int ends(const std::string& how) {
    traced_calls(1000);
    told("ends", 1);
    if (how == "_exit") _exit(5);
    if (how == "quick_exit") std::quick_exit(6);
    if (how == "abort") std::abort();
    if (how == "terminated") kill(getpid(), SIGTERM);
    if (how == "faults") raise(SIGSEGV);
    if (how == "thread") std::thread([] { std::exit(7); }).join();
    return 4;
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) return 2;
    const std::string variant = words[1];
    limit(RLIMIT_CORE, 0);
    const std::map<std::string, int (*)()> variants{
        {"closes-files", closes_files},
        {"closes-meanwhile", closes_meanwhile},
        {"daemon", becomes_daemon},
        {"file-limit", [] { return meets_file_limit(false); }},
        {"file-limit-handled", [] { return meets_file_limit(true); }},
        {"timers", has_timers},
        {"fork", [] { return forks(false); }},
        {"clone", [] { return forks(true); }},
        {"vfork", forks_for_another},
        {"chdir", goes_elsewhere},
        {"privileges", drops_privileges},
        {"descriptors", lacks_descriptors},
        {"memory", lacks_memory},
        {"keys", takes_all_keys},
        {"cancel", cancels_threads},
        {"errno", keeps_errno},
        {"threads", has_threads},
        {"main-thread", leaves_main_thread},
    };
    if (variant == "exec") {
        traced_calls(many);
        execl("/proc/self/exe", words[0], "exit", static_cast<char*>(nullptr));
    }
    const auto found = variants.find(variant);
    return found != variants.end() ? found->second() : ends(variant);
}
