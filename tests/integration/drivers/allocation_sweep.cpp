// Makes each allocation of the library fail in turn, once or from there on, each in a process of its own.
//
// allocation_sweep DEVICE open|reopen|copies|others once|sticky [STRIDE]: opening the first session of the process, or
// one when there was one before, copies of bytes and batches, or all other calls. A line "POINT WORD: DETAIL" for every
// process that did not end well, then "points N bad M". A process ends well where every call that failed said that
// memory ran out, everything that succeeded is right, and the session goes on working once there is memory again, or
// was never opened.
#include <dlfcn.h>
#include <isthmus.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "sweep.hpp"

namespace {

using namespace sweep;

bool opening = false;  // what is swept: opening a session, or what it does then
bool has_opened = false, calls_others = false;

void* get(std::size_t bytes) {
    if (fails()) return nullptr;
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void* get_or_throw(std::size_t bytes) {
    void* const memory = get(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
    return get_or_throw(bytes);
}
void* operator new[](std::size_t bytes) {
    return get_or_throw(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
    return get(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
    return get(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*unused*/) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t /*unused*/) noexcept {
    std::free(memory);
}

namespace {

constexpr std::size_t small_bytes = 1000, large_bytes = std::size_t{5} << 20, pieces = 40, piece_bytes = 4096;

bool said(isthmus_code code, const isthmus_status& status) {
    if (code == ISTHMUS_OK || code == ISTHMUS_OUT_OF_MEMORY) return true;
    // Where a thread cannot be started, the limit on threads and memory look alike.
    if (code == ISTHMUS_UNSUPPORTED && std::strstr(status.message, "thread") != nullptr) return true;
    std::snprintf(sweep::message, sizeof sweep::message, "%s: %s: %s", isthmus_code_name(code), status.operation,
                  status.message);
    return false;
}

// What is copied, made once for all processes: a copy's bytes begin at its own place, so that no two copies are alike.
std::vector<char> pattern;

const char* source_of(unsigned copy) {
    return pattern.data() + copy * 64;
}

struct Memory {
    std::vector<char> arrived;
    void* device = nullptr;
};

// There and back, each waited for by its handle: the code, and whether what is said to have arrived has.
int trip(isthmus_session* session, Memory& memory, std::size_t bytes, unsigned copy, bool batch) {
    const char* const source = source_of(copy);
    std::memset(memory.arrived.data(), 0, bytes);
    std::vector<void*> to(pieces), back(pieces);
    std::vector<const void*> from(pieces), of_device(pieces);
    std::vector<std::size_t> sizes(pieces, piece_bytes);
    for (std::size_t i = 0; batch && i < pieces; ++i) {
        const std::size_t at = 2 * i * piece_bytes;
        to[i] = static_cast<char*>(memory.device) + at;
        of_device[i] = to[i];
        from[i] = source + at;
        back[i] = memory.arrived.data() + at;
    }
    isthmus_status status{};
    for (const bool there : {true, false}) {
        isthmus_transfer* transfer = nullptr;
        const isthmus_direction direction = there ? ISTHMUS_H2D : ISTHMUS_D2H;
        armed = !opening;
        isthmus_code code =
            batch ? isthmus_copy_batch_async(session, pieces, there ? to.data() : back.data(),
                                             there ? from.data() : of_device.data(), sizes.data(), direction, nullptr,
                                             &transfer, &status)
                  : isthmus_copy_async(session, there ? memory.device : memory.arrived.data(),
                                       there ? source : memory.device, bytes, direction, nullptr, &transfer, &status);
        if (code == ISTHMUS_OK) code = isthmus_finish(transfer, &status);
        armed = false;
        if (!said(code, status)) return wrong_code;
        if (code != ISTHMUS_OK) return well;
    }
    for (std::size_t i = 0; i < (batch ? pieces : 1); ++i) {
        const std::size_t at = 2 * i * piece_bytes;
        const std::size_t length = batch ? piece_bytes : bytes;
        if (std::memcmp(source + at, memory.arrived.data() + at, length) != 0) return wrong_data;
    }
    return well;
}

int both_ways(isthmus_session* session, Memory& memory, std::size_t bytes, unsigned copy) {
    const char* const source = source_of(copy);
    std::memset(memory.arrived.data(), 0, bytes);
    isthmus_status status{};
    armed = !opening;
    isthmus_code code = isthmus_copy(session, memory.device, source, bytes, ISTHMUS_H2D, nullptr, &status);
    if (code == ISTHMUS_OK) {
        code = isthmus_copy(session, memory.arrived.data(), memory.device, bytes, ISTHMUS_D2H, nullptr, &status);
    }
    armed = false;
    if (!said(code, status)) return wrong_code;
    if (code != ISTHMUS_OK) return well;
    return std::memcmp(source, memory.arrived.data(), bytes) == 0 ? well : wrong_data;
}

// Arrays with strides, rows, page-locked memory, and questions: each in turn, until one fails.
int other_calls(isthmus_session* session, Memory& memory) {
    constexpr std::size_t rows = 64, width = 1024, pitch = 2048;
    const char* const source = source_of(7);
    std::memset(memory.arrived.data(), 0, rows * pitch);
    const std::size_t shape[2] = {rows, width};
    const std::ptrdiff_t strides[2] = {pitch, 1};
    const auto array = [&](const void* address, isthmus_side side) {
        return isthmus_array{const_cast<void*>(address), 0, 1, 2, shape, strides, side};
    };
    const isthmus_array from = array(source, ISTHMUS_HOST);
    const isthmus_array there = array(memory.device, ISTHMUS_DEVICE);
    const isthmus_array back = array(memory.arrived.data(), ISTHMUS_HOST);
    std::vector<int> every(rows);
    for (std::size_t i = 0; i < rows; ++i) every[i] = static_cast<int>(i);
    const isthmus_rows list{every.data(), rows, sizeof(int), ISTHMUS_HOST};
    std::vector<void*> targets(rows);
    std::vector<const void*> sources(rows);
    const std::vector<std::size_t> sizes(rows, width);
    for (std::size_t i = 0; i < rows; ++i) {
        targets[i] = static_cast<char*>(memory.device) + i * pitch;
        sources[i] = source + i * pitch;
    }
    isthmus_status status{};
    isthmus_explanation explanation{};
    explanation.struct_bytes = sizeof explanation;
    isthmus_transfer* transfer = nullptr;
    void* pinned = nullptr;
    const auto steps = [&]() -> isthmus_code {
        isthmus_code code = isthmus_explain(session, &there, &from, &explanation, &status);
        if (code == ISTHMUS_OK) {
            code = isthmus_explain_batch(session, rows, targets.data(), sources.data(), sizes.data(), ISTHMUS_H2D,
                                         &explanation, &status);
        }
        if (code == ISTHMUS_OK) code = isthmus_copy_array(session, &there, &from, nullptr, &status);
        if (code == ISTHMUS_OK) code = isthmus_copy_rows(session, 1, &there, &list, &from, &list, nullptr, &status);
        if (code == ISTHMUS_OK) code = isthmus_copy_array_async(session, &there, &from, nullptr, &transfer, &status);
        if (code == ISTHMUS_OK) code = isthmus_finish(transfer, &status);
        if (code == ISTHMUS_OK) {
            code = isthmus_copy_rows_async(session, 1, &back, &list, &there, &list, nullptr, &transfer, &status);
            if (code == ISTHMUS_OK) code = isthmus_finish(transfer, &status);
        }
        for (const std::size_t bytes : {std::size_t{64}, std::size_t{3} << 20}) {
            if (code != ISTHMUS_OK) break;
            code = isthmus_pinned_alloc(session, bytes, &pinned, &status);
            if (code == ISTHMUS_OK) code = isthmus_pinned_free(session, pinned, &status);
        }
        return code == ISTHMUS_OK ? isthmus_trim(session, &status) : code;
    };
    armed = !opening;
    const isthmus_code code = steps();
    armed = false;
    if (!said(code, status)) return wrong_code;
    if (code != ISTHMUS_OK) return well;
    for (std::size_t i = 0; i < rows; ++i) {
        if (std::memcmp(source + i * pitch, memory.arrived.data() + i * pitch, width) != 0) return wrong_data;
    }
    return well;
}

int scenario(const char* device) {
    isthmus_session* session = nullptr;
    isthmus_status status{};
    Memory memory;
    memory.arrived.resize(large_bytes);
    // What is made once for the process is there.
    if (has_opened && (isthmus_open(device, nullptr, &session, &status) != ISTHMUS_OK ||
                       isthmus_close(session, &status) != ISTHMUS_OK)) {
        return unusable;
    }
    session = nullptr;
    armed = opening;
    isthmus_code code = isthmus_open(device, nullptr, &session, &status);
    armed = false;
    if (!said(code, status)) return wrong_code;
    if (code != ISTHMUS_OK) return well;
    if (opening && until > 0) return beyond;
    armed = !opening;
    code = isthmus_allocate(session, ISTHMUS_DEVICE, large_bytes, &memory.device, &status);
    armed = false;
    if (!said(code, status)) return wrong_code;
    if (code == ISTHMUS_OK && calls_others) {
        if (const int ending = other_calls(session, memory); ending != well) return ending;
    } else if (code == ISTHMUS_OK) {
        for (int ending : {trip(session, memory, small_bytes, 1, false), trip(session, memory, large_bytes, 2, false),
                           trip(session, memory, large_bytes, 3, true), both_ways(session, memory, small_bytes, 4),
                           both_ways(session, memory, large_bytes, 5)}) {
            if (ending != well) return ending;
        }
    }
    const bool reached = until.load() <= 0;
    // There is memory again: whatever failed, the session works or says why not.
    opening = true;
    if (memory.device == nullptr &&
        isthmus_allocate(session, ISTHMUS_DEVICE, large_bytes, &memory.device, &status) != 0) {
        return unusable;
    }
    if (both_ways(session, memory, large_bytes, 6) != well || trip(session, memory, large_bytes, 7, false) != well ||
        std::memcmp(source_of(7), memory.arrived.data(), large_bytes) != 0) {
        std::snprintf(sweep::message, sizeof sweep::message, "%s", status.message);
        return unusable;
    }
    code = isthmus_close(session, &status);
    if (!said(code, status)) return wrong_code;
    return reached ? well : beyond;
}

}  // namespace

int main(int count, char** words) {
    if (count < 4 || count > 5) return 2;
    const char* const device = words[1];
    has_opened = std::strcmp(words[2], "reopen") == 0;
    opening = has_opened || std::strcmp(words[2], "open") == 0;
    calls_others = std::strcmp(words[2], "others") == 0;
    sticky = std::strcmp(words[3], "sticky") == 0;
    const long stride = count == 5 ? std::max(std::atol(words[4]), 1L) : 1;
    // What the driver allocates when it is loaded is not what is looked at.
    if (std::strncmp(device, "cuda", 4) == 0 && dlopen("libcuda.so.1", RTLD_NOW) == nullptr) return 2;
    pattern.resize(large_bytes + 8 * 64);
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<char>((i * 2654435761U) >> 13);
    return over_all_points([device] { return scenario(device); }, stride);
}
