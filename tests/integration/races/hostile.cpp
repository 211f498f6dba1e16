// Programs that handle faults, masks, forks and system calls by themselves, with an unfinished copy of pinned memory.
//
//   hostile CASE
//
// prints what it sees, which is to be the same under `isthmus races`.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/integration/races/under_way.hpp"

namespace {

volatile int handled = 0;
sigjmp_buf back;
std::byte* guarded = nullptr;

void open_guarded(int, siginfo_t* info, void*) {
    handled = handled + 1;
    if (info->si_addr != guarded) _exit(9);
    mprotect(guarded, page, PROT_READ | PROT_WRITE);
}
void jump(int) {
    handled = handled + 1;
    siglongjmp(back, 1);
}

void own_handler() {
    UnderWay copy(false);
    guarded = static_cast<std::byte*>(mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    struct sigaction action {
    }, before{};
    action.sa_sigaction = open_guarded;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    std::printf("before %d\n", before.sa_handler == SIG_DFL);
    for (int i = 0; i < 3; ++i) {
        mprotect(guarded, page, PROT_NONE);
        guarded[0] = std::byte{1};
        copy.host[static_cast<std::size_t>(i) * page] = std::byte{2};
    }
    std::printf("handled %d\n", handled);
    sigaction(SIGSEGV, nullptr, &before);
    std::printf("own %d\n", before.sa_sigaction == open_guarded);
    signal(SIGSEGV, jump);
    for (int i = 0; i < 3; ++i) {
        if (sigsetjmp(back, 1) == 0) *reinterpret_cast<volatile int*>(8) = 1;
    }
    std::printf("handled %d\n", handled);
    std::printf("was %d\n", signal(SIGSEGV, SIG_DFL) == jump);
}
// A fault of its own handler ends the process, and a child that shares its memory has handlers of its own.
void recursing() {
    UnderWay copy(false);
    driver->cuStreamSynchronize(copy.stream);
    signal(SIGSEGV, jump);
    const pid_t child = vfork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    if (sigsetjmp(back, 1) == 0) *reinterpret_cast<volatile int*>(8) = 1;
    std::printf("handled %d\n", handled);
    std::fflush(stdout);
    signal(SIGSEGV, [](int) {
        [[maybe_unused]] const auto written = write(1, "crashed\n", 8);
        *reinterpret_cast<volatile int*>(16) = 1;
    });
    *reinterpret_cast<volatile int*>(8) = 1;
}
void blocked() {
    UnderWay copy(false);
    sigset_t all, before, now;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    copy.host[0] = std::byte{2};
    std::thread([&copy] { copy.host[page] = std::byte{3}; }).join();
    pthread_sigmask(SIG_SETMASK, &before, &now);
    std::printf("blocked %d %d\n", sigismember(&now, SIGSEGV), sigismember(&before, SIGSEGV));
    struct sigaction action {
    }, seen{};
    action.sa_handler = [](int) {};
    action.sa_mask = all;
    sigaction(SIGUSR1, &action, nullptr);
    sigaction(SIGUSR1, nullptr, &seen);
    std::printf("blocked %d\n", sigismember(&seen.sa_mask, SIGSEGV));
}
void forked() {
    UnderWay copy(true);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        copy.host[5] = std::byte{7};
        _exit(copy.host[5] == std::byte{7} && copy.host[2 * page] != std::byte{7} ? 3 : 4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WEXITSTATUS(status));
}
void small_stack() {
    UnderWay copy(false);
    alignas(16) static char memory[8192];
    stack_t own{}, before{}, seen{};
    own.ss_sp = memory;
    own.ss_size = sizeof memory;
    std::printf("set %d\n", sigaltstack(&own, &before));
    sigaltstack(nullptr, &seen);
    std::printf("before %d, own %d\n", (before.ss_flags & SS_DISABLE) != 0, seen.ss_sp == memory);
    copy.host[0] = std::byte{2};
}
void crash() {
    UnderWay copy(false);
    copy.host[0] = std::byte{2};
    std::fflush(stdout);
    *reinterpret_cast<volatile int*>(8) = 1;
}
void killed() {
    UnderWay copy(false);
    std::fflush(stdout);
    kill(getpid(), SIGSEGV);
    std::printf("lives\n");
}
void many() {
    constexpr std::size_t count = 6000;
    std::vector<std::unique_ptr<HostBlock>> blocks;
    Block device(page);
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, 1) == success);
    for (std::size_t i = 0; i < count; ++i) {
        blocks.push_back(std::make_unique<HostBlock>(page, true));
        expect(driver->cuMemcpyDtoHAsync(blocks.back()->data(), device.address, page, stream) == success);
    }
    expect(driver->cuStreamSynchronize(stream) == success);
    for (auto& block : blocks) (*block)[3] = std::byte{1};
    std::printf("many\n");
}
// In registered memory no page is protected that has anything else.
void neighbours() {
    std::vector<std::byte> heap(bytes);
    auto* const lock = new (heap.data()) std::mutex;
    expect(driver->cuMemHostRegister(heap.data(), bytes, 0) == success);
    Block device(bytes);
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, 1) == success);
    expect(driver->cuMemcpyDtoHAsync(heap.data() + 64, device.address, bytes - 128, stream) == success);
    std::thread([lock] { const std::lock_guard guard(*lock); }).join();
    for (int i = 0; i < 1000; ++i) delete[] new std::byte[100 + i];
    heap[bytes - 1] = std::byte{1};
    expect(driver->cuStreamSynchronize(stream) == success);
    expect(driver->cuMemHostUnregister(heap.data()) == success);
    std::printf("neighbours\n");
}
// Each thing that a program may wait by.
void waits() {
    const auto wait_by = [](const std::function<void(UnderWay&, Event)>& wait) {
        for (const bool into_host : {false, true}) {
            UnderWay copy(into_host);
            Event event = nullptr;
            expect(driver->cuEventCreate(&event, 0) == success);
            wait(copy, event);
            for (std::size_t i = 0; i < bytes; ++i) copy.host[i] = std::byte{2};
        }
    };
    wait_by([](UnderWay& copy, Event) { driver->cuStreamSynchronize(copy.stream); });
    wait_by([](UnderWay& copy, Event event) {
        driver->cuEventRecord(event, copy.stream);
        driver->cuEventSynchronize(event);
    });
    wait_by([](UnderWay& copy, Event event) {
        Stream other = nullptr;
        driver->cuStreamCreate(&other, 1);
        driver->cuEventRecord(event, copy.stream);
        driver->cuStreamWaitEvent(other, event, 0);
        driver->cuStreamSynchronize(other);
    });
    wait_by([](UnderWay& copy, Event event) {
        driver->cuEventRecord(event, copy.stream);
        std::thread([event] {
            while (driver->cuEventQuery(event) != success) {
            }
        }).join();
    });
    static auto* const synchronize = reinterpret_cast<Code (*)()>(dlsym(library(), "cuCtxSynchronize"));
    wait_by([](UnderWay&, Event) { synchronize(); });
    static auto* const elapsed =
        reinterpret_cast<Code (*)(float*, Event, Event)>(dlsym(library(), "cuEventElapsedTime"));
    wait_by([](UnderWay& copy, Event event) {
        float time = 0;
        driver->cuEventRecord(event, copy.stream);
        while (elapsed(&time, event, event) != success) {
        }
    });
    wait_by([](UnderWay& copy, Event) {
        std::vector<std::byte> pageable(bytes);
        driver->cuMemcpyDtoHAsync(pageable.data(), copy.device.address, bytes, copy.stream);
    });
    wait_by([](UnderWay& copy, Event) {
        HostBlock flag(8, true);
        flag[0] = std::byte{9};
        driver->cuMemcpyDtoHAsync(flag.data(), copy.device.address, 8, copy.stream);
        while (*static_cast<volatile std::byte*>(flag.data()) == std::byte{9}) driver->cuEventQuery(nullptr);
    });
    wait_by([](UnderWay& copy, Event) { driver->cuMemFree(std::exchange(copy.device.address, 0)); });
    // The default stream waits for one that waits for it, and a blocking copy for the default stream.
    HostBlock host(bytes, true);
    const Block device(bytes);
    Stream blocking = nullptr;
    driver->cuStreamCreate(&blocking, 0);
    driver->cuMemcpyDtoHAsync(host.data(), device.address, bytes, blocking);
    driver->cuMemcpyHtoD(device.address, host.data() + bytes, 0);
    driver->cuMemsetD8Async(device.address, 0, bytes, nullptr);
    driver->cuStreamSynchronize(nullptr);
    host[0] = std::byte{1};
    std::printf("waits\n");
}

// Threads that look at the first half at the same time fault together, and one of them opens the page.
void crowd() {
    constexpr int threads = 3, rounds = 500;
    Half half;
    std::barrier all(threads + 1);
    std::vector<std::thread> readers;
    for (int i = 0; i < threads; ++i) {
        readers.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                all.arrive_and_wait();
                static_cast<void>(*static_cast<volatile std::byte*>(half.host.data()));
                all.arrive_and_wait();
            }
        });
    }
    for (int round = 0; round < rounds; ++round) {
        half.begin(true);
        all.arrive_and_wait();
        all.arrive_and_wait();
        driver->cuStreamSynchronize(half.stream);
    }
    for (std::thread& each : readers) each.join();
    std::printf("crowd\n");
}

// A lock that is held while a thread copies is taken before a fork.
std::mutex of_copies;
void locked_fork() {
    pthread_atfork([] { of_copies.lock(); }, [] { of_copies.unlock(); }, [] { of_copies.unlock(); });
    Half half;
    std::atomic<bool> has_ended = false;
    std::thread copying([&] {
        expect(driver->cuCtxSetCurrent(of_program) == success);
        while (!has_ended) {
            const std::lock_guard guard(of_copies);
            half.begin(false);
            driver->cuStreamSynchronize(half.stream);
        }
    });
    for (int i = 0; i < 100; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, nullptr, 0);
    }
    has_ended = true;
    copying.join();
    std::printf("forked under a lock\n");
}

// A value that one stream writes says nothing of a copy on another.
void value_of_another() {
    UnderWay copy(true);
    HostBlock flag(page, true);
    auto* const word = new (flag.data()) std::uint32_t(0);
    Stream other = nullptr;
    expect(driver->cuStreamCreate(&other, 1) == success);
    auto* const write = reinterpret_cast<Code (*)(Stream, DevicePointer, std::uint32_t, unsigned)>(
        dlsym(library(), "cuStreamWriteValue32_v2"));
    expect(write(other, at(word), 1, 0) == success);
    while (std::atomic_ref(*word) != 1U) driver->cuEventQuery(nullptr);
    copy.host[page] = std::byte{2};
    driver->cuStreamSynchronize(copy.stream);
    std::printf("value of another\n");
}

// The child has its memory for itself.
void fork_alone() {
    UnderWay copy(false);
    std::fflush(stdout);
    const pid_t child = _Fork();
    if (child == 0) {
        copy.host[page] = std::byte{3};
        _exit(static_cast<int>(copy.host[page]));
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WEXITSTATUS(status));
}

// A handler runs with the mask of the call that waits for it.
std::byte* looked_at = nullptr;
void suspended() {
    Half half;
    looked_at = half.host.data();
    struct sigaction action {};
    action.sa_handler = [](int) { *looked_at = std::byte{5}; };
    sigaction(SIGUSR1, &action, nullptr);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, nullptr);
    half.begin(false);
    raise(SIGUSR1);
    sigset_t rest;
    sigfillset(&rest);
    sigdelset(&rest, SIGUSR1);
    sigsuspend(&rest);
    driver->cuStreamSynchronize(half.stream);
    std::printf("suspended %d\n", static_cast<int>(*looked_at));
}

// The middle one of three copies is over where the process may have no more mappings.
void no_mappings() {
    UnderWay copy(false);
    driver->cuStreamSynchronize(copy.stream);
    Stream other = nullptr;
    driver->cuStreamCreate(&other, 1);
    for (const std::size_t at : {0, 1, 2}) {
        driver->cuMemcpyHtoDAsync(copy.device.address + at * page, copy.host.data() + at * page, page,
                                  at == 1 ? other : copy.stream);
    }
    constexpr std::size_t most = 140'000;
    auto* const many = static_cast<std::byte*>(
        mmap(nullptr, most * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t i = 0; i < most && mprotect(many + i * page, page, PROT_READ) == 0; i += 2) {
    }
    driver->cuStreamSynchronize(other);
    copy.host[page] = std::byte{7};
    driver->cuStreamSynchronize(copy.stream);
    munmap(many, most * page);
    std::printf("no mappings\n");
}

}  // namespace

int main(int count, char** words) {
    return run_case(count, words,
                    Cases{
                        {"own_handler", own_handler},
                        {"blocked", blocked},
                        {"recursing", recursing},
                        {"forked", forked},
                        {"small_stack", small_stack},
                        {"crash", crash},
                        {"killed", killed},
                        {"many", many},
                        {"neighbours", neighbours},
                        {"waits", waits},
                        {"crowd", crowd},
                        {"locked_fork", locked_fork},
                        {"fork_alone", fork_alone},
                        {"value_of_another", value_of_another},
                        {"suspended", suspended},
                        {"no_mappings", no_mappings},
                    });
}
