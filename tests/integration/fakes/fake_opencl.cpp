// An OpenCL whose one device is the host's memory: commands of a queue are done in order when somebody waits for them.
//
// FAKE_CLOCK_NS   how far its device's clock is ahead of the host's
// FAKE_UNIFIED    the device works on the host's memory
// FAKE_NO_TIMES   queues keep no times
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "driver/opencl_api.hpp"

namespace isthmus::opencl {

struct EventTag {
    std::atomic<int> references = 2;  // The program's and the queue's.
    std::atomic<bool> done = false;
    Queue queue = nullptr;
    std::function<void()> work;
    std::uint64_t queued_ns = 0, start_ns = 0, end_ns = 0;
};
struct QueueTag {
    Flags flags = 0;
    std::mutex mutex;
    std::vector<Event> waiting;
};
struct BufferTag {
    std::vector<std::byte> memory;
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    std::atomic<std::uint32_t> references = 1;
};
struct KernelTag {
    std::string name;
};

}  // namespace isthmus::opencl

using namespace isthmus::opencl;

namespace {

std::uint64_t device_ns() {
    static const char* ahead = std::getenv("FAKE_CLOCK_NS");
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec * 1'000'000'000 + time.tv_nsec) +
           (ahead != nullptr ? std::strtoull(ahead, nullptr, 10) : 0);
}

ReturnCode release(Event event) {
    if (--event->references == 0) delete event;
    return success;
}

void drain(Queue queue) {
    const std::lock_guard lock(queue->mutex);
    for (Event event : queue->waiting) {
        event->start_ns = device_ns();
        event->work();
        event->end_ns = device_ns();
        event->done = true;
        release(event);
    }
    queue->waiting.clear();
}

ReturnCode put(Queue queue, Bool blocking, Event* wanted, std::function<void()> work) {
    auto* event = new EventTag;
    event->queue = queue;
    event->work = std::move(work);
    event->queued_ns = device_ns();
    {
        const std::lock_guard lock(queue->mutex);
        queue->waiting.push_back(event);
    }
    if (blocking != 0) drain(queue);
    if (wanted != nullptr) {
        *wanted = event;
    } else {
        release(event);
    }
    return success;
}

template <typename Answer>
ReturnCode answer(std::size_t bytes, void* place, const Answer& value) {
    if (bytes < sizeof value) return -30;
    std::memcpy(place, &value, sizeof value);
    return success;
}

ReturnCode answer_text(std::size_t bytes, void* place, const std::string& text) {
    if (bytes <= text.size()) return -30;
    std::memcpy(place, text.c_str(), text.size() + 1);
    return success;
}

Buffer made(std::size_t bytes, ReturnCode* code) {
    auto* buffer = new BufferTag;
    buffer->memory.resize(bytes);
    buffer->begin = buffer->memory.data();
    buffer->bytes = bytes;
    if (code != nullptr) *code = success;
    return buffer;
}

std::size_t place(const std::size_t* origin, const std::size_t* region, std::size_t row, std::size_t slice,
                  std::size_t y, std::size_t z) {
    row = row != 0 ? row : region[0];
    slice = slice != 0 ? slice : row * region[1];
    return (origin[2] + z) * slice + (origin[1] + y) * row + origin[0];
}

}  // namespace

extern "C" {

ReturnCode clGetPlatformIDs(std::uint32_t, Platform* platforms, std::uint32_t* count) {
    static int one = 0;
    if (platforms != nullptr) *platforms = reinterpret_cast<Platform>(&one);
    if (count != nullptr) *count = 1;
    return success;
}

ReturnCode clGetDeviceIDs(Platform platform, Flags, std::uint32_t, Device* devices, std::uint32_t* count) {
    if (devices != nullptr) *devices = reinterpret_cast<Device>(platform);
    if (count != nullptr) *count = 1;
    return success;
}

ReturnCode clGetDeviceInfo(Device, std::uint32_t what, std::size_t bytes, void* place, std::size_t*) {
    if (what == device_name) return answer_text(bytes, place, "fake device");
    return answer(bytes, place, Bool{std::getenv("FAKE_UNIFIED") != nullptr ? 1U : 0U});
}

ReturnCode clGetDeviceAndHostTimer(Device, std::uint64_t* device, std::uint64_t* host) {
    *device = device_ns();
    *host = 1;
    return success;
}

Context clCreateContext(const Properties*, std::uint32_t, const Device* devices, ContextNotify, void*, ReturnCode*) {
    return reinterpret_cast<Context>(*devices);
}
ReturnCode clReleaseContext(Context) {
    return success;
}

Queue clCreateCommandQueue(Context, Device, Flags flags, ReturnCode* code) {
    const bool refused = std::getenv("FAKE_NO_TIMES") != nullptr && (flags & queue_profiling_enable) != 0;
    if (code != nullptr) *code = refused ? -35 : success;
    if (refused) return nullptr;
    auto* queue = new QueueTag;
    queue->flags = flags;
    return queue;
}

Queue clCreateCommandQueueWithProperties(Context context, Device device, const std::uint64_t* list, ReturnCode* code) {
    Flags flags = 0;
    for (; list != nullptr && *list != 0; list += 2) flags |= list[0] == queue_properties ? list[1] : 0;
    return clCreateCommandQueue(context, device, flags, code);
}

ReturnCode clReleaseCommandQueue(Queue queue) {
    drain(queue);
    delete queue;
    return success;
}

ReturnCode clGetCommandQueueInfo(Queue queue, std::uint32_t what, std::size_t bytes, void* place, std::size_t*) {
    Platform device = nullptr;
    clGetPlatformIDs(1, &device, nullptr);
    return what == queue_device ? answer(bytes, place, device) : answer(bytes, place, queue->flags);
}

Buffer clCreateBuffer(Context, Flags, std::size_t bytes, void*, ReturnCode* code) {
    return made(bytes, code);
}

Buffer clCreateImage(Context, Flags, const ImageFormat*, const ImageDescriptor* image, void*, ReturnCode* code) {
    return made(image->width * image->height * sizeof(float), code);
}

Buffer clCreateSubBuffer(Buffer whole, Flags, std::uint32_t, const void* description, ReturnCode* code) {
    const auto& region = *static_cast<const BufferRegion*>(description);
    Buffer part = made(0, code);
    part->begin = whole->begin + region.origin;
    part->bytes = region.bytes;
    return part;
}

ReturnCode clReleaseMemObject(Buffer buffer) {
    if (--buffer->references == 0) delete buffer;
    return success;
}

ReturnCode clGetMemObjectInfo(Buffer buffer, std::uint32_t what, std::size_t bytes, void* place, std::size_t*) {
    return what == mem_size ? answer(bytes, place, buffer->bytes) : answer(bytes, place, buffer->references.load());
}
ReturnCode clGetImageInfo(Buffer, std::uint32_t, std::size_t bytes, void* place, std::size_t*) {
    return answer(bytes, place, sizeof(float));
}

ReturnCode clGetEventInfo(Event event, std::uint32_t, std::size_t bytes, void* place, std::size_t*) {
    return answer(bytes, place, std::int32_t{event->done ? complete : 3});
}
ReturnCode clGetEventProfilingInfo(Event event, std::uint32_t what, std::size_t bytes, void* place, std::size_t*) {
    if (!event->done || (event->queue->flags & queue_profiling_enable) == 0) return -7;
    if (what == profiling_command_queued) return answer(bytes, place, event->queued_ns);
    return answer(bytes, place, what == profiling_command_start ? event->start_ns : event->end_ns);
}
ReturnCode clRetainEvent(Event event) {
    return ++event->references, success;
}
ReturnCode clReleaseEvent(Event event) {
    return release(event);
}
ReturnCode clFinish(Queue queue) {
    return drain(queue), success;
}
ReturnCode clWaitForEvents(std::uint32_t count, const Event* events) {
    for (std::uint32_t index = 0; index < count; ++index) drain(events[index]->queue);
    return success;
}

Kernel clCreateKernel(Program, const char* name, ReturnCode*) {
    return new KernelTag{name};
}
ReturnCode clReleaseKernel(Kernel kernel) {
    return delete kernel, success;
}
ReturnCode clGetKernelInfo(Kernel kernel, std::uint32_t, std::size_t bytes, void* place, std::size_t*) {
    return answer_text(bytes, place, kernel->name);
}
ReturnCode clEnqueueNDRangeKernel(Queue queue, Kernel, std::uint32_t, const std::size_t*, const std::size_t*,
                                  const std::size_t*, std::uint32_t, const Event*, Event* event) {
    return put(queue, 0, event, [] {});
}

ReturnCode clEnqueueWriteBuffer(Queue queue, Buffer buffer, Bool blocking, std::size_t offset, std::size_t bytes,
                                const void* host, std::uint32_t, const Event*, Event* event) {
    if (offset + bytes > buffer->bytes) return -30;
    return put(queue, blocking, event, [=] { std::memcpy(buffer->begin + offset, host, bytes); });
}
ReturnCode clEnqueueReadBuffer(Queue queue, Buffer buffer, Bool blocking, std::size_t offset, std::size_t bytes,
                               void* host, std::uint32_t, const Event*, Event* event) {
    return put(queue, blocking, event, [=] { std::memcpy(host, buffer->begin + offset, bytes); });
}
ReturnCode clEnqueueCopyBuffer(Queue queue, Buffer source, Buffer destination, std::size_t from, std::size_t to,
                               std::size_t bytes, std::uint32_t, const Event*, Event* event) {
    return put(queue, 0, event, [=] { std::memcpy(destination->begin + to, source->begin + from, bytes); });
}
ReturnCode clEnqueueFillBuffer(Queue queue, Buffer buffer, const void* pattern, std::size_t, std::size_t offset,
                               std::size_t bytes, std::uint32_t, const Event*, Event* event) {
    const int value = *static_cast<const unsigned char*>(pattern);
    return put(queue, 0, event, [=] { std::memset(buffer->begin + offset, value, bytes); });
}
ReturnCode clEnqueueWriteBufferRect(Queue queue, Buffer buffer, Bool blocking, const std::size_t* to,
                                    const std::size_t* from, const std::size_t* region, std::size_t row,
                                    std::size_t slice, std::size_t host_row, std::size_t host_slice, const void* host,
                                    std::uint32_t, const Event*, Event* event) {
    const auto work = [=] {
        for (std::size_t z = 0; z < region[2]; ++z) {
            for (std::size_t y = 0; y < region[1]; ++y) {
                std::memcpy(buffer->begin + place(to, region, row, slice, y, z),
                            static_cast<const std::byte*>(host) + place(from, region, host_row, host_slice, y, z),
                            region[0]);
            }
        }
    };
    return put(queue, blocking, event, work);
}
ReturnCode clEnqueueWriteImage(Queue queue, Buffer, Bool blocking, const std::size_t*, const std::size_t*, std::size_t,
                               std::size_t, const void*, std::uint32_t, const Event*, Event* event) {
    return put(queue, blocking, event, [] {});
}
void* clEnqueueMapBuffer(Queue queue, Buffer buffer, Bool blocking, Flags, std::size_t offset, std::size_t,
                         std::uint32_t, const Event*, Event* event, ReturnCode* code) {
    const ReturnCode found = put(queue, blocking, event, [] {});
    if (code != nullptr) *code = found;
    return buffer->begin + offset;
}
ReturnCode clEnqueueUnmapMemObject(Queue queue, Buffer, void*, std::uint32_t, const Event*, Event* event) {
    return put(queue, 0, event, [] {});
}

void* clSVMAlloc(Context, Flags, std::size_t bytes, std::uint32_t) {
    return std::calloc(bytes, 1);
}
void clSVMFree(Context, void* memory) {
    std::free(memory);
}
ReturnCode clEnqueueSVMMemcpy(Queue queue, Bool blocking, void* destination, const void* source, std::size_t bytes,
                              std::uint32_t, const Event*, Event* event) {
    return put(queue, blocking, event, [=] { std::memcpy(destination, source, bytes); });
}
ReturnCode clEnqueueSVMMap(Queue queue, Bool blocking, Flags, void*, std::size_t, std::uint32_t, const Event*,
                           Event* event) {
    return put(queue, blocking, event, [] {});
}
ReturnCode clEnqueueSVMUnmap(Queue queue, void*, std::uint32_t, const Event*, Event* event) {
    return put(queue, 0, event, [] {});
}
}
