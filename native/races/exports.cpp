// The functions that programs get in place of the driver's: each is passed on as it is, and what it says is recorded.
#include "races/functions.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "driver/cuda_api.hpp"
#include "interpose/foreign_process.hpp"
#include "interpose/hooks/hooks.hpp"
#include "races/state.hpp"
#include "races/thread.hpp"

namespace isthmus::races {
namespace {

using cuda::ReturnCode;
constexpr std::size_t most_words = 12;
using Words = std::array<std::uintptr_t, most_words>;

// Words of the host that a copy brings may be what it waits for by looking at them.
constexpr std::size_t longest_flag_bytes = 64;
// Where it is given by zero, or as the second of a pair.
constexpr std::uintptr_t last_default_stream = 2;

enum class Symbol : std::size_t {
// NOLINTBEGIN(readability-identifier-naming): the driver's names.
#define ISTHMUS_NAME(symbol, suffix, name, since, before, effect, at) symbol,
    ISTHMUS_FOLLOWED(ISTHMUS_NAME)
#undef ISTHMUS_NAME
        count
    // NOLINTEND(readability-identifier-naming)
};

struct Called {
    Symbol symbol;
    const char* name;
    Effect effect;
    unsigned stream_at;
    bool per_thread;
};

// The driver's own function of this name, which no program gets by ours.
template <typename Function>
Function drivers(const char* name) {
    return reinterpret_cast<Function>(interpose::next_dlsym()(interpose::driver_library(), name));
}

// Whether an address is of memory that only a device has. What the driver cannot say is not.
bool is_of_device(cuda::DevicePointer address) {
    using Ask = ReturnCode (*)(unsigned, int*, void**, cuda::DevicePointer);
    static const auto ask = drivers<Ask>("cuPointerGetAttributes");
    if (ask == nullptr) return false;
    std::array attributes{cuda::pointer_attribute_memory_type, cuda::pointer_attribute_is_managed};
    unsigned kind = 0;
    unsigned is_managed = 0;  // a word, of which some drivers may write the first byte alone
    std::array<void*, 2> answers{&kind, &is_managed};
    const InDriver inside;
    const ReturnCode code = ask(attributes.size(), attributes.data(), answers.data(), address);
    return code == cuda::success && kind == cuda::memory_type_device && is_managed == 0;
}

// Why no page of pinned memory can be protected; null where it can.
const char* why_not_protected() {
    using Count = ReturnCode (*)(int*);
    using Ask = ReturnCode (*)(int*, int, cuda::Device);
    const auto count = drivers<Count>("cuDeviceGetCount");
    const auto ask = drivers<Ask>("cuDeviceGetAttribute");
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

void begin() {
    if (is_watching()) return;
    static constinit std::atomic<bool> has_begun = false;
    if (has_begun.exchange(true) || !begin_watching()) return;
    const char* why = nullptr;
    const auto find = interpose::system_dlsym();
    if (find(RTLD_DEFAULT, "__asan_init") != nullptr || find(RTLD_DEFAULT, "__tsan_init") != nullptr)
        why = "a sanitizer handles the faults of this process";
    if (find(RTLD_DEFAULT, "isthmus_accelerate_mark") != nullptr) why = "isthmus accelerate copies in this process";
    if (const char* const name = unfollowed) why = name;
    if (why == nullptr) {
        const InDriver inside;
        why = why_not_protected();
    }
    if (why == nullptr) return;
    const Locked state;
    state->stop(why);
}

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

// Before the driver locks them: it would find none of the pages that are protected.
void open_pages(const Range& range) {
    const Locked state;
    state->copies.forget_blocks(range);
}

void add_block(const Range& range, bool is_registered) {
    if (range.empty() || (is_registered && !is_ordinary(range))) return;
    const Locked state;
    state->copies.add_block(range, is_registered);
}

// A copy that is asked for, and what is known of it until the driver has it.
class Asked {
  public:
    Asked(const Words& words, Effect effect) {
        const Range to{words[0], words[0] + words[2]}, from{words[1], words[1] + words[2]};
        if (to.empty() || from.empty()) return;
        bool is_to_block = false, is_from_block = false;
        {
            const Locked state;
            is_to_block = effect != Effect::copy_to_device && state->copies.in_block(to);
            is_from_block = effect != Effect::copy_to_host && state->copies.in_block(from);
        }
        const std::uintptr_t stream = words[3];
        const bool is_one_way = is_to_block != is_from_block;
        const bool is_asynchronous =
            is_one_way ? is_of_device(is_to_block ? from.begin : to.begin)
                       : effect == Effect::copy_to_device ||
                             (!is_to_block && !is_from_block && is_of_device(to.begin) && is_of_device(from.begin));
        Frames frames;
        if (is_one_way && is_asynchronous) frames = look_here();
        const Locked state;
        const Line line = state->order.line_of(stream);
        // It may wait for its stream, as one to pageable memory does.
        if (!is_asynchronous) state->copies.finish(state->order.clock(line));
        if (!is_one_way || !is_asynchronous || state->captures != 0) return;
        Copy copy;
        copy.bytes = is_to_block ? to : from;
        copy.is_into_host = is_to_block;
        if (copy.is_into_host && words[2] <= longest_flag_bytes) {
            state->copies.finish(state->order.clock(line));
            return;
        }
        pages_ = Copies::pages_around(copy.bytes);
        if (state->under_way.meets(pages_)) return;
        copy.line = line;
        copy.stream = stream;
        copy.work = state->order.add_work(line);
        copy.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
        copy.site = state->site_of(frames);
        if (state->copies.begin(copy)) work_ = copy.work;
    }
    void end(ReturnCode code) const {
        if (work_ == 0) return;
        const Locked state;
        const bool is_kept =
            code == cuda::success && is_watching() && state->captures == 0 && !state->under_way.meets(pages_);
        state->copies.end(work_, is_kept);
        state->count_copy();
    }

  private:
    static Frames look_here() {
        Places* places = nullptr;
        {
            const Locked state;
            places = &state->places;
        }
        const char* why = nullptr;
        interpose::guarded([&] { why = places->look_around(); });
        if (why != nullptr) {
            const Locked state;
            state->stop(why);
        }
        return places->here();
    }
    std::uint64_t work_ = 0;
    Range pages_{};
};

// What has to be known before the driver is called. Where it is a wait, what it covers is released here where that is
// simplest: a moment too early.
void note_before(const Called& called, const Words& words, std::uintptr_t stream) {
    const Locked state;
    Copies& copies = state->copies;
    switch (called.effect) {
        case Effect::other_copy: copies.finish(state->order.clock(state->order.line_of(stream))); break;
        case Effect::blocking_copy: copies.finish(state->order.clock(default_line)); break;
        case Effect::free_host:
            copies.finish_all();
            copies.forget_blocks({words[0], words[0] + 1});
            break;
        case Effect::wait_for_all: copies.finish_all(); break;
        case Effect::end_context:
            copies.finish_all();
            copies.forget_blocks({0, UINTPTR_MAX});
            break;
        case Effect::destroy_stream: state->order.end(words[0]); break;
        case Effect::destroy_event: state->order.forget(words[0]); break;
        case Effect::record_event:
            if (state->captures != 0) state->order.lose(words[0]);
            state->order.begin_recording(words[0], state->order.line_of(stream));
            break;
        case Effect::record_on_all: state->order.lose(words[1]); break;
        case Effect::begin_capture: ++state->captures; break;
        case Effect::launch:
            state->has_launched = true;
            if (state->kernels_signal || copies.any_uncopied())
                state->let_go("a kernel may write what the host or a stream waits for");
            break;
        case Effect::launch_graph:
            state->order.launch_graph(state->order.line_of(stream));
            state->has_launched = true;
            if (state->kernels_signal || state->graphs_signal || copies.any_uncopied())
                state->let_go("a graph may say to the host how far it is");
            break;
        case Effect::signal:
            state->graphs_signal = state->graphs_signal || state->captures != 0;
            state->let_go("a host function or a value that a stream writes may say to the host how far it is");
            break;
        case Effect::signal_in_graph: state->graphs_signal = true; break;
        case Effect::share_memory:
            state->kernels_signal = true;
            if (state->has_launched) copies.finish_all();
            break;
        case Effect::wait_for_value:
            // A word of the device may be written by anything there.
            if (!copies.in_block({words[1], words[1] + 1})) return state->stop(called.name);
            state->kernels_signal = true;
            if (state->has_launched) copies.finish_all();
            break;
        case Effect::fill:
            if (state->kernels_signal || copies.in_block({words[0], words[0] + 1})) copies.finish_all();
            break;
        case Effect::cannot_be_followed: state->stop(called.name); break;
        default: break;
    }
}

void note_after(const Called& called, const Words& words, std::uintptr_t stream, ReturnCode code) {
    const bool is_done = code == cuda::success;
    const Locked state;
    switch (called.effect) {
        case Effect::wait_for_stream:
            if (is_done) state->copies.finish(state->order.clock(state->order.line_of(stream)));
            break;
        case Effect::wait_for_event:
            if (is_done) state->copies.finish(state->order.held_by(words[0]));
            break;
        case Effect::wait_for_events:
            if (!is_done) break;
            state->copies.finish(state->order.held_by(words[1]));
            state->copies.finish(state->order.held_by(words[2]));
            break;
        case Effect::record_event: state->order.end_recording(words[0], state->order.line_of(stream), is_done); break;
        case Effect::order_behind_event:
            state->order.wait(state->order.line_of(stream), state->order.held_by(words[1]));
            break;
        case Effect::order_all_behind_event: state->order.wait_on_all_lines(state->order.held_by(words[1])); break;
        case Effect::begin_capture:
            if (!is_done && state->captures > 0) --state->captures;
            break;
        case Effect::end_capture: {
            const bool is_lost =
                code == cuda::error_stream_capture_invalidated || code == cuda::error_stream_capture_unjoined;
            if ((is_done || is_lost) && state->captures > 0) --state->captures;
            break;
        }
        default: break;
    }
    // Nothing is unfinished any more, or it cannot be known.
    const bool is_failed = !is_done && code != cuda::error_not_ready;
    const bool is_wait = called.effect == Effect::wait_for_stream || called.effect == Effect::wait_for_event;
    if (is_failed && is_wait) state->copies.finish_all();
}

void note_made(const Called& called, const Words& words) {
    // What the program was given is in its memory: read without the lock.
    if (called.effect == Effect::create_stream) {
        const auto made = *reinterpret_cast<const std::uintptr_t*>(words[0]);  // NOLINT(performance-no-int-to-ptr)
        const Locked state;
        state->order.begin(made, (static_cast<unsigned>(words[1]) & cuda::stream_non_blocking) == 0);
        return;
    }
    if (called.effect == Effect::allocate_host) {
        const auto made = *reinterpret_cast<const std::uintptr_t*>(words[0]);  // NOLINT(performance-no-int-to-ptr)
        begin();
        // Kernels may be given such memory to write.
        const bool is_shared = called.symbol == Symbol::cuMemHostAlloc &&
                               (static_cast<unsigned>(words[2]) & cuda::host_alloc_device_map) != 0;
        interpose::guarded([&] { add_block({made, made + words[1]}, false); });
        if (!is_shared) return;
        const Locked state;
        state->kernels_signal = true;
    }
    if (called.effect == Effect::lock_host) {
        begin();
        interpose::guarded([&] { add_block({words[0], words[0] + words[1]}, true); });
        if ((static_cast<unsigned>(words[2]) & cuda::host_register_device_map) == 0) return;
        const Locked state;
        state->kernels_signal = true;
    }
}

std::uintptr_t stream_of(const Called& called, const Words& words) {
    const std::uintptr_t handle = words[called.stream_at];
    return handle <= last_default_stream ? 0 : handle;
}

using Plain = ReturnCode (*)(std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t,
                             std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t,
                             std::uintptr_t, std::uintptr_t);
ReturnCode call(Plain driver, const Words& w) {
    const InDriver inside;
    return driver(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
}

std::span<interpose::Hook> entries() noexcept;

// Without a function in its place what it says would be missed.
void* must_be_ours(const char* name, void* given, void* answer) {
    if (name == nullptr || given != answer || !is_enabled()) return answer;
    for (const interpose::Hook& hook : entries()) {
        for (const void* ours : hook.ours) {
            if (ours == answer) return answer;
        }
    }
    if (is_watching()) {
        const Locked state;
        state->stop(name);
    } else {
        unfollowed = name;
    }
    return answer;
}

ReturnCode looked_up(Plain driver, const Words& words) {
    const ReturnCode code = call(driver, words);
    auto* const answer = reinterpret_cast<void**>(words[1]);  // NOLINT(performance-no-int-to-ptr)
    if (code != cuda::success || answer == nullptr || *answer == nullptr || !is_enabled()) return code;
    const auto* const name = reinterpret_cast<const char*>(words[0]);  // NOLINT(performance-no-int-to-ptr)
    void* const given = *answer;
    void* const library = interpose::driver_library();
    const auto find = interpose::next_dlsym();
    const char* followed = nullptr;
    for (const interpose::Hook& hook : entries()) {
        if (std::strcmp(hook.name, name) != 0) continue;
        followed = hook.name;
        // Whatever versions of CUDA it is for.
        for (const char* symbol : hook.symbols) {
            if (*answer != given || find(library, symbol) != given) continue;
            *answer = interpose::instead_of(symbol, given);
        }
    }
    if (*answer == given) *answer = interpose::instead_of(name, static_cast<int>(words[2]), words[3], given);
    *answer = must_be_ours(followed, given, *answer);
    return code;
}

ReturnCode passed(const Called& called, const Words& words) {
    interpose::Hook& hook = entries()[static_cast<std::size_t>(called.symbol)];
    const auto driver = reinterpret_cast<Plain>(interpose::original(hook, called.per_thread));
    if (driver == nullptr) return cuda::error_not_initialized;
    if (called.effect == Effect::look_up) return looked_up(driver, words);
    if (!is_enabled()) return call(driver, words);
    const std::uintptr_t stream = stream_of(called, words);
    if (is_watching()) begin_thread();
    const bool is_copy = called.effect == Effect::copy_to_device || called.effect == Effect::copy_to_host ||
                         called.effect == Effect::copy_any;
    // A copy that another tool makes inside the driver is not the program's; a wait there counts, to be safe.
    if (is_copy && is_watching() && !InDriver::is_nested()) {
        Words given = words;
        given[3] = stream;
        const Asked asked(given, called.effect);
        const ReturnCode code = call(driver, words);
        asked.end(code);
        return code;
    }
    if (called.effect == Effect::lock_host) open_pages({words[0], words[0] + words[1]});
    note_before(called, words, stream);
    const ReturnCode code = call(driver, words);
    note_after(called, words, stream, code);
    if (code == cuda::success) note_made(called, words);
    return code;
}

}  // namespace
}  // namespace isthmus::races

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
#define ISTHMUS_WORDS                                                                                           \
    std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t d, std::uintptr_t e, std::uintptr_t f, \
        std::uintptr_t g, std::uintptr_t h, std::uintptr_t i, std::uintptr_t j, std::uintptr_t k, std::uintptr_t l
#define ISTHMUS_EXPORT(symbol, suffix, name, since, before, effect, at)                                            \
    __attribute__((visibility("default"))) isthmus::cuda::ReturnCode symbol(ISTHMUS_WORDS) {                       \
        return passed({Symbol::symbol, #symbol, Effect::effect, at, false}, {a, b, c, d, e, f, g, h, i, j, k, l}); \
    }                                                                                                              \
    ISTHMUS_EXPORT_SECOND(symbol##suffix, symbol, suffix, effect, at)
// Where there is no second one, its name would be the first one's.
#define ISTHMUS_EXPORT_SECOND(pair, symbol, suffix, effect, at) ISTHMUS_SECOND##suffix(pair, symbol, effect, at)
#define ISTHMUS_SECOND(pair, symbol, effect, at)
#define ISTHMUS_SECOND_ptds(pair, symbol, effect, at)                                                           \
    __attribute__((visibility("default"))) isthmus::cuda::ReturnCode pair(ISTHMUS_WORDS) {                      \
        return passed({Symbol::symbol, #pair, Effect::effect, at, true}, {a, b, c, d, e, f, g, h, i, j, k, l}); \
    }
#define ISTHMUS_SECOND_ptsz(pair, symbol, effect, at) ISTHMUS_SECOND_ptds(pair, symbol, effect, at)
extern "C" {
using namespace isthmus::races;
ISTHMUS_FOLLOWED(ISTHMUS_EXPORT)
}

namespace isthmus::races {
namespace {
std::span<interpose::Hook> entries() noexcept {
#define ISTHMUS_ENTRY(symbol, suffix, name, since, before, effect, at)            \
    interpose::Hook{#name,                                                        \
                    {#symbol, #symbol #suffix},                                   \
                    since,                                                        \
                    before,                                                       \
                    {interpose::any(&(symbol)), interpose::any(&symbol##suffix)}, \
                    {}},
    static std::array<interpose::Hook, static_cast<std::size_t>(Symbol::count)> all{ISTHMUS_FOLLOWED(ISTHMUS_ENTRY)};
#undef ISTHMUS_ENTRY
    return all;
}
}  // namespace

void* taken(const char* symbol, void* given) noexcept {
    void* const answer = interpose::instead_of(symbol, given);
    if (given == nullptr || answer != given || symbol == nullptr || std::strncmp(symbol, "cu", 2) != 0) return answer;
    // Another tool that comes before this library passes its calls on to ours.
    if (interpose::system_dlsym()(RTLD_DEFAULT, symbol) == given) return answer;
    const char* followed = nullptr;
    for (const interpose::Hook& hook : entries()) {
        for (const char* each : hook.symbols) followed = std::strcmp(each, symbol) == 0 ? each : followed;
    }
    return must_be_ours(followed, given, answer);
}
}  // namespace isthmus::races
// NOLINTEND(readability-identifier-naming)

namespace isthmus::interpose {

std::span<Hook> hooked() noexcept {
    return races::entries();
}
bool is_inside() noexcept {
    return !races::is_enabled();
}
void* instead(const char* symbol, void* answer) noexcept {
    return races::taken(symbol, answer);
}

}  // namespace isthmus::interpose
