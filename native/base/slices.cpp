// Splits work over a range of bytes among the processors that this process may use.
#include "base/slices.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "base/pages.hpp"
#include "base/processors.hpp"
#include "base/threads.hpp"

namespace isthmus {
namespace {

constexpr std::size_t smallest_slice = std::size_t{1} << 20;

}  // namespace

Slice slice_of(std::size_t bytes, std::size_t index, std::size_t count) {
    const std::size_t pages = bytes / least_page + (bytes % least_page != 0 ? 1 : 0);
    // The first `pages % count` slices have a page more.
    const auto begin = [&](std::size_t i) {
        return std::min(bytes, (i * (pages / count) + std::min(i, pages % count)) * least_page);
    };
    return {begin(index), begin(index + 1)};
}

void for_each_slice(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& work,
                    std::size_t most_threads) {
    if (bytes == 0) return;
    const std::size_t threads =
        std::clamp(bytes / smallest_slice, std::size_t{1}, std::min(most_threads, allowed_processors()));
    std::mutex mutex;
    std::exception_ptr failure;
    const auto part = [&](std::size_t index) noexcept {
        const Slice slice = slice_of(bytes, index, threads);
        try {
            work(slice.begin, slice.end);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (failure == nullptr) failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        others.reserve(threads - 1);
        for (std::size_t i = 1; i < threads; ++i) {
            if (auto thread = start_thread("isthmus-slice", [&part, i] { part(i); })) {
                others.push_back(std::move(*thread));
            } else {
                part(i);
            }
        }
        part(0);
    }
    if (failure != nullptr) std::rethrow_exception(failure);
}

void for_each_slice_of_huge_pages(std::byte* data, std::size_t bytes,
                                  const std::function<void(std::byte*, std::size_t)>& work, std::size_t most_threads) {
    const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % huge_page;
    const auto border = [&](std::size_t at) {
        if (at == 0 || at == bytes) return at;
        return std::min(bytes, (before + at + huge_page - 1) / huge_page * huge_page - before);
    };
    const auto slice = [&](std::size_t begin, std::size_t end) {
        const std::size_t first = border(begin);
        work(data + first, border(end) - first);
    };
    for_each_slice(bytes, slice, most_threads);
}

}  // namespace isthmus
