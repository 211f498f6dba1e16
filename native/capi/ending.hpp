// How a call of the C interface ends: what the core says becomes a code and a filled status, and nothing is thrown.
#pragma once

#include <isthmus.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::capi {

// Fills `text` with what fits of `from` and a zero; never ends within a character of UTF-8.
void copy_text(std::span<char> text, std::string_view from) noexcept;

// Writes `out`, if there is one. What each call ends with.
isthmus_code end(isthmus_status* out, const char* operation, Code code, std::string_view message,
                 std::size_t bytes_completed = 0) noexcept;

inline isthmus_code end(isthmus_status* out, const char* operation, const Status& status) noexcept {
    if (status.ok() && out == nullptr) return ISTHMUS_OK;
    return end(out, operation, status.code(), status.message());
}

inline isthmus_code end(isthmus_status* out, const char* operation, const Outcome& outcome) noexcept {
    if (outcome.status.ok() && out == nullptr) return ISTHMUS_OK;
    return end(out, operation, outcome.status.code(), outcome.status.message(), outcome.bytes_completed);
}

// Makes a call that gives a Status or an Outcome. The core throws nothing of its own, but the standard library does
// where memory is short or the system denies a thread.
template <typename Call>
isthmus_code guarded(isthmus_status* out, const char* operation, Call&& call) noexcept {
    try {
        return end(out, operation, call());
    } catch (const std::bad_alloc&) {
        return end(out, operation, Code::out_of_memory, "no host memory was left for what the call itself needs");
    } catch (const std::exception& error) {
        return end(out, operation, Code::call_failed, error.what());
    } catch (...) {
        return end(out, operation, Code::call_failed, "an exception that no library of this one documents");
    }
}

// For arguments that must be there.
inline Status null_argument(const char* name) {
    return invalid(std::string(name) + " is null; it must be given");
}

// No memory is larger than half of all addresses: more is a negative number that was taken for a size.
inline Status check_bytes(std::size_t bytes, const std::string& name) {
    if (bytes <= PTRDIFF_MAX) return {};
    return invalid(name + " is " + std::to_string(bytes) + ", more than any memory holds; expected at most " +
                   std::to_string(PTRDIFF_MAX));
}

}  // namespace isthmus::capi
