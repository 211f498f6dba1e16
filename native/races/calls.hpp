// A call of the driver's functions that are hooked, and what is recorded of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "driver/cuda_api.hpp"
#include "interpose/hooks/hooks.hpp"
#include "races/functions.hpp"
#include "races/state.hpp"

namespace isthmus::races {

inline constexpr std::size_t most_words = 12;
using Words = std::array<std::uintptr_t, most_words>;

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

// The driver's own functions that this library calls itself, which no program gets by ours.
enum class Own : std::size_t { pointer_attributes, address_range, device_count, device_attribute, count };
// Looks them up, and what else takes the loader's lock: while the program looks up its own, for a thread that copies
// may have been started by one that holds that lock and waits for it.
void prepare() noexcept;
void find_own(void* library, interpose::FindSymbol find) noexcept;
void* own(Own which) noexcept;
template <typename Function>
Function drivers(Own which) {
    return reinterpret_cast<Function>(own(which));
}

// A value of the program's memory: read without the lock, for it may be on a protected page.
template <typename Value>
Value read_at(std::uintptr_t address) {
    return *reinterpret_cast<const Value*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Begins to watch where that has not been tried yet.
void begin();
// The driver's functions were looked up before anything was followed, and are not ours.
void follow_nothing(const char* name);

// Before the driver locks them: it would find none of the pages that are protected.
void open_pages(const Range& range);
void add_block(const Range& range, bool is_registered);

// A copy or fill as it is passed on.
cuda::ReturnCode pass_copy(const Called& called, const Words& words, std::uintptr_t stream,
                           cuda::ReturnCode (*pass)(const Called&, const Words&));
bool is_copy(Effect effect);

// What has to be known before the driver is called. Where it is a wait, what it covers is released here where that is
// simplest: a moment too early.
void note_before(const Called& called, const Words& words, std::uintptr_t stream);
void note_after(const Called& called, const Words& words, std::uintptr_t stream, cuda::ReturnCode code);

}  // namespace isthmus::races
