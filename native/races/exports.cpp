// The functions that programs get in place of the driver's: each is passed on as it is, and what it says is recorded.
#include "races/calls.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstring>
#include <span>

#include "driver/cuda_api.hpp"
#include "interpose/foreign_process.hpp"
#include "interpose/hooks/hooks.hpp"
#include "races/thread.hpp"

namespace isthmus::races {
namespace {

using cuda::ReturnCode;

// Where it is given by zero, or as the second of a pair.
constexpr std::uintptr_t last_default_stream = 2;

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
    follow_nothing(name);
    return answer;
}

// What the driver's library itself has by these symbols.
constinit std::array<std::array<std::atomic<void*>, 2>, static_cast<std::size_t>(Symbol::count)> of_library{};

ReturnCode looked_up(Plain driver, const Words& words) {
    const ReturnCode code = call(driver, words);
    auto* const answer = reinterpret_cast<void**>(words[1]);  // NOLINT(performance-no-int-to-ptr)
    if (code != cuda::success || answer == nullptr || *answer == nullptr || !is_enabled()) return code;
    const auto* const name = reinterpret_cast<const char*>(words[0]);  // NOLINT(performance-no-int-to-ptr)
    void* const given = *answer;
    const char* followed = nullptr;
    prepare();
    for (std::size_t i = 0; i < entries().size(); ++i) {
        const interpose::Hook& hook = entries()[i];
        if (std::strcmp(hook.name, name) != 0) continue;
        followed = hook.name;
        // Whatever versions of CUDA it is for.
        for (std::size_t variant = 0; variant < hook.symbols.size(); ++variant) {
            if (*answer != given || of_library[i][variant] != given) continue;
            *answer = interpose::instead_of(hook.symbols[variant], given);
        }
    }
    if (*answer == given) *answer = interpose::instead_of(name, static_cast<int>(words[2]), words[3], given);
    *answer = must_be_ours(followed, given, *answer);
    return code;
}

// Null where there is no driver.
Plain drivers_own(const Called& called) {
    interpose::Hook& hook = entries()[static_cast<std::size_t>(called.symbol)];
    return reinterpret_cast<Plain>(interpose::original(hook, called.per_thread));
}

ReturnCode passed(const Called& called, const Words& words) {
    Plain const driver = drivers_own(called);
    if (driver == nullptr) return cuda::error_not_initialized;
    if (called.effect == Effect::look_up) return looked_up(driver, words);
    if (!is_enabled()) return call(driver, words);
    const std::uintptr_t stream = stream_of(called, words);
    if (is_watching()) begin_thread();
    // A copy that another tool makes inside the driver is not the program's; a wait there counts, to be safe.
    if (is_copy(called.effect) && is_watching() && !InDriver::is_nested())
        return pass_copy(called, words, stream,
                         [](const Called& same, const Words& given) { return call(drivers_own(same), given); });
    if (called.effect == Effect::lock_host) open_pages({words[0], words[0] + words[1]});
    note_before(called, words, stream);
    const ReturnCode code = call(driver, words);
    note_after(called, words, stream, code);
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

void prepare() noexcept {
    static constinit std::atomic<bool> is_done = false;
    if (is_done.load(std::memory_order_acquire)) return;
    void* const library = interpose::driver_library();
    const auto find = interpose::next_dlsym();
    if (library == nullptr || find == nullptr) return;
    for (std::size_t i = 0; i < of_library.size(); ++i) {
        for (std::size_t variant = 0; variant < 2; ++variant)
            of_library[i][variant] = find(library, entries()[i].symbols[variant]);
    }
    find_own(library, find);
    interpose::guarded([] { places().prepare(); });
    is_done.store(true, std::memory_order_release);
}

// Programs that were linked with the driver look up nothing.
__attribute__((constructor)) static void prepare_linked() {
    if (!is_enabled() || !interpose::has_driver()) return;
    for (interpose::Hook& hook : entries()) {
        for (const bool per_thread : {false, true}) (void)interpose::original(hook, per_thread);
    }
    prepare();
}

void* taken(const char* symbol, void* given) noexcept {
    void* const answer = interpose::instead_of(symbol, given);
    if (answer != given) prepare();
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
