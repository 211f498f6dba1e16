// Starts a thread, or says that there is no room for one.
#pragma once

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace isthmus {

// Nothing when the system refuses: containers limit the number of threads, and that must not end the process.
template <typename Work>
std::optional<std::jthread> start_thread(Work work) {
    try {
        return std::jthread(std::move(work));
    } catch (const std::system_error&) {
        return std::nullopt;
    }
}

}  // namespace isthmus
