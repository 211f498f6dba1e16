// Memory of the program that the kernel uses in a call of the C library.
#include "races/given.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/pages.hpp"
#include "races/state.hpp"

namespace isthmus::races {
namespace {

// What is opened of an argument whose length is not looked at: as long as an extended attribute may be.
constexpr std::size_t usual_value_bytes = std::size_t{64} << 10, most_value_bytes = std::size_t{2} << 30;
// A mutex, a condition, a time.
constexpr std::size_t longest_word_bytes = 64;

Range range_of(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    return {begin, begin + bytes};
}

// What is done with the lock to memory that is in a block.
template <typename Do>
void where_in_block(const Range& range, const Do& act) {
    if (!Copies::may_be_block(range) || !is_watching()) return;
    const int reason = errno;
    {
        const Locked state;
        if (state->copies.meets_block(range)) act(*state.operator->());
    }
    errno = reason;
}

// As many vectors and messages as the kernel takes.
constexpr std::size_t most_parts = 1024;

}  // namespace

bool can_read(const void* memory, std::size_t bytes) {
    const Range range = range_of(memory, bytes);
    const int reason = errno;
    std::uintptr_t at = range.begin;
    while (at < range.end && is_readable(at)) at = (at / system_page() + 1) * system_page();
    errno = reason;
    return !range.empty() && at >= range.end;
}

Given::Given(const void* memory, std::size_t bytes, bool writes) {
    if (is_watching()) add(range_of(memory, bytes), writes, true);
}
// The vectors themselves are the program's memory, which the processor reads without the lock.
Given::Given(const iovec* parts, std::size_t count, bool writes) {
    if (is_watching()) add(parts, count, writes);
}
Given::Given(const msghdr* message, bool writes) {
    if (is_watching() && can_use(message, sizeof *message)) add(*message, writes);
}
Given::Given(const mmsghdr* messages, unsigned count, bool writes) {
    if (!is_watching() || count > most_parts || !can_use(messages, count * sizeof *messages)) return;
    for (unsigned i = 0; i < count; ++i) add(messages[i].msg_hdr, writes);
}
Given::Given(const SystemWords& words, unsigned pointers, std::size_t bytes) {
    if (!is_watching()) return;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if ((pointers >> i & 1U) != 0)
            add({words[i], words[i] + std::clamp(bytes, usual_value_bytes, most_value_bytes)}, true, false);
    }
}
Given::~Given() {
    if (used_ == 0) return;
    const int reason = errno;
    {
        const Locked state;
        for (const std::uint32_t number : std::span(numbers_).first(used_)) state->copies.open_pages.remove(number);
    }
    errno = reason;
}

bool Given::can_use(const void* structure, std::size_t bytes) {
    add(range_of(structure, bytes), true, false);
    return can_read(structure, bytes);
}

void Given::add(const iovec* parts, std::size_t count, bool writes) {
    if (count > most_parts || !can_use(parts, count * sizeof *parts)) return;
    for (std::size_t i = 0; i < count; ++i) add(range_of(parts[i].iov_base, parts[i].iov_len), writes, true);
}

void Given::add(const msghdr& message, bool writes) {
    add(message.msg_iov, message.msg_iovlen, writes);
    add(range_of(message.msg_name, message.msg_namelen), true, false);
    add(range_of(message.msg_control, message.msg_controllen), true, false);
}

void Given::add(const Range& range, bool writes, bool is_touched) {
    // What begins in no block does not reach into one where it is not known how long it is.
    const Range known = is_touched ? range : Range{range.begin, range.begin + 1};
    bool meets = false;
    where_in_block(known, [&](State&) { meets = true; });
    if (range.empty() || !meets) return;
    const int reason = errno;
    open(range, writes, is_touched);
    errno = reason;
}

void Given::open(const Range& range, bool writes, bool is_touched) {
    Frames frames;
    if (is_touched && !InDriver::here()) frames = places().here();
    const Range record = range_of(this, sizeof *this);
    const Locked state;
    OpenPages& pages = state->copies.open_pages;
    const Range around = Copies::pages_around(range);
    if (used_ == 0) pages.begin(record);
    if (used_ == numbers_.size()) {
        pages.widen(numbers_.back(), around);
    } else if (const auto number = pages.add(around, record)) {
        numbers_[used_++] = *number;
    } else {
        state->protect_none("more system calls at once than are followed use pinned memory");
    }
    if (!is_touched) return state->copies.open_part(range);
    state->copies.open(range, writes, [&](const Copy& copy) {
        // The kernel may use nothing of what comes later.
        const bool is_first = copy.rows.meets(Range{range.begin, range.begin + 1});
        if (frames.native_count != 0 && is_first) state->note(copy, frames, range, writes, true);
    });
}

void let_go(const void* memory, std::size_t bytes) {
    const Range range = range_of(memory, bytes);
    where_in_block(range, [&](State& state) {
        state.copies.forget_blocks(range);
        // Kernels may write there what the host waits for, and it is not looked at any more.
        state.kernels_signal = true;
    });
}

void keep_open(const void* memory, std::size_t bytes) {
    const Range range = range_of(memory, bytes), pages = Copies::pages_around(range);
    const std::uint64_t forgotten = Copies::forgotten();
    // Most threads use the same words again and again.
    thread_local Range kept __attribute__((tls_model("initial-exec")));
    thread_local std::uint64_t kept_when __attribute__((tls_model("initial-exec"))) = 0;
    if (kept_when == forgotten && kept.contains(pages) && is_watching()) return;
    where_in_block(range, [&](State& state) {
        if (!state.copies.open_pages.keep(pages))
            return state.protect_none("locks are on more pages of pinned memory than are followed");
        state.copies.open_part(range);
        if (state.record != nullptr) state.record->add_reason("a lock is on a page of pinned memory, which stays open");
        kept = pages;
        kept_when = forgotten;
    });
}

void keep_text_open(const char* text) {
    // A page at a time, for what comes behind the end may not be there.
    while (is_watching()) {
        const std::size_t rest = system_page() - reinterpret_cast<std::uintptr_t>(text) % system_page();
        keep_open(text, rest);
        if (!can_read(text, rest) || std::memchr(text, 0, rest) != nullptr) return;
        text += rest;
    }
}

void keep_texts_open(const char* const* list) {
    for (; is_watching(); ++list) {
        keep_open(list, sizeof *list);
        if (!can_read(list, sizeof *list) || *list == nullptr) return;
        keep_text_open(*list);
    }
}

void keep_words_open(const SystemWords& words, unsigned pointers) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        if ((pointers >> i & 1U) != 0) keep_open(reinterpret_cast<const void*>(words[i]), longest_word_bytes);
    }
}

}  // namespace isthmus::races
