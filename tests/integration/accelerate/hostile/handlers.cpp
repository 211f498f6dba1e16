// A program whose handlers of signals run while it copies into page-locked memory. What it prints is to be the same
// with and without the library that accelerates.
//
// handlers SCENARIO: a name of those at the end.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../driver.hpp"

namespace {

constexpr std::size_t bytes = std::size_t{8} << 20;
constexpr int rounds = 40;
std::byte* pinned = nullptr;
std::vector<std::byte> source;
pthread_t main_thread;
std::atomic<int> handled = 0, elsewhere = 0, other_values = 0;
std::atomic<bool> is_armed = false;
jmp_buf back;

void allocate() {
    void* made = nullptr;
    expect(driver->cuMemHostAlloc(&made, bytes, 0) == success);
    pinned = static_cast<std::byte*>(made);
    source.assign(bytes, std::byte{7});
}
// No compiler is to see the size.
__attribute__((noinline)) void copy() {
    volatile std::size_t length = bytes;
    std::memcpy(pinned, source.data(), length);
}

void note() {
    ++handled;
    if (pthread_equal(pthread_self(), main_thread) == 0) ++elsewhere;
}
void on_signal(int) {
    note();
}
void on_other_signal(int) {
    note();
}
void on_value(int, siginfo_t* info, void*) {
    note();
    if (info->si_code != SI_TIMER || info->si_value.sival_int != 42) ++other_values;
}
void jump(int) {
    if (pthread_equal(pthread_self(), main_thread) == 0) {
        ++elsewhere;
        pthread_kill(main_thread, SIGALRM);
    } else if (is_armed.exchange(false)) {
        ++handled;
        longjmp(back, 1);
    }
}

void handle(void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaddset(&action.sa_mask, SIGUSR2);
    expect(sigaction(SIGALRM, &action, nullptr) == 0);
}
void fire_soon(int round) {
    const itimerval once{{0, 0}, {0, 100 + 23L * round}};
    setitimer(ITIMER_REAL, &once, nullptr);
}
void say(const char* what, long number) {
    std::printf("%s: %ld\n", what, number);
    std::fflush(stdout);
}
bool is_blocked(int signal) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return sigismember(&blocked, signal) == 1;
}
long blocked() {
    long count = 0;
    for (int signal = 1; signal < SIGRTMAX; ++signal) count += is_blocked(signal) ? 1 : 0;
    return count;
}
void say_action(int signal) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    const bool is_simple = (now.sa_flags & SA_SIGINFO) == 0;
    say("simple", is_simple);
    say("its own", is_simple ? now.sa_handler == &on_signal : now.sa_sigaction == &on_value);
    say("flags", now.sa_flags);
    say("masked", sigismember(&now.sa_mask, SIGUSR2));
}

// Threads that take any signal, as drivers' and other libraries' do.
class Others {
  public:
    Others() {
        for (std::thread& thread : threads_) thread = std::thread([this] { is_ended_.wait(false); });
    }
    ~Others() {
        is_ended_ = true;
        is_ended_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

  private:
    std::atomic<bool> is_ended_ = false;
    std::array<std::thread, 3> threads_;
};

// Once: copies until the handler has run.
void copy_until_handled(int round) {
    const int before = handled;
    fire_soon(round);
    while (handled == before) copy();
}

void run_on_the_thread_that_they_interrupt() {
    const Others others;
    handle(&on_signal, 0);
    for (int round = 0; round < rounds; ++round) copy_until_handled(round);
}

void jump_with_nothing_left_blocked() {
    const Others others;
    handle(&jump, SA_NODEFER);
    for (static int round = 0; round < rounds; ++round) {
        if (setjmp(back) == 0) {
            is_armed = true;
            fire_soon(round);
            while (is_armed) copy();
        }
        say("blocked", blocked());
        // What its handler had blocked stays so behind such a jump.
        sigset_t second;
        sigemptyset(&second);
        sigaddset(&second, SIGUSR2);
        pthread_sigmask(SIG_UNBLOCK, &second, nullptr);
    }
}

void run_once() {
    for (int round = 0; round < rounds; ++round) {
        handle(&on_signal, static_cast<int>(SA_RESETHAND));
        copy_until_handled(round);
        struct sigaction now {};
        sigaction(SIGALRM, nullptr, &now);
        say("default", now.sa_handler == SIG_DFL);
    }
}

void get_what_was_sent() {
    struct sigaction action {};
    action.sa_sigaction = &on_value;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGRTMIN + 1, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN + 1;
    event.sigev_value.sival_int = 42;
    timer_t timer{};
    expect(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    for (int round = 0; round < rounds; ++round) {
        const itimerspec once{{0, 0}, {0, 100'000 + 23'000L * round}};
        const int before = handled;
        timer_settime(timer, 0, &once, nullptr);
        while (handled == before) copy();
    }
}

void stay_blocked_where_the_program_says_so() {
    handle(&on_signal, 0);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    for (int round = 0; round < rounds; ++round) {
        fire_soon(round);
        copy();
        const timespec most{1, 0};
        say("waited for", sigtimedwait(&alarm, nullptr, &most));
    }
}

void are_told_as_they_were_set() {
    handle(&on_signal, SA_RESTART);
    copy();
    say_action(SIGALRM);
    struct sigaction action {
    }, before{};
    action.sa_sigaction = &on_value;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGALRM, &action, &before);
    say("before", before.sa_handler == &on_signal);
    say_action(SIGALRM);
    say("refused", sigaction(SIGKILL, &action, nullptr));
    say("none before", signal(SIGUSR1, &on_signal) == SIG_DFL);
    say("by signal", signal(SIGUSR1, &on_other_signal) == &on_signal);
    say_action(SIGUSR1);
    say("by signal of System V", sysv_signal(SIGUSR1, &on_signal) == &on_other_signal);
    say_action(SIGUSR1);
    raise(SIGUSR1);
    copy();
    say("once", signal(SIGUSR1, SIG_IGN) == SIG_DFL);
    say("ignored", signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

using Scenario = std::function<void()>;
const std::map<std::string, Scenario> scenarios{
    {"run-on-the-thread-that-they-interrupt", &run_on_the_thread_that_they_interrupt},
    {"jump-with-nothing-left-blocked", &jump_with_nothing_left_blocked},
    {"run-once", &run_once},
    {"get-what-was-sent", &get_what_was_sent},
    {"stay-blocked-where-the-program-says-so", &stay_blocked_where_the_program_says_so},
    {"are-told-as-they-were-set", &are_told_as_they_were_set},
};

}  // namespace

int main(int count, char** words) {
    const auto found = count == 2 ? scenarios.find(words[1]) : scenarios.end();
    if (found == scenarios.end()) return 2;
    if (begin_driver("dlsym") == nullptr) return 77;
    main_thread = pthread_self();
    allocate();
    copy();
    found->second();
    say("handled", handled);
    // A kernel may give a signal to another thread once in thousands of times.
    say("elsewhere", elsewhere > rounds / 8);
    say("other values", other_values);
    expect(std::memcmp(pinned, source.data(), bytes) == 0);
    say("wrong", wrong);
}
