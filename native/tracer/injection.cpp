// The entry that the driver calls in a program that is traced: CUDA_INJECTION64_PATH names this library.
//
// ISTHMUS_TRACE_FOLDER  where each process puts its part of the trace, and a message if it cannot
// ISTHMUS_TRACE_CUPTI   libraries to try for CUPTI, separated by colons
// ISTHMUS_TRACE_OPTIONS stacks, contents, no-python, separated by commas
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/recorder.hpp"

namespace isthmus::tracer {
namespace {

std::vector<std::string> split(const char* name, char separator) {
    std::vector<std::string> parts;
    const char* text = std::getenv(name);
    std::string_view rest = text != nullptr ? text : "";
    while (!rest.empty()) {
        const std::size_t end = rest.find(separator);
        if (end != 0) parts.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return parts;
}

Options read_options(const char* folder) {
    Options options{.folder = folder};
    for (const std::string& word : split("ISTHMUS_TRACE_OPTIONS", ',')) {
        if (word == "stacks") options.native_stacks = true;
        if (word == "contents") options.contents = true;
        if (word == "no-python") options.python_lines = false;
    }
    return options;
}

// For `isthmus trace` to show: the program's own streams are left alone.
void leave_message(const std::string& folder, const std::string& text) {
    const std::string path = folder + "/" + std::to_string(getpid()) + ".message";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;
    const std::string line = text + "\n";
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
    close(file);
}

Status start(const Options& options) {
    ISTHMUS_TRY_ASSIGN(api, cupti::Api::open(split("ISTHMUS_TRACE_CUPTI", ':')));
    return Recorder::start(std::move(api), options);
}

}  // namespace
}  // namespace isthmus::tracer

// Always succeeds: whatever is wrong with the recording, the program goes on.
// NOLINTNEXTLINE(readability-identifier-naming): the driver's name for it.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    using namespace isthmus::tracer;
    const char* folder = std::getenv("ISTHMUS_TRACE_FOLDER");
    if (folder == nullptr || Recorder::current() != nullptr) return 1;
    try {
        const Options options = read_options(folder);
        if (const isthmus::Status started = start(options); !started.ok()) {
            leave_message(options.folder, started.message());
            return 1;
        }
        pthread_atfork(nullptr, nullptr, [] { Recorder::forget(); });
        std::atexit([] {
            if (Recorder* current = Recorder::current()) current->finish();
        });
    } catch (...) {
        // Out of memory before the program has begun. It will say so itself.
    }
    return 1;
}
