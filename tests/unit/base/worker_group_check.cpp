// What a group of workers promises: every thread does its part of every job, failures are told, nothing hangs.
#include "base/worker_group.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <vector>

namespace {

using isthmus::Code;
using isthmus::Status;
using isthmus::WorkerGroup;

// How many more threads this process is granted.
std::atomic<int> threads_left = 1 << 20;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("not so: %s\n", what);
    std::exit(1);
}

void expect_message(const Status& status, const std::string& expected) {
    if (status.message() == expected) return;
    std::printf("'%s' in place of '%s'\n", status.message().c_str(), expected.c_str());
    std::exit(1);
}

const WorkerGroup::Limit patient{60, "a job that ends"};
const WorkerGroup::Limit impatient{0.02, "h2d, 5 bytes"};

// Which threads did which part.
struct Seen {
    std::mutex mutex;
    std::multiset<std::size_t> workers;
    std::set<std::thread::id> threads;

    void add(std::size_t worker) {
        const std::lock_guard lock(mutex);
        workers.insert(worker);
        threads.insert(std::this_thread::get_id());
    }
};

// Threads leave the program's signals to it, and keep those of their own faults.
void check_signals() {
    auto group = WorkerGroup::start(4);
    expect(group.ok(), "threads start");
    const Status status = group.value()->run(
        [](std::size_t, const auto&) -> Status {
            sigset_t blocked;
            pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
            expect(sigismember(&blocked, SIGUSR1) == 1 && sigismember(&blocked, SIGTERM) == 1, "signals are blocked");
            expect(sigismember(&blocked, SIGSEGV) == 0 && sigismember(&blocked, SIGBUS) == 0, "faults are not");
            return {};
        },
        patient);
    expect(status.ok(), "a job ends");
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    expect(sigismember(&own, SIGUSR1) == 0, "whoever starts threads keeps its signals");
}

// Whoever throws, everybody has left the job when its end is told, and the group works on.
void check_exceptions() {
    constexpr std::size_t threads = 4;
    auto group = WorkerGroup::start(threads);
    expect(group.ok(), "threads start");
    for (std::size_t thrower = 0; thrower <= threads; ++thrower) {
        std::atomic<int> inside = 0, entered = 0;
        const Status status = group.value()->run_with_caller(
            [&inside, &entered, thrower](std::size_t worker, const std::atomic<bool>& stop) -> Status {
                ++inside;
                ++entered;
                if (worker == threads) {
                    while (entered <= static_cast<int>(threads)) std::this_thread::yield();
                }
                if (worker == thrower) {
                    --inside;
                    throw std::bad_alloc();
                }
                while (!stop) std::this_thread::yield();
                --inside;
                return {};
            },
            patient);
        expect(inside == 0, "nobody is at work on it any more");
        expect(status.code() == Code::out_of_memory, "no memory is told as that");
    }
    const auto idle = [](std::size_t, const auto&) { return Status(); };
    expect(group.value()->run(idle, patient).ok(), "the group works on");
}

void check_persistent_threads() {
    constexpr std::size_t threads = 8;
    constexpr std::size_t jobs = 500;
    auto group = WorkerGroup::start(threads);
    expect(group.ok(), "threads start");
    Seen seen;
    for (std::size_t i = 0; i < jobs; ++i) {
        const Status status = group.value()->run(
            [&seen](std::size_t worker, const auto&) {
                seen.add(worker);
                return Status();
            },
            patient);
        expect(status.ok() && seen.workers.size() == (i + 1) * threads, "a job has ended when run returns");
    }
    for (std::size_t i = 0; i < threads; ++i) expect(seen.workers.count(i) == jobs, "each thread does its part");
    expect(seen.threads.size() == threads && !seen.threads.contains(std::this_thread::get_id()),
           "the threads are always the same and not the caller's");
}

void check_a_caller_that_takes_part() {
    for (const std::size_t threads : {std::size_t{0}, std::size_t{3}}) {
        auto group = WorkerGroup::start(threads);
        const auto caller = std::this_thread::get_id();
        for (std::size_t i = 0; i < 2000; ++i) {
            constexpr std::size_t parts = 20;
            std::atomic<std::size_t> next = 0;
            std::vector<int> done(parts);
            std::vector<int> begun(threads + 1);
            const WorkerGroup::Job job = [&](std::size_t worker, const auto&) {
                ++begun[worker];
                expect((worker == threads) == (std::this_thread::get_id() == caller), "the caller is the last");
                for (std::size_t part = next++; part < parts; part = next++) ++done[part];
                return Status();
            };
            // Nobody is at work any more, or begins: what they use goes with this round.
            expect(group.value()->run_with_caller(job, patient).ok(), "a job with the caller ends well");
            expect(done == std::vector<int>(parts, 1), "each part is done once");
            expect(begun.back() == 1 && *std::max_element(begun.begin(), begun.end()) == 1, "nobody begins twice");
        }
    }
    auto group = WorkerGroup::start(2);
    const WorkerGroup::Job failing = [](std::size_t worker, const std::atomic<bool>& stop) {
        if (worker == 2) return Status(Code::call_failed, "the caller's");
        while (!stop) std::this_thread::yield();
        return Status();
    };
    expect_message(group.value()->run_with_caller(failing, patient), "the caller's");
    std::atomic<bool> begun = false;
    const WorkerGroup::Job told = [&begun](std::size_t worker, const auto&) {
        if (worker == 0) begun = true;
        while (worker == 2 && !begun) std::this_thread::yield();
        return worker == 0 ? Status(Code::call_failed, "thread 0's") : Status();
    };
    expect_message(group.value()->run_with_caller(told, patient), "thread 0's");
    const Status next = group.value()->run_with_caller([](std::size_t, const auto&) { return Status(); }, patient);
    expect(next.ok(), "the caller's failure does not last");
}

void check_threads_for_one_job() {
    Seen seen;
    const auto job = [&seen](std::size_t worker, const auto&) {
        seen.add(worker);
        return Status();
    };
    expect(WorkerGroup::run_once(5, job, patient).ok() && seen.workers == std::multiset<std::size_t>{0, 1, 2, 3, 4},
           "created threads do their part each");
    expect(!seen.threads.contains(std::this_thread::get_id()), "it is not the caller that does it");
}

void check_failures() {
    auto group = WorkerGroup::start(4);
    std::atomic<int> stopped = 0;
    const WorkerGroup::Job failing = [&stopped](std::size_t worker, const std::atomic<bool>& stop) -> Status {
        if (worker == 1 || worker == 2) return {Code::call_failed, "thread " + std::to_string(worker)};
        // Ends only because the others have failed.
        while (!stop) std::this_thread::yield();
        ++stopped;
        return {};
    };
    for (int round = 1; round <= 3; ++round) {
        expect_message(group.value()->run(failing, patient), "thread 1");
        expect(stopped == 2 * round, "the others are told and waited for");
    }
    const Status next = group.value()->run(
        [](std::size_t, const auto& stop) { return stop ? Status(Code::call_failed, "stopped") : Status(); }, patient);
    expect(next.ok(), "a failure does not stop the next job");
    expect_message(WorkerGroup::run_once(4, failing, patient), "thread 1");
}

void check_watchdog() {
    auto release = std::make_shared<std::atomic<bool>>(false);
    auto used = std::make_shared<int>(0);
    const std::weak_ptr<int> still_used = used;
    const auto stuck = [release](std::shared_ptr<int> what) -> WorkerGroup::Job {
        return [release, what](std::size_t worker, const auto&) {
            if (worker == 2) release->wait(false);
            return Status();
        };
    };
    {
        auto group = WorkerGroup::start(3);
        // On a machine that is busy others may not have ended either.
        const auto expect_left = [](const Status& status) {
            const bool is_counted = status.message() >= "1" && status.message() < "4";
            expect(is_counted && status.message().ends_with(
                                     " of 3 threads had not ended after 0.02 s and were left behind: h2d, 5 bytes"),
                   status.message().c_str());
        };
        expect_left(group.value()->run(stuck(used), impatient));
        expect(!group.value()->run([](std::size_t, const auto&) { return Status(); }, patient).ok(),
               "a group whose threads are stuck takes no job");
        expect_left(WorkerGroup::run_once(3, stuck(used), impatient));
    }
    used.reset();
    expect(!still_used.expired(), "what a stuck thread uses is kept");
    *release = true;
    release->notify_all();
    while (!still_used.expired()) expect(WorkerGroup::start(1).ok(), "others start beside it");
}

void check_too_few_threads() {
    threads_left = 3;
    auto group = WorkerGroup::start(5);
    expect(!group.ok(), "threads that are not granted are missed");
    const std::string message =
        "only 3 of 5 threads could be started: the limit on threads is reached (ulimit -u, or pids.max of the "
        "container)";
    expect_message(group.take_status(), message);
    threads_left = 3;
    std::atomic<int> worked = 0;
    expect_message(WorkerGroup::run_once(
                       5,
                       [&worked](std::size_t, const auto&) {
                           ++worked;
                           return Status();
                       },
                       patient),
                   message);
    expect(worked == 3, "those that were created have ended");
    threads_left = 1 << 20;
}

}  // namespace

// In place of the system's, which it calls.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
    if (threads_left-- <= 0) return EAGAIN;
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, run, argument);
}

int main() {
    check_signals();
    check_exceptions();
    check_persistent_threads();
    check_a_caller_that_takes_part();
    check_threads_for_one_job();
    check_failures();
    check_watchdog();
    check_too_few_threads();
    // A thread that never ends must not keep the process from ending.
    static std::atomic<bool> never = false;
    auto group = WorkerGroup::start(2);
    const Status left = group.value()->run(
        [](std::size_t, const auto&) {
            never.wait(false);
            return Status();
        },
        impatient);
    expect(left.code() == Code::timed_out, "it is left behind");
    std::puts("as promised");
}
