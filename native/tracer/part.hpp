// This process's part of a trace: its file, and where in the program calls come from.
#pragma once

#include <memory>

#include "trace/writer.hpp"
#include "tracer/call_sites.hpp"
#include "tracer/options.hpp"

namespace isthmus::tracer {

class Part {
  public:
    // Fails where no file can be made in the folder.
    static Result<Part> create(const Options& options, std::uint64_t now_ns);

    trace::TraceFile& file() const { return *file_; }
    CallSites& sites() const { return *sites_; }

  private:
    Part(std::unique_ptr<trace::TraceFile> file, std::unique_ptr<CallSites> sites)
        : file_(std::move(file)), sites_(std::move(sites)) {}

    std::unique_ptr<trace::TraceFile> file_;
    std::unique_ptr<CallSites> sites_;
};

// The clock of a trace, which all processes of a machine share.
std::uint64_t monotonic_ns();

}  // namespace isthmus::tracer
