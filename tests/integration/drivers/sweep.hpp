// Makes each allocation of what is looked at fail in turn, once or from there on, each in a process of its own.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

namespace sweep {

// How the process of one point ends: `beyond` where the scenario allocated less often.
enum Ending : int { well = 0, beyond = 20, wrong_code = 30, wrong_data = 31, unusable = 32 };

inline std::atomic<bool> armed{false};
inline std::atomic<long> until{0};  // allocations that still succeed
inline bool sticky = false;
inline char message[2048];  // of what did not go well

// Whether the allocation that is asked for is to fail; counts it.
inline bool fails() {
    if (!armed.load(std::memory_order_relaxed)) return false;
    const long left = until.fetch_sub(1, std::memory_order_relaxed);
    return sticky ? left <= 0 : left == 0;
}

inline const char* word(int state) {
    if (WIFSIGNALED(state)) return strsignal(WTERMSIG(state));
    switch (WEXITSTATUS(state)) {
        case wrong_code: return "wrong code";
        case wrong_data: return "wrong data";
        case unusable: return "the session is unusable";
        default: return "unexpected end";
    }
}

// What the processes that go through the points share.
struct Sweep {
    std::atomic<long> next{0};
    std::atomic<long> end{1L << 40};  // the first point that was not reached
    std::atomic<int> bad{0};
};

template <typename Scenario>
void try_point(const Scenario& scenario, long point, Sweep& sweep) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) _exit(2);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        until = point;
        const int ending = scenario();
        if (write(pipe_ends[1], message, std::strlen(message)) < 0) _exit(2);
        _exit(ending);
    }
    close(pipe_ends[1]);
    char said_there[1024] = {};
    const ssize_t got = read(pipe_ends[0], said_there, sizeof said_there - 1);
    close(pipe_ends[0]);
    int state = 0;
    waitpid(child, &state, 0);
    if (WIFEXITED(state) && WEXITSTATUS(state) == beyond) {
        long end = sweep.end;
        while (point < end && !sweep.end.compare_exchange_weak(end, point)) {
        }
    } else if (!WIFEXITED(state) || WEXITSTATUS(state) != well) {
        ++sweep.bad;
        std::printf("%ld %s: %s\n", point, word(state), got > 0 ? said_there : "");
        std::fflush(stdout);
    }
}

// A line "POINT WORD: DETAIL" for every process that did not end well, then "points N bad M"; the exit code.
template <typename Scenario>
int over_all_points(const Scenario& scenario, long stride) {
    void* const shared = mmap(nullptr, sizeof(Sweep), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    Sweep& sweep = *new (shared) Sweep;
    // A process waits half of its time: more of them than processors.
    constexpr int workers = 4;
    for (int i = 0; i < workers; ++i) {
        if (fork() != 0) continue;
        for (long point = 0; (point = sweep.next.fetch_add(stride)) < sweep.end;) try_point(scenario, point, sweep);
        _exit(0);
    }
    int ended_well = 0;
    for (int state = 0; wait(&state) > 0;) ended_well += WIFEXITED(state) && WEXITSTATUS(state) == 0 ? 1 : 0;
    std::printf("points %ld bad %d\n", sweep.end.load(), sweep.bad.load());
    return ended_well == workers && sweep.bad == 0 ? 0 : 1;
}

}  // namespace sweep
