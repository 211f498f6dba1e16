// Words that threads wait by, on pages of an unfinished copy: the kernel refuses those that it cannot read, for which
// the C library ends a program, or leaves a thread asleep.
//
//   locks CASE
//
// prints what it sees, which is to be the same under `isthmus races`.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/integration/races/under_way.hpp"

namespace {

std::atomic<int> handled = 0;
sigjmp_buf back;

void handle_signals() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++handled; };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
}
// By the clocks that these are for, each is as it is at any time.
constexpr timespec over{1, 0}, never{4'000'000'000, 0};

// The first part of a page, of whose rest a copy is made while threads wait. A signal makes the kernel look at their
// words again.
struct Page {
    Page() { driver->cuStreamSynchronize(copy.stream); }
    template <typename Value>
    Value* put(const Value& value = {}) {
        auto* const at = new (copy.host.data() + used) Value(value);
        used += (sizeof(Value) + 15) / 16 * 16;
        expect(used <= 1024);
        return at;
    }
    void wait(std::vector<std::function<void()>> waits) {
        for (auto& each : waits) threads.emplace_back(std::move(each));
        usleep(50'000);
        begin();
        for (std::thread& each : threads) pthread_kill(each.native_handle(), SIGUSR1);
        usleep(50'000);
    }
    void begin() {
        expect(driver->cuMemcpyDtoHAsync(copy.host.data() + 1024, copy.device.address, 2048, copy.stream) == success);
    }
    void join() {
        for (std::thread& each : threads) each.join();
        driver->cuStreamSynchronize(copy.stream);
        threads.clear();
    }
    UnderWay copy{true};
    std::size_t used = 0;
    std::vector<std::thread> threads;
};

void conditions() {
    struct Words {
        sem_t signal;
        std::mutex mutex;
        std::condition_variable changed;
        bool is_changed = false;
    };
    Page page;
    auto* const words = new (page.copy.host.data()) Words;
    expect(sem_init(&words->signal, 0, 0) == 0);
    page.wait({[&] { expect(sem_wait(&words->signal) == 0); },
               [&] {
                   std::unique_lock lock(words->mutex);
                   words->changed.wait(lock, [&] { return words->is_changed; });
               }});
    sem_post(&words->signal);
    {
        const std::lock_guard guard(words->mutex);
        words->is_changed = true;
    }
    words->changed.notify_one();
    page.join();
    std::printf("conditions %d\n", handled.load());
}

// Mutexes of each kind: held by one thread, waited for by three.
void mutexes() {
    struct Kind {
        const char* name;
        int type, is_shared, is_robust, protocol;
    };
    for (const Kind& kind : {Kind{"normal", PTHREAD_MUTEX_NORMAL, 0, 0, 0},
                             {"recursive", PTHREAD_MUTEX_RECURSIVE, 0, 0, 0},
                             {"checked", PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0},
                             {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0},
                             {"shared", PTHREAD_MUTEX_NORMAL, 1, 0, 0},
                             {"robust", PTHREAD_MUTEX_NORMAL, 0, 1, 0},
                             {"robust shared", PTHREAD_MUTEX_NORMAL, 1, 1, 0},
                             {"inherit", PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PRIO_INHERIT},
                             {"inherit shared", PTHREAD_MUTEX_NORMAL, 1, 1, PTHREAD_PRIO_INHERIT}}) {
        Page page;
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, kind.type);
        pthread_mutexattr_setpshared(&attributes, kind.is_shared);
        pthread_mutexattr_setrobust(&attributes, kind.is_robust);
        pthread_mutexattr_setprotocol(&attributes, kind.protocol);
        auto* const mutex = page.put<pthread_mutex_t>();
        auto* const late = page.put(never);
        auto* const soon = page.put(over);
        int code[4] = {pthread_mutex_init(mutex, &attributes), -1, -1, -1};
        expect(pthread_mutex_lock(mutex) == 0);
        page.wait({[&] {
                       code[1] = pthread_mutex_lock(mutex);
                       pthread_mutex_unlock(mutex);
                   },
                   [&] {
                       code[2] = pthread_mutex_timedlock(mutex, late);
                       pthread_mutex_unlock(mutex);
                   },
                   [&] { code[3] = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, soon); }});
        std::printf("%s again %d\n", kind.name, pthread_mutex_trylock(mutex));
        if (kind.type == PTHREAD_MUTEX_RECURSIVE) pthread_mutex_unlock(mutex);
        page.begin();
        expect(pthread_mutex_unlock(mutex) == 0);
        page.join();
        // PI mutexes do not wait by that clock before Linux 5.14.
        if (kind.protocol != 0) code[3] = 0;
        std::printf("%s %d %d %d %d\n", kind.name, code[0], code[1], code[2], code[3]);
        // What a thread holds as it ends, the kernel gives to another, where it is to.
        if (kind.is_robust == 0) continue;
        std::thread([&] {
            expect(driver->cuCtxSetCurrent(of_program) == success);
            pthread_mutex_lock(mutex);
            page.begin();
        }).join();
        std::printf("%s after its owner %d\n", kind.name, pthread_mutex_lock(mutex));
        driver->cuStreamSynchronize(page.copy.stream);
    }
}

void others() {
    Page page;
    auto* const lock = page.put<pthread_rwlock_t>();
    auto* const all = page.put<pthread_barrier_t>();
    auto* const changed = page.put<cnd_t>();
    auto* const mutex = page.put<mtx_t>();
    auto* const once = page.put<pthread_once_t>(PTHREAD_ONCE_INIT);
    auto* const flag = page.put<int>(0);
    auto* const time = page.put(never);
    pthread_rwlock_init(lock, nullptr);
    pthread_barrier_init(all, nullptr, 2);
    cnd_init(changed);
    mtx_init(mutex, mtx_timed);
    static std::atomic<bool> may_end = false;
    std::atomic<int> codes = 0;
    expect(pthread_rwlock_wrlock(lock) == 0);
    const auto initialise = [] {
        while (!may_end) usleep(1000);
    };
    page.wait({[&] { codes += pthread_rwlock_rdlock(lock), pthread_rwlock_unlock(lock); },
               [&] { codes += pthread_rwlock_timedwrlock(lock, time), pthread_rwlock_unlock(lock); },
               [&] { codes += pthread_barrier_wait(all) == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : 100; },
               [&] {
                   mtx_lock(mutex);
                   codes += cnd_timedwait(changed, mutex, time);
                   mtx_unlock(mutex);
               },
               [&] { pthread_once(once, initialise); }, [&] { pthread_once(once, initialise); },
               [&] { std::atomic_ref(*flag).wait(0); }});
    may_end = true;
    std::atomic_ref(*flag).store(1);
    std::atomic_ref(*flag).notify_all();
    page.begin();
    pthread_rwlock_unlock(lock);
    if (pthread_barrier_wait(all) != 0) codes -= 100;
    mtx_lock(mutex);
    cnd_signal(changed);
    mtx_unlock(mutex);
    page.join();
    std::printf("others %d\n", codes.load());
}

// Copies begin between what a thread does to a word and what it asks the kernel.
void contended() {
    Page page;
    auto* const mutex = page.put<pthread_mutex_t>();
    long value = 0;
    std::atomic<int> working = 3;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 3000; ++round) {
                pthread_mutex_lock(mutex);
                ++value;
                if (round % 16 == 0) usleep(1);
                pthread_mutex_unlock(mutex);
            }
            --working;
        });
    }
    while (working > 0) {
        page.begin();
        driver->cuStreamSynchronize(page.copy.stream);
    }
    for (std::thread& each : threads) each.join();
    std::printf("contended %ld\n", value);
}

// By number, also of the newest calls, which old kernels have not.
void numbers() {
    struct Waiter {
        std::uint64_t value;
        std::uintptr_t word;
        std::uint32_t flags, reserved;
    };
    constexpr long futex_waitv = 449, futex_wake = 454, futex_wait = 455;
    constexpr std::uint32_t of_32_bits = 2, all_bits = UINT32_MAX;
    Page page;
    auto* const word = page.put<std::uint32_t>(0);
    auto* const waiter = page.put<Waiter>({0, reinterpret_cast<std::uintptr_t>(word), of_32_bits | 128U, 0});
    auto* const time = page.put(timespec{0, 1000});
    auto* const soon = page.put(over);
    const auto print = [&](const char* what, const auto& call) {
        page.begin();
        errno = 0;
        const long code = call();
        std::printf("%s %ld %d\n", what, code, errno);
        driver->cuStreamSynchronize(page.copy.stream);
    };
    print("wait", [&] { return syscall(SYS_futex, word, FUTEX_WAIT, 0, time); });
    print("wake", [&] { return syscall(SYS_futex, word, FUTEX_WAKE, 1); });
    print("requeue", [&] { return syscall(SYS_futex, word, FUTEX_CMP_REQUEUE, 1, 1L, word + 1, 0); });
    print("vector", [&] { return syscall(futex_waitv, waiter, 1, 0, soon, CLOCK_MONOTONIC); });
    print("newer wake", [&] { return syscall(futex_wake, word, all_bits, 1, of_32_bits); });
    print("newer wait", [&] { return syscall(futex_wait, word, 0UL, all_bits, of_32_bits, soon, CLOCK_MONOTONIC); });
    print("no vector", [&] { return syscall(futex_waitv, 8L, 1, 0, soon, CLOCK_MONOTONIC); });
}

// What is touched on other pages than a word that is waited for is reported.
void near_a_lock() {
    Page page;
    auto* const word = page.put<sem_t>();
    sem_init(word, 0, 0);
    page.threads.emplace_back([&] { sem_wait(word); });
    usleep(50'000);
    expect(driver->cuMemcpyDtoHAsync(page.copy.host.data() + 1024, page.copy.device.address, bytes - 1024,
                                     page.copy.stream) == success);
    page.copy.host[std::size_t{2} * ::page] = std::byte{1};
    sem_post(word);
    page.join();
    std::printf("near a lock\n");
}

// A handler jumps out of reads that wait: none of them is under way any more.
void jumps() {
    Page page;
    int ends[2];
    expect(pipe(ends) == 0);
    // Sent only while the reader is about to wait or waits: nowhere else may it be taken out of what it does.
    static std::atomic<bool> may_jump = false;
    signal(SIGUSR2, [](int) {
        handled = handled + 1;
        siglongjmp(back, 1);
    });
    const pthread_t reader = pthread_self();
    static int i;
    for (i = 0; i < 300; ++i) {
        std::thread([reader] {
            while (!may_jump) usleep(10);
            usleep(300);
            pthread_kill(reader, SIGUSR2);
        }).detach();
        if (sigsetjmp(back, 1) == 0) {
            may_jump = true;
            (void)!read(ends[0], page.copy.host.data(), 64);
        }
        may_jump = false;
    }
    std::printf("jumps %d\n", handled.load());
    expect(driver->cuMemcpyDtoHAsync(page.copy.host.data(), page.copy.device.address, bytes, page.copy.stream) ==
           success);
    page.copy.host[std::size_t{2} * ::page] = std::byte{1};
    driver->cuStreamSynchronize(page.copy.stream);
}

}  // namespace

int main(int count, char** words) {
    handle_signals();
    return run_case(count, words,
                    Cases{
                        {"conditions", conditions},
                        {"mutexes", mutexes},
                        {"others", others},
                        {"contended", contended},
                        {"numbers", numbers},
                        {"near_a_lock", near_a_lock},
                        {"jumps", jumps},
                    });
}
