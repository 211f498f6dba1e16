// The entry that the driver calls in a program that is traced: CUDA_INJECTION64_PATH names this library.
//
// ISTHMUS_TRACE_CUPTI   libraries to try for CUPTI, separated by colons
#include "interpose/environment.hpp"
#include "interpose/foreign_process.hpp"
#include "tracer/cuda/recorder.hpp"

namespace isthmus::tracer {
namespace {

Status start(const Options& options) {
    ISTHMUS_TRY_ASSIGN(api, cupti::Api::open(interpose::words_of("ISTHMUS_TRACE_CUPTI", ':')));
    return Recorder::start(std::move(api), options);
}

}  // namespace
}  // namespace isthmus::tracer

// Always succeeds: whatever is wrong with the recording, the program goes on.
// NOLINTNEXTLINE(readability-identifier-naming): the driver's name for it.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    using namespace isthmus::tracer;
    isthmus::interpose::guarded([] {
        const std::optional<Options> options = Options::from_environment();
        if (!options || isthmus::interpose::Only<Recorder>::get() != nullptr) return;
        if (const isthmus::Status started = start(*options); started.ok()) {
            isthmus::interpose::Only<Recorder>::follow_process();
        } else {
            leave_message(options->folder, started.message());
        }
    });
    return 1;
}
