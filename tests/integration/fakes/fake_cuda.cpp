// A CUDA driver made of host memory, for what no real one does on demand: being old, failing, having little memory.
//
// Streams keep their order and wait as real ones do (fake_streams.hpp), and a call that gives one more than its queue
// takes waits; copies of pageable memory return when they have
// ended. FAKE_CUDA_INIT is the code that cuInit returns, FAKE_CUDA_MEMORY the bytes of all devices together,
// FAKE_CUDA_DEVICES their number (1), of which a program sees as many as CUDA_VISIBLE_DEVICES names, FAKE_CUDA_LOCKED
// how many may be page-locked; large blocks are shared memory (fake_host_pages.hpp). FAKE_CUDA_FAIL names a function
// that fails, "cuMemAlloc_v2" each time or "cuMemAlloc_v2@3" the third; a program with threads that changes it begins
// with an empty one and takes none away, since a variable that comes or goes moves those that other threads read. When
// the process ends, the file FAKE_CUDA_LIVE names how many allocations were not given back, of how many. With
// FAKE_CUDA_NULL_STREAMS every stream is the null stream, with FAKE_CUDA_SHORT copies lack their last byte, with
// FAKE_CUDA_CORRUPT_PEERS those between devices; FAKE_CUDA_SEGMENTS, FAKE_CUDA_ADJACENT and FAKE_CUDA_CONFIDENTIAL are
// told of in fake_memory.hpp. What would hang or harm a real one, a call in the child of a fork, or of a kernel with
// memory of another context, ends the process. When copies return, what is refused while a graph is captured, and which
// calls are not valid is as a real one was recorded
// (../drivers/facts), which a test compares. With FAKE_CUDA_STRICT calls and copies keep each other
// waiting (fake_strict.hpp). The tool that CUDA_INJECTION64_PATH names is loaded, and told of plain copies by the fake
// CUPTI (fake_tools.hpp). fake_record_calls and fake_recorded_calls tell a program which functions it called. A
// driver that is too old for a function is linked without it (conftest.py).
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "fake_calls.hpp"
#include "fake_captures.hpp"
#include "fake_contexts.hpp"
#include "fake_kernels.hpp"
#include "fake_memory.hpp"
#include "fake_sections.hpp"
#include "fake_streams.hpp"
#include "fake_strict.hpp"
#include "fake_tools.hpp"

namespace {

using fake::Address;
using fake::Kind;
using fake::refusal;
using fake::success;
using fake::world;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int no_device = 100;
constexpr int invalid_context = 201;
constexpr int invalid_handle = 400;
constexpr int not_ready = 600;
constexpr int misaligned_address = 716;

thread_local fake::Context* current = nullptr;

// Begins a function, or one that needs a context.
#define ENTER()                        \
    fake::enter_driver(__func__);      \
    const std::lock_guard lock(world); \
    if (const int code = refusal(__func__); code != success) return code
#define ENTER_CONTEXT()                             \
    ENTER();                                        \
    if (current == nullptr) return invalid_context; \
    if (!current->is_alive) return fake::context_is_destroyed
// Begins one that is not safe while graphs are recorded.
#define ENTER_UNCAPTURED() \
    ENTER_CONTEXT();       \
    if (fake::captures.forbid()) return fake::capture_unsupported

// Which contexts were given access to which others' memory. With `world` held.
std::set<std::pair<const void*, const void*>> peers;

// Kernels and what else takes plain addresses reach no memory of another context that they have no access to. The
// driver's own copies do.
void check_own(const char* function, Address address) {
    if (fake::memory.is_foreign(address, current) && !peers.contains({current, fake::memory.owner(address)})) {
        fake::violation(function, "with memory of another context than the current one");
    }
}

// With `world` held, but for when the call waits for room in the stream's queue. `make` gives the command when there is
// some: copies take their turns in the order in which the queue takes them.
template <typename Make>
int enqueue_made(void* handle, Make make) {
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    if (stream->context != current) return invalid_context;
    if (fake::is_legacy(handle) && fake::captures.forbid_legacy(current)) return fake::capture_implicit;
    if (fake::captures.is_broken(*stream)) return fake::capture_invalidated;
    if (stream->recorded != nullptr) return stream->recorded->push_back(make()), success;
    while (stream->queue.size() >= fake::most_queued) {
        world.unlock();
        std::this_thread::yield();
        world.lock();
        fake::streams.advance();
    }
    return fake::streams.enqueue(*stream, make()), success;
}
int enqueue(void* handle, fake::Command command) {
    return enqueue_made(handle, [&command] { return std::move(command); });
}
template <typename Work>
int enqueue_work(void* handle, Work work) {
    return enqueue(handle, [work = std::move(work)] { return work(), true; });
}
// A copy, in the queue of its direction.
template <typename Work>
int enqueue_copy(void* handle, const char* function, Work work) {
    const std::string_view name(function);
    const bool to_device = name == "cuMemcpyHtoDAsync_v2";
    const bool crosses = to_device || name == "cuMemcpyDtoHAsync_v2";
    return enqueue_made(handle, [&] {
        fake::Command made = fake::in_turn(to_device, [work = std::move(work)] { return work(), true; });
        return crosses ? fake::in_queue(current, std::move(made)) : made;
    });
}

#include "fake_copies.hpp"

int create_stream(void** stream, unsigned flags) {
    fake::start_device();
    const bool is_null = std::getenv("FAKE_CUDA_NULL_STREAMS") != nullptr;
    return *stream = is_null ? nullptr : fake::streams.create(current, (flags & 1) == 0)->handle, success;
}

int devices() {
    const char* text = std::getenv("FAKE_CUDA_DEVICES");
    const int all = text != nullptr ? std::atoi(text) : 1;
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible == nullptr) return all;
    const std::string_view names(visible);
    return std::min<int>(all, names.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(names, ',')));
}

int take(Address* address, std::size_t bytes, Kind kind, bool is_of_all = false) {
    void* block = fake::memory.take(bytes, kind, current, is_of_all);
    return *address = reinterpret_cast<Address>(block), block != nullptr ? success : out_of_memory;
}
int give(void* block, bool is_locked = false) {
    return fake::memory.is_locked(block) == is_locked && fake::memory.give(block, false) ? success : invalid_value;
}

// Of what is recorded, which no event tells.
int refusal_of_event(const void* event) {
    const fake::Stream* const stream = static_cast<const fake::Event*>(event)->captured_by;
    return stream != nullptr && fake::captures.forbid(*stream) ? fake::captured_event : success;
}

}  // namespace

extern "C" {

#include "fake_devices.hpp"

#include "fake_context_calls.hpp"

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    ENTER_CONTEXT();
    return *total = fake::limit("FAKE_CUDA_MEMORY"), *free = *total - fake::memory.used(), success;
}
int cuMemAlloc_v2(Address* address, std::size_t bytes) {
    ENTER_UNCAPTURED();
    return take(address, bytes, Kind::device);
}
int cuMemAllocManaged(Address* address, std::size_t bytes, unsigned) {
    ENTER_CONTEXT();
    return take(address, bytes, Kind::managed);
}
int cuMemFree_v2(Address address) {
    const fake::Alone alone(__func__);
    ENTER_CONTEXT();
    check_own(__func__, address);
    return give(reinterpret_cast<void*>(address));
}
int cuMemAllocPitch_v2(Address* address, std::size_t* pitch, std::size_t width, std::size_t rows, unsigned) {
    ENTER_CONTEXT();
    *pitch = (width + 511) / 512 * 512;
    return take(address, *pitch * rows, Kind::device);
}
struct ArrayDescriptor {
    std::size_t width, height;
    int format;
    unsigned channels;
};
int cuArrayCreate_v2(void** array, const ArrayDescriptor* descriptor) {
    ENTER_CONTEXT();
    return take(reinterpret_cast<Address*>(array), descriptor->width * descriptor->height * 4, Kind::array);
}
int cuArrayDestroy(void* array) {
    ENTER_CONTEXT();
    return give(array);
}
int cuMemPoolCreate(void** pool, const void*) {
    ENTER_CONTEXT();
    return *pool = current, success;
}
int cuMemPoolDestroy(void*) {
    fake::refuse_forked(__func__);
    return success;
}
int cuMemPoolSetAttribute(void*, int, void*) {
    ENTER_CONTEXT();
    return success;
}
int cuMemPoolTrimTo(void*, std::size_t) {
    ENTER_CONTEXT();
    return success;
}
int cuMemAllocFromPoolAsync(Address* address, std::size_t bytes, void*, void*) {
    ENTER_CONTEXT();
    return take(address, bytes, Kind::device, true);
}
int cuMemAllocAsync(Address* address, std::size_t bytes, void*) {
    return cuMemAllocFromPoolAsync(address, bytes, nullptr, nullptr);
}
int cuMemFreeAsync(Address address, void*) {
    ENTER_CONTEXT();
    return give(reinterpret_cast<void*>(address));
}
// How many bytes of the latest large block were there before the driver locked them.
std::size_t fake_found_bytes() {
    return fake::host_pages.found_bytes();
}
int cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
    ENTER_UNCAPTURED();
    return take(reinterpret_cast<Address*>(host), bytes, Kind::pinned);
}
int cuMemFreeHost(void* host) {
    const fake::Alone alone(__func__);
    ENTER_UNCAPTURED();
    return give(host, true);
}
int cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned flags) {
    ENTER_UNCAPTURED();
    constexpr unsigned portable = 1, read_only = 8;
    if (fake::memory.is_split(host, bytes) || !fake::memory.is_pageable(host)) return 712;  // ALREADY_REGISTERED
    if ((flags & read_only) == 0 && !fake::is_writable(host)) return invalid_value;
    return fake::memory.lock(host, bytes, current, (flags & portable) != 0) ? success : out_of_memory;
}
int cuMemHostRegister(void* host, std::size_t bytes, unsigned flags) {
    return cuMemHostRegister_v2(host, bytes, flags);
}
int cuMemHostUnregister(void* host) {
    ENTER_CONTEXT();
    return fake::memory.give(host, true) ? success : 713;  // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
}
int cuMemHostGetDevicePointer_v2(Address* address, void* host, unsigned) {
    ENTER_CONTEXT();
    if (fake::memory.is_pageable(host)) return invalid_value;
    return *address = reinterpret_cast<Address>(host), success;
}
// Needs no context: MPI libraries ask it whose memory they were given, and which context to enter.
int cuPointerGetAttributes(unsigned count, int* attributes, void** values, Address address) {
    ENTER();
    for (unsigned i = 0; i < count; ++i) {
        const auto [value, bytes] = fake::attribute_of(attributes[i], address);
        std::memcpy(values[i], &value, bytes);
    }
    return success;
}
int cuMemGetAddressRange_v2(Address* begin, std::size_t* bytes, Address address) {
    ENTER_CONTEXT();
    const auto* found = fake::memory.find(address);
    if (found == nullptr || found->second.kind == Kind::array) return 500;  // not found
    std::tie(*begin, *bytes) = fake::segment_of(*found, address);
    return success;
}
// Memory that was mapped has a handle; what was allocated in one piece has none.
int cuMemRetainAllocationHandle(unsigned long long* handle, void* address) {
    ENTER();
    const auto* found = fake::memory.find(reinterpret_cast<Address>(address));
    if (fake::segment_bytes() == 0 || found == nullptr || found->second.kind != Kind::device) {
        return invalid_value;
    }
    return *handle = found->first, success;
}
int cuMemRelease(unsigned long long) {
    ENTER();
    return success;
}
#include "fake_linear_copies.hpp"

int cuDeviceCanAccessPeer(int* can, int, int) {
    fake::refuse_forked(__func__);
    return *can = std::getenv("FAKE_CUDA_NO_PEERS") == nullptr ? 1 : 0, success;
}
// As after another library has done it.
int cuCtxEnablePeerAccess(void* other, unsigned) {
    ENTER_CONTEXT();
    if (other == current) return 101;
    if (std::getenv("FAKE_CUDA_NO_PEERS") != nullptr) return 217;
    peers.emplace(current, other);
    return 704;
}
int cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, void* stream) {
    ENTER_CONTEXT();
    check_own(__func__, to);
    return enqueue_work(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
// Returns before it is done, as on memory of a device.
int cuMemsetD8_v2(Address to, unsigned char value, std::size_t bytes) {
    return cuMemsetD8Async(to, value, bytes, nullptr);
}
int cuMemPrefetchAsync(Address, std::size_t, int, void*) {
    ENTER_CONTEXT();
    return success;
}
int cuMemAdvise(Address, std::size_t, int advice, int) {
    ENTER_CONTEXT();
    return advice >= 1 && advice <= 6 ? success : invalid_value;
}
int cuStreamCreate(void** stream, unsigned flags) {
    ENTER_CONTEXT();
    return create_stream(stream, flags);
}
int cuStreamCreateWithPriority(void** stream, unsigned flags, int) {
    ENTER_CONTEXT();
    return create_stream(stream, flags);
}
int cuStreamDestroy_v2(void* handle) {
    ENTER();
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    if (handle == nullptr) return success;
    if (stream->recorded != nullptr) {
        (void)fake::captures.end(*stream);
        delete std::exchange(stream->recorded, nullptr);
    }
    fake::streams.destroy(*stream);
    return success;
}
int cuStreamGetCtx(void* handle, void** context) {
    ENTER_CONTEXT();
    if (fake::is_legacy(handle) && fake::captures.forbid_legacy(current)) return fake::capture_implicit;
    const fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    return *context = stream->context, success;
}
int cuStreamGetFlags(void* handle, unsigned* flags) {
    ENTER_CONTEXT();
    const fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    return *flags = stream->is_blocking || stream->is_default ? 0 : 1, success;
}
int cuStreamGetId(void* handle, unsigned long long* id) {
    ENTER_CONTEXT();
    if (const int code = fake::refusal_of_asking(handle, current); code != success) return code;
    const fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    return *id = stream->id, success;
}
int cuStreamSynchronize(void* handle) {
    fake::Stream* stream = nullptr;
    {
        ENTER_CONTEXT();
        if (const int code = fake::refusal_of_asking(handle, current); code != success) return code;
        if (fake::captures.forbid()) return fake::capture_unsupported;
        stream = fake::streams.find(handle, current);
        if (stream == nullptr) return invalid_handle;
    }
    fake::wait_until([stream] { return fake::streams.is_idle(*stream); });
    return success;
}
int cuCtxSynchronize() {
    {
        ENTER_CONTEXT();
        if (fake::captures.forbid_all(current)) return fake::capture_unsupported;
    }
    fake::wait_until([context = current] { return fake::streams.is_idle(context); });
    return success;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    ENTER_CONTEXT();
    const auto& awaited = *static_cast<fake::Event*>(event);
    const fake::Stream* const waits = fake::streams.find(stream, current);
    if (waits != nullptr && waits->recorded != nullptr && awaited.captured_by != waits) {
        return fake::captures.forbid(*waits), fake::capture_isolation;
    }
    return enqueue(stream, [moment = awaited.moment] { return moment->passed; });
}
int cuStreamWaitValue32_v2(void* stream, Address address, std::uint32_t value, unsigned flags) {
    ENTER_CONTEXT();
    if (flags != 0) return invalid_value;
    return enqueue(stream, [word = reinterpret_cast<std::uint32_t*>(address), value] {
        return static_cast<std::int32_t>(std::atomic_ref(*word).load() - value) >= 0;
    });
}
int cuStreamWriteValue32_v2(void* stream, Address address, std::uint32_t value, unsigned) {
    ENTER_CONTEXT();
    return enqueue_work(
        stream, [word = reinterpret_cast<std::uint32_t*>(address), value] { std::atomic_ref(*word).store(value); });
}
int fake_timed_events = 0;
int cuEventCreate(void** event, unsigned flags) {
    ENTER_CONTEXT();
    if ((flags & 2) == 0) ++fake_timed_events;
    return *event = new fake::Event, success;
}
int cuEventDestroy_v2(void* event) {
    fake::enter_driver(__func__);
    const std::lock_guard lock(world);
    return delete static_cast<fake::Event*>(event), success;
}
int cuEventRecord(void* event, void* stream) {
    ENTER_CONTEXT();
    auto moment = std::make_shared<fake::Moment>();
    moment->passed = false;
    static_cast<fake::Event*>(event)->moment = moment;
    const fake::Stream* const records = fake::streams.find(stream, current);
    static_cast<fake::Event*>(event)->captured_by =
        records != nullptr && records->recorded != nullptr ? records : nullptr;
    return enqueue_work(stream, [moment] {
        moment->passed = true;
        moment->time = std::chrono::steady_clock::now();
    });
}
int cuEventQuery(void* event) {
    ENTER();
    if (const int code = refusal_of_event(event); code != success) return code;
    if (fake::captures.forbid()) return fake::capture_unsupported;
    fake::streams.advance();
    return static_cast<fake::Event*>(event)->moment->passed ? success : not_ready;
}
int cuEventSynchronize(void* event) {
    {
        ENTER();
        if (const int code = refusal_of_event(event); code != success) return code;
        if (fake::captures.forbid()) return fake::capture_unsupported;
    }
    fake::wait_until([moment = static_cast<fake::Event*>(event)->moment] { return moment->passed; });
    return success;
}
int cuEventElapsedTime(float* milliseconds, void* start, void* stop) {
    ENTER();
    const fake::Moment& first = *static_cast<fake::Event*>(start)->moment;
    const fake::Moment& last = *static_cast<fake::Event*>(stop)->moment;
    if (!first.passed || !last.passed) return not_ready;
    *milliseconds = std::chrono::duration<float, std::milli>(last.time - first.time).count();
    return success;
}
int cuModuleLoadData(void** module, const void*) {
    const fake::Alone alone(__func__);
    // As a real one does the first time.
    static const bool waits = std::getenv("FAKE_CUDA_LOADS_WAIT") != nullptr;
    if (waits) fake::wait_until([] { return fake::streams.is_idle(current); });
    ENTER_CONTEXT();
    return *module = current, success;
}
// What the latest launch was given.
unsigned fake_launched_blocks = 0, fake_launched_threads = 0;

int cuModuleUnload(void*) {
    fake::refuse_forked(__func__);
    return success;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
    ENTER_CONTEXT();
    // As a driver's, kernels go with their module, and this one is never unloaded.
    static auto& kernels = *new std::set<std::string>;
    return *function = const_cast<std::string*>(&*kernels.emplace(name).first), success;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                   void* stream, void** arguments, void**) {
    ENTER_CONTEXT();
    if (function == nullptr) return invalid_handle;
    fake_launched_blocks = blocks;
    fake_launched_threads = threads;
    const std::string& name = *static_cast<std::string*>(function);
    if (!fake::is_aligned(name, arguments)) return misaligned_address;
    for (const Address address : fake::addresses_of(name, arguments)) check_own(__func__, address);
    return enqueue(stream, fake::kernel_call(name, arguments));
}

#include "fake_graphs.hpp"
#include "fake_piece_copies.hpp"

// Made of the above.
#include "fake_other_copies.hpp"

}  // extern "C"
