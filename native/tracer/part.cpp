// This process's part of a trace.
#include "tracer/part.hpp"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "interpose/undisturbed.hpp"

namespace isthmus::tracer {
namespace {

// The rank that whatever started this process gave it; -1 where none did.
std::int32_t rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}) {
        const char* text = std::getenv(name);
        std::int32_t number = -1;
        if (text != nullptr && std::from_chars(text, text + std::strlen(text), number).ec == std::errc()) return number;
    }
    return -1;
}

std::string process_name() {
    std::ifstream file("/proc/self/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

// Of several programs that one process becomes in turn, each has a file, and so has each library that traces it.
Result<std::unique_ptr<trace::TraceFile>> make_file(const Options& options, std::uint64_t now_ns) {
    const std::uint32_t flags =
        (options.contents ? trace::recorded_contents : 0) | (options.kernels ? 0 : trace::without_kernels);
    return interpose::make_named(options.folder, ".part", [&](const std::string& path) {
        return trace::TraceFile::create(path, process_name(), rank(), flags, now_ns);
    });
}

}  // namespace

Result<Part> Part::create(const Options& options, std::uint64_t now_ns) {
    const interpose::Undisturbed undisturbed;
    ISTHMUS_TRY_ASSIGN(file, make_file(options, now_ns));
    std::string version;
    std::optional<PythonFrames> python;
    if (options.python_lines) python = PythonFrames::find(version);
    if (options.python_lines && !python && !version.empty()) {
        file->note("No lines of Python: the frames of Python " + version.substr(0, version.find(' ')) +
                   " are not known to this version of isthmus.");
    }
    if (python || options.native_stacks) file->add_flags(trace::recorded_call_sites);
    auto sites = std::make_unique<CallSites>(*file, python, options.native_stacks);
    return Part(std::move(file), std::move(sites));
}

std::uint64_t monotonic_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace isthmus::tracer
