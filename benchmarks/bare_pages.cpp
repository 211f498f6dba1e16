// How quickly threads get new pages from the system: by writing to them, and by asking for them (MADV_POPULATE_WRITE).
//
// Build and run:  g++ -O2 -std=c++20 -pthread benchmarks/bare_pages.cpp -o bare_pages && ./bare_pages [MEBIBYTES...]
//
// The floor for touch_pages and populate_pages of native/base/pages.hpp, with which it shares no code. A line per size,
// kind of page and number of threads, with the median milliseconds of five turns either way. Exit code 2: no memory.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20, huge_page = 2 * mebibyte, page = 4096;
constexpr int turns = 5, populate_write = 23;  // MADV_POPULATE_WRITE, since Linux 5.14

// Work of the threads on one huge page after the other, or on as many ordinary ones.
template <typename Work>
double milliseconds(std::size_t threads, std::size_t bytes, const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<std::size_t> next = 0;
    const auto part = [&] {
        for (std::size_t at = next.fetch_add(huge_page); at < bytes; at = next.fetch_add(huge_page)) work(at);
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < threads; ++i) others.emplace_back(part);
        part();
    }
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double once(std::size_t bytes, std::size_t threads, bool huge, bool asks) {
    void* const mapping = mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) std::exit(2);
    const auto address = reinterpret_cast<std::uintptr_t>(mapping);
    auto* const data = static_cast<char*>(mapping) + (huge_page - address % huge_page) % huge_page;
    madvise(data, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    const double taken = milliseconds(threads, bytes, [&](std::size_t begin) {
        if (asks) {
            madvise(data + begin, huge_page, populate_write);
            return;
        }
        for (std::size_t at = begin; at < begin + huge_page; at += page) static_cast<volatile char*>(data)[at] = 1;
    });
    munmap(mapping, bytes + huge_page);
    return taken;
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::size_t> sizes;
    for (int i = 1; i < count; ++i) sizes.push_back((std::strtoull(arguments[i], nullptr, 10) + 1) / 2 * 2);
    if (sizes.empty()) sizes = {64, 256, 1024};
    const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
    for (const std::size_t size : sizes) {
        for (const bool huge : {true, false}) {
            for (std::size_t threads = 1; threads <= most; threads *= 2) {
                std::array<std::vector<double>, 2> taken;
                for (int turn = 0; turn < turns; ++turn) {
                    for (const bool asks : {false, true}) {
                        taken[asks ? 1 : 0].push_back(once(size * mebibyte, threads, huge, asks));
                    }
                }
                for (std::vector<double>& each : taken) std::sort(each.begin(), each.end());
                std::printf("%5zu MiB, %s, %2zu threads: %7.1f ms written to, %7.1f ms asked for\n", size,
                            huge ? "huge pages    " : "ordinary pages", threads, taken[0][turns / 2],
                            taken[1][turns / 2]);
                std::fflush(stdout);
            }
        }
    }
}
