// What slices of a range are: consecutive, whole pages but for the end, and as equal as pages allow.
#include "base/slices.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "base/processors.hpp"

namespace {

constexpr std::size_t page = 4096;

void expect(bool condition, const char* what, std::size_t bytes, std::size_t count) {
    if (condition) return;
    std::printf("%s: not so for %zu slices of %zu bytes\n", what, count, bytes);
    std::exit(1);
}

void check(std::size_t bytes, std::size_t count) {
    std::size_t at = 0;
    std::size_t fewest = SIZE_MAX;
    std::size_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const isthmus::Slice slice = isthmus::slice_of(bytes, i, count);
        expect(slice.begin == at, "consecutive", bytes, count);
        expect(slice.begin <= slice.end, "forward", bytes, count);
        expect(slice.begin % page == 0 || slice.begin == bytes, "from a page on", bytes, count);
        const std::size_t pages = (slice.end - slice.begin + page - 1) / page;
        fewest = std::min(fewest, pages);
        most = std::max(most, pages);
        at = slice.end;
    }
    expect(at == bytes, "complete", bytes, count);
    expect(most - fewest <= 1, "equal but for one page", bytes, count);
}

void check_for_each(std::size_t bytes) {
    std::mutex mutex;
    std::size_t seen = 0;
    isthmus::for_each_slice(bytes, [&](std::size_t begin, std::size_t end) {
        const std::lock_guard lock(mutex);
        seen += end - begin;
    });
    expect(seen == bytes, "all of it", bytes, 1);
}

// What one thread throws, the caller gets, when no thread is at work any more.
void check_failing(std::size_t bytes, std::size_t failing_at) {
    std::mutex mutex;
    std::size_t seen = 0;
    bool thrown = false;
    try {
        isthmus::for_each_slice(bytes, [&](std::size_t begin, std::size_t end) {
            if (begin <= failing_at && failing_at < end) throw std::bad_alloc();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const std::lock_guard lock(mutex);
            seen += end - begin;
        });
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    expect(thrown, "a failure is the caller's", bytes, failing_at);
    expect(seen < bytes && (seen > 0 || isthmus::allowed_processors() == 1), "the others end", bytes, failing_at);
}

}  // namespace

int main() {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, page - 1, page, page + 1, 31 * page, 31 * page + 5,
                                    std::size_t{64} << 20, (std::size_t{1} << 62) + 1}) {
        for (const std::size_t count : {1, 2, 3, 32, 1000}) check(bytes, count);
    }
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, (std::size_t{5} << 20) + 3}) check_for_each(bytes);
    for (const std::size_t at : {std::size_t{0}, std::size_t{64} << 20}) check_failing((std::size_t{64} << 20) + 1, at);
    std::puts("as described");
}
