// How a call of the C interface ends: what the core says becomes a code and a filled status.
#include "capi/ending.hpp"

#include <algorithm>

namespace isthmus::capi {
namespace {

static_assert(static_cast<int>(Code::ok) == ISTHMUS_OK);
static_assert(static_cast<int>(Code::library_absent) == ISTHMUS_LIBRARY_ABSENT);
static_assert(static_cast<int>(Code::function_absent) == ISTHMUS_FUNCTION_ABSENT);
static_assert(static_cast<int>(Code::device_absent) == ISTHMUS_DEVICE_ABSENT);
static_assert(static_cast<int>(Code::call_failed) == ISTHMUS_CALL_FAILED);
static_assert(static_cast<int>(Code::timed_out) == ISTHMUS_TIMED_OUT);
static_assert(static_cast<int>(Code::out_of_memory) == ISTHMUS_OUT_OF_MEMORY);
static_assert(static_cast<int>(Code::unsupported) == ISTHMUS_UNSUPPORTED);
static_assert(static_cast<int>(Code::invalid_argument) == ISTHMUS_INVALID_ARGUMENT);

// Whether a byte of UTF-8 goes on with the character that began before it.
bool continues(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

void copy_text(std::span<char> text, std::string_view from) noexcept {
    std::size_t length = std::min(from.size(), text.size() - 1);
    if (length < from.size()) {
        while (length > 0 && continues(from[length])) --length;
    }
    std::copy_n(from.data(), length, text.data());
    text[length] = '\0';
}

isthmus_code end(isthmus_status* out, const char* operation, Code code, std::string_view message,
                 std::size_t bytes_completed) noexcept {
    const auto number = static_cast<isthmus_code>(code);
    if (out != nullptr) {
        out->code = number;
        out->bytes_completed = bytes_completed;
        copy_text(out->operation, operation);
        copy_text(out->message, message);
    }
    return number;
}

}  // namespace isthmus::capi
