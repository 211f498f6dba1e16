// What the environment asks of the libraries that trace.
#include "tracer/options.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "interpose/environment.hpp"
#include "interpose/undisturbed.hpp"

namespace isthmus::tracer {
namespace {

constexpr std::string_view kernels_word = "kernels=";

}  // namespace

std::optional<Options> Options::from_environment() {
    if (interpose::is_switched_off("ISTHMUS_TRACE")) return std::nullopt;
    Options options{.folder = interpose::folder_in("ISTHMUS_TRACE_FOLDER")};
    if (options.folder.empty()) return std::nullopt;
    for (const std::string& word : interpose::words_of("ISTHMUS_TRACE_OPTIONS", ',')) {
        if (word == "stacks") options.native_stacks = true;
        if (word == "contents") options.contents = true;
        if (word == "all-times") options.all_times = true;
        if (word == "no-python") options.python_lines = false;
        if (word == "no-kernels") options.kernels = false;
        if (word.starts_with(kernels_word)) {
            options.kernels_share = std::strtod(word.c_str() + kernels_word.size(), nullptr) / 100;
        }
    }
    return options;
}

void leave_message(const std::string& folder, const std::string& text) {
    const interpose::Undisturbed undisturbed;
    const std::string path = folder + "/" + std::to_string(getpid()) + ".message";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;
    const std::string line = text + "\n";
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
    close(file);
}

}  // namespace isthmus::tracer
