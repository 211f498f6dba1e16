// The library's version and the names of its codes.
#include <isthmus.h>

#define TEXT(number)   #number
#define TEXT_OF(macro) TEXT(macro)

namespace {

constexpr const char* header_version = TEXT_OF(ISTHMUS_VERSION_MAJOR) "." TEXT_OF(ISTHMUS_VERSION_MINOR) ".";

constexpr bool begins_with(const char* text, const char* start) {
    while (*start != '\0' && *text == *start) ++text, ++start;
    return *start == '\0';
}
static_assert(begins_with(ISTHMUS_VERSION, header_version), "isthmus.h says another version than the package");

}  // namespace

const char* isthmus_version(void) noexcept {
    return ISTHMUS_VERSION;
}

const char* isthmus_code_name(isthmus_code code) noexcept {
    switch (code) {
        case ISTHMUS_OK: return "ISTHMUS_OK";
        case ISTHMUS_LIBRARY_ABSENT: return "ISTHMUS_LIBRARY_ABSENT";
        case ISTHMUS_FUNCTION_ABSENT: return "ISTHMUS_FUNCTION_ABSENT";
        case ISTHMUS_DEVICE_ABSENT: return "ISTHMUS_DEVICE_ABSENT";
        case ISTHMUS_CALL_FAILED: return "ISTHMUS_CALL_FAILED";
        case ISTHMUS_TIMED_OUT: return "ISTHMUS_TIMED_OUT";
        case ISTHMUS_OUT_OF_MEMORY: return "ISTHMUS_OUT_OF_MEMORY";
        case ISTHMUS_UNSUPPORTED: return "ISTHMUS_UNSUPPORTED";
        case ISTHMUS_INVALID_ARGUMENT: return "ISTHMUS_INVALID_ARGUMENT";
    }
    return "an unknown code";
}
