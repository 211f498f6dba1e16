// The fake driver's calls: which of them fail, and which a program made.
#pragma once

#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "fake_contexts.hpp"
#include "fake_streams.hpp"

namespace fake {

constexpr int success = 0;
constexpr int unknown = 999;

// The calls since fake_record_calls, one a line; null while nobody asks.
inline std::string* recorded = nullptr;

// What this call is to return at once. With `world` held.
inline int refusal(std::string_view function) {
    if (recorded != nullptr) recorded->append(function).append("\n");
    const char* text = std::getenv("FAKE_CUDA_FAIL");
    if (text == nullptr) return success;
    const std::string_view asked(text);
    const auto at = asked.find('@');
    if (asked.substr(0, at) != function) return success;
    static std::map<std::string, unsigned> calls;
    const unsigned call = ++calls[std::string(asked)];
    if (at == std::string_view::npos) return unknown;
    unsigned wanted = 0;
    std::from_chars(asked.data() + at + 1, asked.data() + asked.size(), wanted);
    return call == wanted ? unknown : success;
}

}  // namespace fake

extern "C" {

void fake_record_calls() {
    const std::lock_guard lock(fake::world);
    delete std::exchange(fake::recorded, new std::string);
}
// Ends the recording; the text stays until the next one ends.
const char* fake_recorded_calls() {
    static std::string text;
    const std::lock_guard lock(fake::world);
    text = std::move(*fake::recorded);
    delete std::exchange(fake::recorded, nullptr);
    return text.c_str();
}

}  // extern "C"
