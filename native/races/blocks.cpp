// When watching begins, and the pinned memory that the program is given.
#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>

#include "races/calls.hpp"

// The sanitizers' names, and ours. Null where the process began without them.
extern "C" {
#define ISTHMUS_WHERE_LOADED __attribute__((weak, visibility("default")))
ISTHMUS_WHERE_LOADED void __asan_init();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
ISTHMUS_WHERE_LOADED void __tsan_init();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
ISTHMUS_WHERE_LOADED unsigned long isthmus_accelerate_mark();
#undef ISTHMUS_WHERE_LOADED
}

namespace isthmus::races {
namespace {

constinit std::array<std::atomic<void*>, static_cast<std::size_t>(Own::count)> own_functions{};

using cuda::ReturnCode;

// Why no page of pinned memory can be protected; null where it can.
const char* why_not_protected() {
    using Count = ReturnCode (*)(int*);
    using Ask = ReturnCode (*)(int*, int, cuda::Device);
    const auto count = drivers<Count>(Own::device_count);
    const auto ask = drivers<Ask>(Own::device_attribute);
    int devices = 0;
    if (count == nullptr || ask == nullptr || count(&devices) != cuda::success)
        return "the driver does not say what devices there are";
    for (int device = 0; device < devices; ++device) {
        for (const int attribute : {cuda::attribute_integrated, cuda::attribute_pageable_memory_access}) {
            int value = 0;
            if (ask(&value, attribute, device) != cuda::success)
                return "the driver does not say what its devices can do";
            if (value != 0) return "a device uses the pages of the host itself, and would stop at a protected one";
        }
    }
    return nullptr;
}

// Looked up before anything was followed, and not hooked.
constinit std::atomic<const char*> unfollowed = nullptr;

// Whether all of a range is memory that can be read and written, and no part of the calling thread's stack.
bool is_ordinary(const Range& range) {
    std::ifstream maps("/proc/self/maps");
    const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    std::uintptr_t reached = range.begin;
    for (std::string line; reached < range.end && std::getline(maps, line);) {
        unsigned long begin = 0, end = 0;
        std::array<char, 5> rights{};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights.data()) != 3) return false;
        if (end <= reached) continue;
        if (begin > reached || rights[0] != 'r' || rights[1] != 'w' || rights[2] == 'x') return false;
        if (begin <= stack && stack < end) return false;
        reached = end;
    }
    return reached >= range.end;
}

}  // namespace

void find_own(void* library, interpose::FindSymbol find) noexcept {
    constexpr std::array names{"cuPointerGetAttributes", "cuMemGetAddressRange_v2", "cuDeviceGetCount",
                               "cuDeviceGetAttribute"};
    static_assert(names.size() == own_functions.size());
    for (std::size_t i = 0; i < names.size(); ++i) own_functions[i] = find(library, names[i]);
}

void* own(Own which) noexcept {
    prepare();
    return own_functions[static_cast<std::size_t>(which)];
}

void follow_nothing(const char* name) {
    if (!is_watching()) {
        unfollowed = name;
        return;
    }
    const Locked state;
    state->stop(name);
}

void begin() {
    if (is_watching()) return;
    static constinit std::atomic<bool> has_begun = false;
    if (has_begun.exchange(true) || !begin_watching()) return;
    const char* why = nullptr;
    if (__asan_init != nullptr || __tsan_init != nullptr) why = "a sanitizer handles the faults of this process";
    if (isthmus_accelerate_mark != nullptr) why = "isthmus accelerate copies in this process";
    if (const char* const name = unfollowed) why = name;
    const char* why_not = nullptr;
    if (why == nullptr) {
        const InDriver inside;
        why_not = why_not_protected();
    }
    const Locked state;
    if (why != nullptr) state->stop(why);
    if (why_not == nullptr) return;
    state->protect_none(why_not);
    state->kernels_signal = true;  // any memory of the host is theirs to write
}

// Before the driver locks them: it would find none of the pages that are protected.
void open_pages(const Range& range) {
    const Locked state;
    state->copies.forget_blocks(range);
}

void add_block(const Range& range, bool is_registered) {
    if (range.empty() || (is_registered && !is_ordinary(range))) return;
    const Locked state;
    state->copies.add_block(range, is_registered);
    state->accesses.forget(range);
}

}  // namespace isthmus::races
