// A program whose memory is protected, cut off or given back, and whose threads are signalled or cancelled, while it is
// copied. What it prints is to be the same with and without the library that accelerates.
//
// hostile_memory SCENARIO: a name of those at the end.
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../driver.hpp"

namespace {

constexpr std::size_t mib = 1 << 20;
constexpr std::size_t bytes = 12 * mib, cut = 7 * mib, page = 4096;
constexpr std::byte filled{7};

std::byte* pages(std::size_t count) {
    void* const made = mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(made, static_cast<int>(filled), count);
    return static_cast<std::byte*>(made);
}

std::byte* pinned(std::size_t count) {
    void* made = nullptr;
    expect(driver->cuMemHostAlloc(&made, count, 0) == success);
    return static_cast<std::byte*>(made);
}

// Mapped, of which the last part is cut off then.
std::byte* file_cut_off(std::size_t left) {
    char name[] = "/tmp/hostile-XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    expect(ftruncate(file, bytes) == 0);
    auto* const made = static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    std::memset(made, static_cast<int>(filled), bytes);
    expect(ftruncate(file, static_cast<off_t>(left)) == 0);
    return made;
}

void say(const char* what, long number) {
    std::printf("%s: %ld\n", what, number);
    std::fflush(stdout);
}

pthread_t main_thread;
sigjmp_buf back;
std::byte* guarded;            // where faults are expected
std::size_t repaired = bytes;  // bytes that the handler gives back at a time
volatile long faults, elsewhere, first_fault;

void note(siginfo_t* info) {
    if (faults == 0) first_fault = static_cast<long>(static_cast<std::byte*>(info->si_addr) - guarded);
    faults = faults + 1;
    if (pthread_equal(pthread_self(), main_thread) == 0) elsewhere = elsewhere + 1;
}
void jump(int, siginfo_t* info, void*) {
    note(info);
    siglongjmp(back, 1);
}
void repair(int, siginfo_t* info, void*) {
    note(info);
    auto* const at = static_cast<std::byte*>(info->si_addr);
    if (at < guarded || at >= guarded + bytes) _exit(99);
    const std::size_t begin = static_cast<std::size_t>(at - guarded) / repaired * repaired;
    mprotect(guarded + begin, repaired, PROT_READ | PROT_WRITE);
}
void end(int, siginfo_t* info, void*) {
    note(info);
    say("first fault in the memory", first_fault);
    say("on another thread", elsewhere);
    std::fflush(stdout);
    _exit(3);
}
void handle(void (*handler)(int, siginfo_t*, void*), int flags = SA_NODEFER) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

// The program goes on: nothing of the library's is left half done.
void goes_on() {
    std::byte* const there = pinned(bytes);
    std::byte* const here = pages(bytes);
    Block block(bytes);
    std::vector<std::byte> to(bytes);
    long right = 0;
    for (int i = 0; i < 6; ++i) {
        std::memset(here, i, bytes);
        std::memcpy(there, here, bytes);
        const std::byte* const from = i % 2 == 0 ? there : here;
        right += driver->cuMemcpyHtoD(block.address, from, bytes) == success &&
                 driver->cuMemcpyDtoH(to.data(), block.address, bytes) == success &&
                 std::memcmp(to.data(), here, bytes) == 0 && std::memcmp(there, here, bytes) == 0;
    }
    say("copies that are right afterwards", right);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    say("signals are blocked", sigismember(&blocked, SIGUSR1));
    int state = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    say("cancelling is disabled", state == PTHREAD_CANCEL_DISABLE);
}

// As databases read mapped files: what was cut off is noticed, and the program goes on.
void leaves_by_a_fault(std::byte* source) {
    std::byte* const to = pinned(bytes);
    guarded = source;
    handle(jump);
    volatile long left = 0;
    for (volatile int i = 0; i < 3; i = i + 1) {
        if (sigsetjmp(back, 1) == 0) {
            std::memcpy(to, source, bytes);
        } else {
            left = left + 1;
        }
    }
    say("left", left);
    say("first fault in the memory", first_fault);
    say("on another thread", elsewhere);
    goes_on();
}
void cut_off_file() {
    leaves_by_a_fault(file_cut_off(cut));
}
void protected_source() {
    std::byte* const source = pages(bytes);
    mprotect(source + cut, page, PROT_NONE);
    leaves_by_a_fault(source);
}
void protected_end() {
    std::byte* const source = pages(bytes);
    mprotect(source + cut, bytes - cut, PROT_NONE);
    leaves_by_a_fault(source);
}

// As garbage collectors and checkpointing do: the handler unprotects, and the store is made again.
void barrier(std::size_t at_a_time, bool by_driver) {
    repaired = at_a_time;
    std::byte* const from = pinned(bytes);
    Block block(bytes);
    for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 2654435761U >> 24);
    expect(driver->cuMemcpyHtoD(block.address, from, bytes) == success);
    guarded = pages(bytes);
    handle(repair);
    long right = 0;
    for (int i = 0; i < 4; ++i) {
        mprotect(guarded + cut, 64 * page, PROT_READ);
        if (by_driver) {
            expect(driver->cuMemcpyDtoH(guarded, block.address, bytes) == success);
        } else {
            std::memcpy(guarded, from, bytes);
        }
        right += std::memcmp(guarded, from, bytes) == 0;
    }
    say("right", right);
    say("faults", faults);
    say("on another thread", elsewhere);
    say("first fault in the memory", first_fault);
    goes_on();
}
void barrier_of_memcpy() {
    barrier(bytes, false);
}
void barrier_of_memcpy_by_page() {
    barrier(page, false);
}
void barrier_of_copy() {
    barrier(bytes, true);
}

// Where the driver's own copy faults; the fake one cannot be left.
void copy_from(std::byte* source) {
    Block block(bytes);
    guarded = source;
    handle(end);
    say("returns", driver->cuMemcpyHtoD(block.address, source, bytes));
}
void copy_of_cut_off_file() {
    copy_from(file_cut_off(cut));
}
void copy_of_protected_source() {
    std::byte* const source = pages(bytes);
    mprotect(source + cut, page, PROT_NONE);
    copy_from(source);
}
void copy_of_a_hole() {
    std::byte* const source = pages(bytes);
    munmap(source + cut, page);
    copy_from(source);
}

// A deadline: the handler of a signal jumps out of memcpy, and the program frees the memory.
std::atomic<bool> armed = false, ended = false;
void given_up_by_a_signal() {
    constexpr int rounds = 40;
    std::byte* const to = pinned(bytes);
    struct sigaction action {};
    action.sa_handler = [](int) { siglongjmp(back, 1); };
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, nullptr);
    std::thread sender([] {
        for (unsigned i = 0; !ended; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(150 + i % 7 * 150));
            if (armed.exchange(false)) pthread_kill(main_thread, SIGUSR1);
        }
    });
    volatile long given_up = 0;
    for (volatile int i = 0; i < rounds; i = i + 1) {
        std::byte* const volatile mine = pages(bytes);
        if (sigsetjmp(back, 1) == 0) {
            armed = true;
            // Until it comes.
            while (true) std::memcpy(to, mine, bytes);
        }
        given_up = given_up + 1;
        munmap(mine, bytes);
    }
    ended = true;
    sender.join();
    say("given up", given_up);
    goes_on();
}

// Threads that are cancelled while they copy.
std::byte *cancelled_to, *cancelled_from;
DevicePointer cancelled_device;
int cancel_type;
std::atomic<bool> copies;
void* copies_for_good(void* by_driver) {
    Context context = nullptr;
    driver->cuDevicePrimaryCtxRetain(&context, 0);
    driver->cuCtxSetCurrent(context);
    // From here on, since no driver has to bear a cancellation anywhere in it.
    pthread_setcanceltype(cancel_type, nullptr);
    copies = true;
    while (true) {
        if (by_driver == nullptr) {
            std::memcpy(cancelled_to, cancelled_from, bytes);
        } else {
            driver->cuMemcpyHtoD(cancelled_device, cancelled_from, bytes);
        }
        pthread_testcancel();
    }
}
void cancelled(int type, bool by_driver) {
    cancel_type = type;
    cancelled_to = pinned(bytes);
    cancelled_from = pages(bytes);
    const Block block(bytes);
    cancelled_device = block.address;
    long found = 0;
    for (unsigned i = 0; i < 12; ++i) {
        pthread_t thread{};
        copies = false;
        pthread_create(&thread, nullptr, copies_for_good, by_driver ? &found : nullptr);
        while (!copies) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(1500 + 700 * i));
        pthread_cancel(thread);
        void* result = nullptr;
        pthread_join(thread, &result);
        found += result == PTHREAD_CANCELED;
    }
    say("cancelled", found);
    goes_on();
}
void cancelled_anywhere_in_memcpy() {
    cancelled(PTHREAD_CANCEL_ASYNCHRONOUS, false);
}
void cancelled_in_memcpy() {
    cancelled(PTHREAD_CANCEL_DEFERRED, false);
}
void cancelled_in_a_copy() {
    cancelled(PTHREAD_CANCEL_DEFERRED, true);
}

void moved_within() {
    std::byte* const memory = pinned(bytes);
    std::mt19937_64 random(1);
    long right = 0;
    constexpr long rounds = 30;
    std::vector<std::byte> expected(bytes);
    for (long i = 0; i < rounds; ++i) {
        for (std::size_t at = 0; at < bytes; at += 8) {
            const std::uint64_t word = random();
            std::memcpy(memory + at, &word, 8);
        }
        const std::size_t length = 4 * mib + random() % (4 * mib);
        const std::size_t apart = i % 3 == 0 ? length : 1 + random() % (i % 3 == 1 ? 2 * mib : 64);
        const std::size_t from = i % 2 == 0 ? 0 : std::min(apart, bytes - length);
        const std::size_t to = i % 2 == 0 ? std::min(apart, bytes - length) : 0;
        for (std::size_t at = 0; at < bytes; ++at) expected[at] = memory[at];
        for (std::size_t at = 0; at < length; ++at) expected[to + at] = memory[from + at];
        std::memmove(memory + to, memory + from, length);
        right += std::memcmp(memory, expected.data(), bytes) == 0;
    }
    say("moves that are wrong", rounds - right);
}

// What is staged of these the counts say.
void fills_registration() {
    std::byte* const memory = pages(2 * bytes);
    expect(driver->cuMemHostRegister(memory, bytes, 0) == success);
    std::memcpy(memory, pages(bytes), bytes);
}
void goes_beyond_registration() {
    std::byte* const memory = pages(2 * bytes);
    expect(driver->cuMemHostRegister(memory, bytes, 0) == success);
    std::memcpy(memory, pages(2 * bytes), bytes + 1);
    std::memcpy(memory + 1, pages(2 * bytes), bytes);
}
void gave_back() {
    std::byte* const memory = pages(bytes);
    expect(driver->cuMemHostRegister(memory, bytes, 0) == success);
    expect(driver->cuMemHostUnregister(memory) == success);
    // Others keep the library awake.
    pinned(bytes);
    std::memcpy(memory, pages(bytes), bytes);
}
void maps_file() {
    std::byte* const to = pinned(bytes);
    std::memcpy(to, file_cut_off(bytes), bytes);
    say("the same", std::memcmp(to, pages(bytes), bytes) == 0);
}

// The library's threads take none of the program's signals but those that a fault of their own raises.
void signals_stay_the_program_s() {
    goes_on();
    // Two are the C library's own, and two cannot be blocked.
    unsigned long may_take = 3UL << 31 | 1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) may_take |= 1UL << (fault - 1);
    long taking = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name.rfind("isthmus-", 0) != 0) continue;
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (line.rfind("SigBlk:", 0) == 0) taking += (~std::stoul(line.substr(7), nullptr, 16) & ~may_take) != 0;
        }
    }
    say("threads that take signals", taking);
}

const std::map<std::string, void (*)()> scenarios{
    {"signals-stay-the-program-s", signals_stay_the_program_s},
    {"cut-off-file", cut_off_file},
    {"protected-source", protected_source},
    {"protected-end", protected_end},
    {"barrier-of-memcpy", barrier_of_memcpy},
    {"barrier-of-memcpy-by-page", barrier_of_memcpy_by_page},
    {"barrier-of-copy", barrier_of_copy},
    {"copy-of-cut-off-file", copy_of_cut_off_file},
    {"copy-of-protected-source", copy_of_protected_source},
    {"copy-of-a-hole", copy_of_a_hole},
    {"given-up-by-a-signal", given_up_by_a_signal},
    {"cancelled-anywhere-in-memcpy", cancelled_anywhere_in_memcpy},
    {"cancelled-in-memcpy", cancelled_in_memcpy},
    {"cancelled-in-a-copy", cancelled_in_a_copy},
    {"moved-within", moved_within},
    {"fills-registration", fills_registration},
    {"goes-beyond-registration", goes_beyond_registration},
    {"gave-back", gave_back},
    {"maps-file", maps_file},
};

}  // namespace

int main(int count, char** words) {
    if (count < 2 || scenarios.count(words[1]) == 0) return 2;
    if (begin_driver("dlsym") == nullptr) return 77;
    main_thread = pthread_self();
    scenarios.at(words[1])();
    say("wrong", wrong);
    return wrong == 0 ? 0 : 1;
}
