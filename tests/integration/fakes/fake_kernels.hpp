// The kernels of the fake CUDA driver: the device code itself, as functions of the host.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../host_kernels.hpp"
#include "fake_streams.hpp"
#include "kernels/table.hpp"

namespace fake {

// By one thread, with the arguments as they are now.
template <typename... Parameters, std::size_t... Indices>
Command with_arguments(void (*kernel)(Parameters...), void** arguments, std::index_sequence<Indices...>) {
    return [kernel, values = std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[Indices])...)] {
        return std::apply(kernel, values), true;
    };
}

// isthmus_spin, which waits for a word of the host, and gives up after a time.
inline Command spin(void** arguments) {
    const auto word = [arguments](int at) { return *static_cast<std::uint64_t*>(arguments[at]); };
    const auto limit = std::chrono::nanoseconds(word(2));
    return [flag = word(0) + word(1), limit, timed_out = word(3) + word(4),
            start = std::chrono::steady_clock::time_point()]() mutable {
        if (start == std::chrono::steady_clock::time_point()) start = std::chrono::steady_clock::now();
        if (std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flag)).load() != 0) return true;
        if (std::chrono::steady_clock::now() - start < limit) return false;
        std::atomic_ref(*reinterpret_cast<std::uint32_t*>(timed_out)).store(1);
        return true;
    };
}

// The regions that isthmus_copy_pieces was given.
inline std::vector<std::uint64_t> addresses_of(const std::string& name, void** arguments) {
    if (name != "isthmus_copy_pieces") return {};
    return {*static_cast<std::uint64_t*>(arguments[0]), *static_cast<std::uint64_t*>(arguments[4])};
}

// Whether isthmus_copy_pieces was given regions that begin where its units are aligned, as devices insist.
inline bool is_aligned(const std::string& name, void** arguments) {
    if (name != "isthmus_copy_pieces") return true;
    const auto word = [arguments](int at) { return *static_cast<std::uint64_t*>(arguments[at]); };
    const auto unit = *static_cast<std::uint32_t*>(arguments[11]);
    return (word(0) + word(1)) % unit == 0 && (word(4) + word(5)) % unit == 0;
}

inline Command kernel_call(const std::string& name, void** arguments) {
    if (name == "isthmus_spin") return spin(arguments);
    Command command;
    const auto known = [&]<typename... Parameters>(const char* known, void (*kernel)(Parameters...)) {
        if (name == known) command = with_arguments(kernel, arguments, std::index_sequence_for<Parameters...>());
    };
#define ISTHMUS_ROW(name, ...) known("isthmus_" #name, &device::isthmus_##name);
    ISTHMUS_KERNELS(ISTHMUS_ROW)
#undef ISTHMUS_ROW
    return command;
}

}  // namespace fake
