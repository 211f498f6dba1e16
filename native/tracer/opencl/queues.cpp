// Queues that the program makes, with times of their commands, and lets go of.
#include <vector>

#include "tracer/opencl/call.hpp"

namespace isthmus::tracer {
namespace {

using opencl::Context;
using opencl::Device;
using opencl::Flags;
using opencl::Queue;
using opencl::ReturnCode;

// The program's properties, among which times of commands.
std::vector<std::uint64_t> with_times(const std::uint64_t* properties) {
    std::vector<std::uint64_t> found;
    bool said = false;
    for (; properties != nullptr && *properties != 0; properties += 2) {
        const bool flags = properties[0] == opencl::queue_properties;
        said = said || flags;
        found.insert(found.end(), {properties[0], properties[1] | (flags ? opencl::queue_profiling_enable : 0)});
    }
    if (!said) found.insert(found.end(), {opencl::queue_properties, opencl::queue_profiling_enable});
    found.push_back(0);
    return found;
}

// Makes a queue by `make`, given whether it is to keep times. Where the device cannot, it is as the program wants it.
template <typename Make>
Queue made_queue(const Make& make) {
    CommandRecorder* recorder = CommandRecorder::current();
    const Outermost outermost(recorder);
    if (outermost.thread() == nullptr) return make(false);
    Queue queue = make(true);
    if (queue == nullptr) queue = make(false);
    if (queue != nullptr) interpose::guarded([&] { recorder->add_queue(queue); });
    return queue;
}

}  // namespace

ISTHMUS_INTERPOSED Queue clCreateCommandQueue(Context context, Device device, Flags properties, ReturnCode* code) {
    return made_queue([&](bool times) {
        const Flags wanted = properties | (times ? opencl::queue_profiling_enable : 0);
        return passed_on_to_make(originals().clCreateCommandQueue, code, context, device, wanted);
    });
}

ISTHMUS_INTERPOSED Queue clCreateCommandQueueWithProperties(Context context, Device device,
                                                            const std::uint64_t* properties, ReturnCode* code) {
    return made_queue([&](bool times) {
        std::vector<std::uint64_t> wanted;
        if (times) interpose::guarded([&] { wanted = with_times(properties); });
        return passed_on_to_make(originals().clCreateCommandQueueWithProperties, code, context, device,
                                 wanted.empty() ? properties : wanted.data());
    });
}

ISTHMUS_INTERPOSED ReturnCode clReleaseCommandQueue(Queue queue) {
    CommandRecorder* recorder = CommandRecorder::current();
    const Outermost outermost(recorder);
    if (outermost.thread() != nullptr) {
        interpose::guarded([&] {
            recorder->queue(queue)->collect(recorder->file(), *outermost.thread()->writer, true);
            recorder->remove_queue(queue);
        });
    }
    return passed_on(originals().clReleaseCommandQueue, queue);
}

}  // namespace isthmus::tracer
