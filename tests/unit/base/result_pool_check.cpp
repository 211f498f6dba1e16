// Blocks of results: one holder each, a budget, children that share nothing, and threads that take, hand on and give
// back all at once.
#include "base/memory/result_pool.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using isthmus::ResultPool;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = 4096;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("not so: %s\n", what);
    std::fflush(stdout);
    std::_Exit(1);
}

ResultPool& pool() {
    return ResultPool::get();
}

std::size_t unused() {
    return pool().sizes().unused_bytes;
}

// A block, and what is written at the beginning of each of its pages and at its end.
struct Block {
    std::uint64_t* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t value = 0;

    static Block take(std::size_t bytes, std::uint64_t value) {
        Block block{static_cast<std::uint64_t*>(pool().take(bytes)), bytes, value};
        expect(block.data != nullptr, "there is memory");
        expect(pool().bytes_of(block.data) >= bytes, "it is large enough");
        for (std::size_t at = 0; at < bytes; at += page) block.data[at / 8] = value + at;
        block.data[bytes / 8 - 1] = value;
        return block;
    }
    bool is_intact() const {
        for (std::size_t at = 0; at < bytes / 8 * 8 - page; at += page) {
            if (data[at / 8] != value + at) return false;
        }
        return data[bytes / 8 - 1] == value;
    }
    void give_back() const {
        expect(is_intact(), "no other holder has written to it");
        expect(pool().give_back(data), "it was lent");
    }
};

void check_one_thread() {
    pool().set_budget(24 * mib);
    const Block first = Block::take(8 * mib, 1);
    first.give_back();
    expect(unused() == 8 * mib, "it is kept");
    expect(!pool().give_back(first.data), "given back once");
    int other = 0;
    expect(!pool().give_back(&other) && pool().bytes_of(&other) == 0, "other memory is not the pool's");
    Block again = Block::take(8 * mib - 8, 2);
    expect(again.data == first.data && unused() == 0, "the next of its size has it");
    const Block much_less = Block::take(4 * mib, 3);
    again.give_back();
    const Block least = Block::take(2 * mib, 4);
    expect(least.data != again.data, "one that is far too large is not used");
    least.give_back();
    much_less.give_back();
    const Block large = Block::take(20 * mib, 5);
    large.give_back();
    expect(unused() <= 24 * mib && Block::take(20 * mib, 6).data == large.data, "the longest unused went first");
    pool().trim();
    expect(unused() == 0, "all was given back");
    expect(pool().give_back(large.data) && unused() == 20 * mib, "the budget holds after a trim");
    expect(pool().keeps(mib) && !pool().keeps(mib - 1) && !pool().keeps(25 * mib), "it knows what it keeps");
    pool().set_budget(0);
    expect(unused() == 0 && !pool().keeps(mib), "a lower budget gives back");
    Block::take(mib, 7).give_back();
    expect(unused() == 0, "nothing is kept without a budget");
    expect(pool().take(SIZE_MAX) == nullptr && pool().take(std::size_t{1} << 56) == nullptr, "no memory is null");
}

[[maybe_unused]] bool is_mapped(void* address) {
    std::array<unsigned char, 1> there{};
    return mincore(address, page, there.data()) == 0;
}

// What the child of a fork ends with: 0 where it holds what it should.
int child(const Block& held, const Block& kept) {
#ifndef __SANITIZE_THREAD__              // which maps memory of its own there
    if (is_mapped(kept.data)) return 1;  // unused memory is not inherited
#else
    static_cast<void>(kept);
#endif
    if (!held.is_intact()) return 2;
    std::memset(held.data, 9, held.bytes);
    if (!pool().give_back(held.data) || unused() != 0) return 3;  // and is not used again
    const Block fresh = Block::take(held.bytes, 10);
    fresh.give_back();
    return unused() >= held.bytes && Block::take(held.bytes, 11).data == fresh.data ? 0 : 4;
}

void check_fork() {
    pool().set_budget(64 * mib);
    const Block held = Block::take(4 * mib, 20);
    Block kept = Block::take(8 * mib, 21);
    kept.give_back();
    const pid_t forked = fork();
    if (forked == 0) _exit(child(held, kept));
    int status = 0;
    waitpid(forked, &status, 0);
    if (status != 0) std::printf("child: %d\n", WEXITSTATUS(status));
    expect(status == 0, "a child has copies of what is in use, and nothing else");
    expect(Block::take(8 * mib, 22).data == kept.data, "the parent keeps what it has");
    pool().give_back(kept.data);
    held.give_back();
    pool().trim();
}

void check_locked() {
    const Block block = Block::take(mib, 30);
    if (syscall(SYS_mlock, block.data, mib) == 0) {  // sanitizers lock nothing by mlock()
        block.give_back();
        expect(unused() == 0, "locked memory is not kept");
    } else {
        block.give_back();
    }
    pool().trim();
}

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    return resident * page;
}

void check_threads(unsigned rounds) {
    pool().set_budget(32 * mib);
    std::mutex mutex;
    std::vector<Block> shared;  // what one thread took and another gives back
    std::atomic<bool> ends = false;
    auto work = [&](unsigned number) {
        std::mt19937_64 random(number);
        std::vector<Block> own;
        for (unsigned round = 0; round < rounds; ++round) {
            own.push_back(Block::take(mib + random() % (3 * mib) / 8 * 8, random()));
            if (random() % 2 == 0) {
                const std::lock_guard lock(mutex);
                shared.push_back(own.back());
                own.pop_back();
            }
            Block other;
            {
                const std::lock_guard lock(mutex);
                if (shared.size() > 4) {
                    std::swap(shared[random() % shared.size()], shared.back());
                    other = shared.back();
                    shared.pop_back();
                }
            }
            if (other.data != nullptr) other.give_back();
            if (own.size() > 3) {
                own.front().give_back();
                own.erase(own.begin());
            }
        }
        for (const Block& block : own) block.give_back();
    };
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 5; ++number) threads.emplace_back(work, number);
    std::thread changer([&] {
        std::mt19937 random(99);
        while (!ends) {
            pool().set_budget(random() % 4 * 16 * mib);
            if (random() % 4 == 0) pool().trim();
            expect(pool().sizes().unused_bytes <= 64 * mib + 5 * 4 * mib, "never far beyond the budget");
            std::this_thread::yield();
        }
    });
    for (int forks = 0; forks < 10; ++forks) {
        const pid_t forked = fork();
        if (forked == 0) {
            Block::take(2 * mib, 40).give_back();
            _exit(0);
        }
        int status = 0;
        waitpid(forked, &status, 0);
        expect(status == 0, "a child of threads that take and give back has a pool that works");
    }
    for (std::thread& thread : threads) thread.join();
    ends = true;
    changer.join();
    for (const Block& block : shared) block.give_back();
    pool().set_budget(0);
    expect(unused() == 0, "all came back");
}

}  // namespace

int main(int count, char** arguments) {
    const unsigned rounds = count > 1 ? static_cast<unsigned>(std::stoul(arguments[1])) : 300;
    check_one_thread();
    check_fork();
    check_locked();
    check_threads(rounds / 10);
    const std::size_t before = resident_bytes();
    check_threads(rounds);
    const std::size_t after = resident_bytes();
    if (count > 1) std::printf("%zu MiB resident before, %zu after\n", before / mib, after / mib);
    std::puts("as described");
}
