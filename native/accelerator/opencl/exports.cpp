// The functions that programs get in place of OpenCL's.
#include "accelerator/accelerator.hpp"
#include "accelerator/functions.hpp"
#include "accelerator/opencl/functions.hpp"
#include "accelerator/opencl/holdings.hpp"
#include "accelerator/opencl/request.hpp"
#include "interpose/deferred_signals.hpp"
#include "interpose/foreign_process.hpp"

namespace isthmus::accelerator {
namespace {

// A call of the program's own, not of this library's.
bool is_programs() noexcept {
    return !Inside::here();
}

template <typename Note>
[[gnu::noinline]] void note_inside(const Note& note) noexcept {
    const Inside inside;
    interpose::guarded([&] { note(ClHoldings::of_process()); });
}
// Signals wait meanwhile. As in accelerator/exports.cpp, nothing is noexcept or has to be cleaned up in what calls the
// driver.
template <typename Note>
void noted(const Note& note) {
    if (is_programs()) interpose::with_signals_deferred([&note] { note_inside(note); });
}

// For functions that return what they made, with the code that they would set.
template <typename Made>
Made* absent(cl::ReturnCode* code) noexcept {
    if (code != nullptr) *code = opencl::invalid_operation;
    return nullptr;
}

cl::Context held(cl::Context context) {
    if (context != nullptr) noted([=](ClHoldings& holdings) { holdings.hold(context); });
    return context;
}

// Whether it is one to be looked at.
bool is_large(cl::Bool blocking, std::size_t bytes) {
    return blocking != 0 && bytes >= least_bytes() && is_programs() && !may_be_cancelled_anywhere();
}

ClCopy copy_of(cl::Queue queue, cl::Buffer buffer, std::size_t offset, std::size_t bytes, const void* host,
               std::uint32_t count, const cl::Event* list, cl::Event* event, const void* site) noexcept {
    ClCopy copy;
    copy.queue = queue;
    copy.buffer = buffer;
    copy.offset_bytes = offset;
    copy.bytes = bytes;
    copy.host = reinterpret_cast<std::uintptr_t>(host);
    copy.count = count;
    copy.list = list;
    copy.event = event;
    copy.site = site;
    return copy;
}

}  // namespace
}  // namespace isthmus::accelerator

using namespace isthmus::accelerator;
using isthmus::opencl::invalid_operation;
using isthmus::opencl::success;

#define ISTHMUS_ORIGINAL(function) original<decltype(&(function))>(ClFunction::function)

// NOLINTBEGIN(readability-identifier-naming): OpenCL's names.
extern "C" {

Context clCreateContext(const Properties* properties, std::uint32_t count, const Device* devices, ContextNotify notify,
                        void* data, ReturnCode* code) {
    const auto driver = ISTHMUS_ORIGINAL(clCreateContext);
    if (driver == nullptr) return absent<isthmus::opencl::ContextTag>(code);
    return held(driver(properties, count, devices, notify, data, code));
}

Context clCreateContextFromType(const Properties* properties, Flags type, ContextNotify notify, void* data,
                                ReturnCode* code) {
    const auto driver = ISTHMUS_ORIGINAL(clCreateContextFromType);
    if (driver == nullptr) return absent<isthmus::opencl::ContextTag>(code);
    return held(driver(properties, type, notify, data, code));
}

ReturnCode clRetainContext(Context context) {
    const auto driver = ISTHMUS_ORIGINAL(clRetainContext);
    if (driver == nullptr) return invalid_operation;
    const ReturnCode code = driver(context);
    if (code == success) held(context);
    return code;
}

// What the library has there goes first: with the program's last hold the context may end.
ReturnCode clReleaseContext(Context context) {
    const auto driver = ISTHMUS_ORIGINAL(clReleaseContext);
    if (driver == nullptr) return invalid_operation;
    noted([=](ClHoldings& holdings) { holdings.let_go(context); });
    return driver(context);
}

ReturnCode clEnqueueReadBuffer(Queue queue, Buffer buffer, Bool blocking, std::size_t offset, std::size_t bytes,
                               void* host, std::uint32_t count, const Event* list, Event* event) {
    const auto driver = ISTHMUS_ORIGINAL(clEnqueueReadBuffer);
    if (driver == nullptr) return invalid_operation;
    if (!is_large(blocking, bytes)) {
        return driver(queue, buffer, blocking, offset, bytes, host, count, list, event);
    }
    return accelerated(copy_of(queue, buffer, offset, bytes, host, count, list, event, __builtin_return_address(0)));
}

ReturnCode clEnqueueWriteBuffer(Queue queue, Buffer buffer, Bool blocking, std::size_t offset, std::size_t bytes,
                                const void* host, std::uint32_t count, const Event* list, Event* event) {
    const auto driver = ISTHMUS_ORIGINAL(clEnqueueWriteBuffer);
    if (driver == nullptr) return invalid_operation;
    if (!is_large(blocking, bytes)) {
        return driver(queue, buffer, blocking, offset, bytes, host, count, list, event);
    }
    ClCopy copy = copy_of(queue, buffer, offset, bytes, host, count, list, event, __builtin_return_address(0));
    copy.to_device = true;
    return accelerated(copy);
}

void* clEnqueueMapBuffer(Queue queue, Buffer buffer, Bool blocking, Flags flags, std::size_t offset, std::size_t bytes,
                         std::uint32_t count, const Event* list, Event* event, ReturnCode* code) {
    const auto driver = ISTHMUS_ORIGINAL(clEnqueueMapBuffer);
    if (driver == nullptr) return absent<void>(code);
    void* const mapped = driver(queue, buffer, blocking, flags, offset, bytes, count, list, event, code);
    if (mapped != nullptr) noted([=](ClHoldings& holdings) { holdings.add(mapped, bytes); });
    return mapped;
}

ReturnCode clEnqueueUnmapMemObject(Queue queue, Buffer buffer, void* mapped, std::uint32_t count, const Event* list,
                                   Event* event) {
    const auto driver = ISTHMUS_ORIGINAL(clEnqueueUnmapMemObject);
    if (driver == nullptr) return invalid_operation;
    const ReturnCode code = driver(queue, buffer, mapped, count, list, event);
    if (code == success) noted([=](ClHoldings& holdings) { holdings.remove(mapped); });
    return code;
}

void* clSVMAlloc(Context context, Flags flags, std::size_t bytes, std::uint32_t alignment) {
    const auto driver = ISTHMUS_ORIGINAL(clSVMAlloc);
    if (driver == nullptr) return nullptr;
    void* const memory = driver(context, flags, bytes, alignment);
    if (memory != nullptr) noted([=](ClHoldings& holdings) { holdings.add(memory, bytes); });
    return memory;
}

// Another thread may be given the same addresses as soon as they are free.
void clSVMFree(Context context, void* memory) {
    noted([=](ClHoldings& holdings) { holdings.remove(memory); });
    if (const auto driver = ISTHMUS_ORIGINAL(clSVMFree)) driver(context, memory);
}

ReturnCode clEnqueueSVMFree(Queue queue, std::uint32_t blocks, void** memory, SvmFreeNotify notify, void* data,
                            std::uint32_t count, const Event* list, Event* event) {
    const auto driver = ISTHMUS_ORIGINAL(clEnqueueSVMFree);
    if (driver == nullptr) return invalid_operation;
    if (memory != nullptr) {
        noted([=](ClHoldings& holdings) {
            for (std::uint32_t i = 0; i < blocks; ++i) holdings.remove(memory[i]);
        });
    }
    return driver(queue, blocks, memory, notify, data, count, list, event);
}
}
// NOLINTEND(readability-identifier-naming)

#undef ISTHMUS_ORIGINAL
