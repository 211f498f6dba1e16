// What programs do with page-locked memory: forks, threads, signals, cancellation, again and again.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <thread>

#include "functions.hpp"

inline std::byte* allocated(const Memory& memory, std::size_t bytes, unsigned flags = 0) {
    void* block = nullptr;
    expect(memory.cuMemHostAlloc(&block, bytes, flags) == success);
    return static_cast<std::byte*>(block);
}
inline bool is_all(const std::byte* data, std::size_t bytes, std::byte value) {
    for (std::size_t i = 0; i < bytes; i += 4096) {
        if (data[i] != value) return false;
    }
    return bytes == 0 || data[bytes - 1] == value;
}

// What a child reads of its parent's memory, and each of what the other writes afterwards.
inline void forks(const Memory& memory, std::size_t bytes) {
    for (int round = 0; round < 3; ++round) {
        std::byte* const data = allocated(memory, bytes, round == 1 ? 1 : 0);
        if (data == nullptr) return;
        std::memset(data, 1, bytes);
        int to_child[2], to_parent[2];
        expect(pipe(to_child) == 0 && pipe(to_parent) == 0);
        std::fflush(stdout);
        const pid_t child = fork();
        char word = 0;
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            const int reads = is_all(data, bytes, std::byte{1}) ? 1 : 0;
            data[0] = std::byte{2};
            if (write(to_parent[1], &word, 1) != 1 || read(to_child[0], &word, 1) != 1) _exit(99);
            _exit(10 + reads + (data[4096] == std::byte{3} ? 2 : 0));
        }
        // Of a child that could not, the end of the pipe is read.
        close(to_parent[1]);
        const bool has_written = read(to_parent[0], &word, 1) == 1;
        std::printf("round %d: the parent sees %d\n", round, static_cast<int>(data[0]));
        data[4096] = std::byte{3};
        if (has_written) expect(write(to_child[1], &word, 1) == 1);
        int status = 0;
        waitpid(child, &status, 0);
        std::printf("round %d: the child ends %d\n", round,
                    WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
        for (const int end : {to_child[0], to_child[1], to_parent[0]}) close(end);
        expect(memory.cuMemFreeHost(data) == success);
    }
}

// The number that the next file gets.
inline int next_descriptor() {
    const int next = dup(0);
    close(next);
    return next;
}

// Of one size and then of others, each zeroed, written, copied and given back, while signals come.
inline std::atomic<long> signals = 0;
inline void uses(const Memory& memory, Context context, std::size_t bytes) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++signals; };
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval every{{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &every, nullptr);
    const int first_descriptor = next_descriptor();
    for (const std::size_t size : {bytes, bytes + 1, bytes - 4095, bytes / 2, bytes}) {
        std::byte* const data = allocated(memory, size);
        if (data == nullptr) break;
        std::printf("%zu bytes: zeroed %d\n", size, is_all(data, size, std::byte{0}));
        std::memset(data, 7, size);
        const Block block(size);
        expect(memory.cuMemcpyHtoDAsync(block.address, data, size, nullptr) == success);
        expect(memory.cuCtxSynchronize() == success);
        std::memset(data, 0, size);
        expect(memory.cuMemcpyDtoH(data, block.address, size) == success);
        std::printf("%zu bytes: right %d\n", size, is_all(data, size, std::byte{7}));
        expect(memory.cuMemFreeHost(data) == success);
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    std::printf("descriptors are left: %d\n", next_descriptor() - first_descriptor);
    std::printf("signals came: %d\n", signals > 0);
    // A thread that is to end has its memory first.
    struct Asked {
        const Memory& memory;
        Context context;
        std::size_t bytes;
        std::byte* got;
    } asked{memory, context, bytes, nullptr};
    pthread_t ended;
    expect(pthread_create(
               &ended, nullptr,
               [](void* what) -> void* {
                   auto& asked = *static_cast<Asked*>(what);
                   expect(asked.memory.cuCtxSetCurrent(asked.context) == success);
                   pthread_cancel(pthread_self());
                   asked.got = allocated(asked.memory, asked.bytes);
                   pthread_testcancel();
                   return nullptr;
               },
               &asked) == 0);
    void* result = nullptr;
    pthread_join(ended, &result);
    std::printf("cancelled: %d, with memory: %d\n", result == PTHREAD_CANCELED, asked.got != nullptr);
}

// While others get and give back theirs; some give back what another got.
inline void threads(const Memory& memory, Context context, std::size_t bytes) {
    std::atomic<std::byte*> handed = nullptr;
    std::vector<std::thread> all;
    for (unsigned who = 0; who < 4; ++who) {
        all.emplace_back([&, who] {
            expect(memory.cuCtxSetCurrent(context) == success);
            std::mt19937_64 random(who);
            for (int round = 0; round < 12; ++round) {
                const std::size_t size = bytes / 4 + random() % bytes;
                std::byte* data = allocated(memory, size);
                if (data == nullptr) continue;
                expect(is_all(data, size, std::byte{0}));
                const auto mark = static_cast<std::byte>(1 + random() % 200);
                std::memset(data, static_cast<int>(mark), size);
                std::this_thread::yield();
                expect(is_all(data, size, mark));
                data = handed.exchange(data);
                if (data != nullptr) expect(memory.cuMemFreeHost(data) == success);
            }
        });
    }
    for (std::thread& thread : all) thread.join();
    if (std::byte* const last = handed) expect(memory.cuMemFreeHost(last) == success);
}

// The same block again and again.
inline void again(const Memory& memory, std::size_t bytes) {
    for (int round = 0; round < 4; ++round) {
        std::byte* const data = allocated(memory, bytes);
        if (data != nullptr) expect(memory.cuMemFreeHost(data) == success);
    }
}
