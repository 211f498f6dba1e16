// Memory of the program that the kernel uses in a call of the C library.
#include "races/given.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <span>

#include "races/state.hpp"

namespace isthmus::races {
namespace {

// What is opened of an argument whose length is not looked at: as long as an extended attribute may be. Longer lists,
// such as thousands of descriptors to poll, are not opened to their ends.
constexpr std::size_t longest_value_bytes = std::size_t{64} << 10;

Range range_of(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    return {begin, begin + bytes};
}

}  // namespace

Given::Given(const void* memory, std::size_t bytes, bool writes) {
    if (is_watching()) add(range_of(memory, bytes), writes, true);
}
// The vectors themselves are the program's memory, which the processor reads without the lock.
Given::Given(const iovec* parts, long count, bool writes) {
    if (parts == nullptr || count < 0 || !is_watching()) return;
    for (long i = 0; i < count; ++i) add(range_of(parts[i].iov_base, parts[i].iov_len), writes, true);
    add(range_of(parts, static_cast<std::size_t>(count) * sizeof *parts), false, false);
}
Given::Given(const msghdr* message, bool writes) {
    if (message != nullptr && is_watching()) add(*message, writes);
}
Given::Given(const mmsghdr* messages, unsigned count, bool writes) {
    if (messages == nullptr || !is_watching()) return;
    for (unsigned i = 0; i < count; ++i) add(messages[i].msg_hdr, writes);
    add(range_of(messages, count * sizeof *messages), true, false);
}
Given::Given(const SystemWords& words, unsigned pointers) {
    if (!is_watching()) return;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if ((pointers >> i & 1U) != 0) add({words[i], words[i] + longest_value_bytes}, true, false);
    }
}
Given::~Given() {
    if (used_ == 0) return;
    const int reason = errno;
    {
        const Locked state;
        for (const std::uint32_t number : std::span(numbers_).first(used_)) state->under_way.remove(number);
    }
    errno = reason;
}

void Given::add(const msghdr& message, bool writes) {
    for (std::size_t i = 0; i < message.msg_iovlen && message.msg_iov != nullptr; ++i)
        add(range_of(message.msg_iov[i].iov_base, message.msg_iov[i].iov_len), writes, true);
    add(range_of(&message, sizeof message), true, false);
    add(range_of(message.msg_name, message.msg_namelen), true, false);
    add(range_of(message.msg_control, message.msg_controllen), true, false);
}

void Given::add(const Range& range, bool writes, bool is_touched) {
    if (range.empty() || !Copies::may_be_block(range)) return;
    const int reason = errno;
    // What begins in no block does not reach into one where it is not known how long it is.
    const Range known = is_touched ? range : Range{range.begin, range.begin + 1};
    bool meets = false;
    {
        const Locked state;
        meets = state->copies.meets_block(known);
    }
    if (meets) open(range, writes, is_touched);
    errno = reason;
}

void Given::open(const Range& range, bool writes, bool is_touched) {
    Frames frames;
    if (is_touched && !InDriver::here()) frames = places().here();
    const Locked state;
    state->copies.open(range, writes, [&](const Copy& copy) {
        // The kernel may use nothing of what comes later.
        const bool is_first = copy.rows.meets(Range{range.begin, range.begin + 1});
        if (frames.native_count != 0 && is_first) state->note(copy, frames, range, writes, true);
    });
    const auto number = used_ == numbers_.size() ? std::nullopt : state->under_way.add(range);
    if (number) {
        numbers_[used_++] = *number;
    } else {
        state->protect_none("more system calls at once, or of more parts, than are followed use pinned memory");
    }
}

void let_go(const void* memory, std::size_t bytes) {
    const Range range = range_of(memory, bytes);
    if (!is_watching() || !Copies::may_be_block(range)) return;
    const int reason = errno;
    {
        const Locked state;
        if (state->copies.meets_block(range)) {
            state->copies.forget_blocks(range);
            // Kernels may write there what the host waits for, and it is not looked at any more.
            state->kernels_signal = true;
        }
    }
    errno = reason;
}

}  // namespace isthmus::races
