// A CUDA driver made of host memory, for what no real one does on demand: being old, failing, having little memory.
//
// Streams keep their order and wait as real ones do (fake_streams.hpp), and a call that gives one more than its queue
// takes waits; copies of pageable memory return when they have
// ended. FAKE_CUDA_INIT is the code that cuInit returns, FAKE_CUDA_MEMORY the bytes of all devices together,
// FAKE_CUDA_DEVICES their number (1), of which a program sees as many as CUDA_VISIBLE_DEVICES names, FAKE_CUDA_LOCKED
// how many may be page-locked. FAKE_CUDA_FAIL names a function that fails, "cuMemAlloc_v2" each time or
// "cuMemAlloc_v2@3" the third; a program with threads that changes it begins with an empty one and takes none away,
// since a variable that comes or goes moves those that other threads read. When the process ends, the file
// FAKE_CUDA_LIVE names how many allocations were not given back, of how many. With FAKE_CUDA_NULL_STREAMS every stream
// is the null stream, with FAKE_CUDA_SHORT copies lack their last byte, with FAKE_CUDA_CORRUPT_PEERS those between
// devices; FAKE_CUDA_SEGMENTS and FAKE_CUDA_CONFIDENTIAL are told of in fake_memory.hpp. What would hang or harm a real
// one, a call in the child of a fork, on the default stream while a stream that waits for it records a graph, or of a
// kernel with memory of another context, ends the process. With FAKE_CUDA_STRICT calls and copies keep each other
// waiting (fake_strict.hpp). fake_record_calls and fake_recorded_calls tell a program which functions it called. A
// driver that is too old for a function is linked without it (conftest.py).
#include <dlfcn.h>

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

// A real driver breaks what is being recorded.
void check_legacy(const char* function, void* handle) {
    if (reinterpret_cast<std::uintptr_t>(handle) > 1 || current->legacy_forbidden == 0) return;
    fake::violation(function, "for the default stream while a stream that waits for it records a graph");
}
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
    check_legacy("a function that enqueues", handle);
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

// Up to so much of pageable memory is taken at once, so that the program may change it when the call returns.
constexpr std::size_t taken_bytes = 65536;

// Copies between devices whose last byte is lost on the way: those to the device FAKE_CUDA_CORRUPT_PEERS, or all.
bool is_corrupted(std::string_view function, void* to) {
    const char* text = std::getenv("FAKE_CUDA_CORRUPT_PEERS");
    if (text == nullptr || function != "cuMemcpyPeerAsync") return false;
    const auto* owner = static_cast<const fake::Context*>(fake::memory.owner(reinterpret_cast<Address>(to)));
    return *text == '\0' || (owner != nullptr && owner->device == std::atoi(text));
}

int copy(const char* function, void* to, const void* from, std::size_t bytes, void* handle) {
    bool done = false;
    bool waits = false;
    fake::enter_driver(function);
    {
        const std::lock_guard lock(world);
        if (const int code = refusal(function); code != success) return code;
        if (current == nullptr) return invalid_context;
        if (!current->is_alive) return fake::context_is_destroyed;
        if (bytes != 0 && (to == nullptr || from == nullptr)) return invalid_value;
        if (bytes != 0 && std::getenv("FAKE_CUDA_SHORT") != nullptr) --bytes;
        if (bytes != 0 && is_corrupted(function, to)) --bytes;
        if (fake::is_captured(handle, current)) return enqueue_work(handle, [=] { std::memcpy(to, from, bytes); });
        if (fake::memory.is_split(from, bytes) || fake::memory.is_split(to, bytes)) return invalid_value;
        int code = success;
        const auto is_pageable = [](const void* one) { return fake::memory.is_pageable_in(current, one); };
        if (is_pageable(from) && bytes <= taken_bytes) {
            const auto* first = static_cast<const std::byte*>(from);
            code = enqueue_copy(handle, function, [to, taken = std::vector<std::byte>(first, first + bytes)] {
                if (!taken.empty()) std::memcpy(to, taken.data(), taken.size());
            });
        } else {
            waits = is_pageable(from) || is_pageable(to);
            code = enqueue_copy(handle, function, [=, &done] {
                std::memcpy(to, from, bytes);
                if (waits) done = true;
            });
        }
        if (code != success) return code;
    }
    if (waits) fake::wait_until([&] { return done; });
    return success;
}

// Whether a copy may name it as the device's memory.
bool is_nameable(Address address, std::size_t bytes) {
    const std::lock_guard lock(world);
    if (bytes == 0 || current == nullptr || !current->is_alive) return true;
    return !fake::memory.is_pageable(reinterpret_cast<void*>(address));
}

// Of the legacy stream, until all that it holds has ended. Unsafe while graphs are recorded, as waiting is.
int copy_and_wait(const char* function, void* to, const void* from, std::size_t bytes) {
    fake::Stream* stream = nullptr;
    fake::enter_driver(function);
    {
        const std::lock_guard lock(world);
        if (current == nullptr) return invalid_context;
        if (fake::captures.forbid()) return fake::capture_unsupported;
        stream = fake::streams.find(nullptr, current);
    }
    if (const int code = copy(function, to, from, bytes, nullptr); code != success) return code;
    fake::wait_until([stream] { return stream->queue.empty(); });
    return success;
}

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
int give(void* block) {
    return fake::memory.give(block, false) ? success : invalid_value;
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
int cuMemFreeAsync(Address address, void*) {
    ENTER_CONTEXT();
    return give(reinterpret_cast<void*>(address));
}
int cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
    ENTER_UNCAPTURED();
    return take(reinterpret_cast<Address*>(host), bytes, Kind::pinned);
}
int cuMemFreeHost(void* host) {
    const fake::Alone alone(__func__);
    ENTER_UNCAPTURED();
    return give(host);
}
int cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned flags) {
    ENTER_UNCAPTURED();
    constexpr unsigned portable = 1, read_only = 8;
    if (fake::memory.is_split(host, bytes) || !fake::memory.is_pageable(host)) return 712;  // ALREADY_REGISTERED
    if ((flags & read_only) == 0 && !fake::is_writable(host)) return invalid_value;
    return fake::memory.lock(host, bytes, current, (flags & portable) != 0) ? success : out_of_memory;
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
// By the legacy stream.
int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
    if (!is_nameable(to, bytes)) return invalid_value;
    return copy_and_wait(__func__, reinterpret_cast<void*>(to), from, bytes);
}
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
    if (!is_nameable(from, bytes)) return invalid_value;
    return copy_and_wait(__func__, to, reinterpret_cast<void*>(from), bytes);
}
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void* stream) {
    if (!is_nameable(to, bytes)) return invalid_value;
    return copy(__func__, reinterpret_cast<void*>(to), from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void* stream) {
    if (!is_nameable(from, bytes)) return invalid_value;
    return copy(__func__, to, reinterpret_cast<void*>(from), bytes, stream);
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void* stream) {
    return copy(__func__, reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, stream);
}
// Refuses what a real one needs no function for, and contexts that the memory is not of.
int cuMemcpyPeerAsync(Address to, void* to_context, Address from, void* from_context, std::size_t bytes, void* stream) {
    fake::refuse_forked(__func__);
    if (to_context == from_context) return invalid_value;
    {
        const std::lock_guard lock(world);
        if (fake::memory.owner(to) != to_context || fake::memory.owner(from) != from_context) return invalid_value;
    }
    return copy(__func__, reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, stream);
}
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
    if (handle != nullptr) fake::streams.destroy(*stream);
    return success;
}
int cuStreamGetCtx(void* handle, void** context) {
    ENTER_CONTEXT();
    const fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    return *context = stream->context, success;
}
int cuStreamGetId(void* handle, unsigned long long* id) {
    ENTER_CONTEXT();
    const fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    return *id = stream->id, success;
}
int cuStreamSynchronize(void* handle) {
    fake::Stream* stream = nullptr;
    {
        ENTER_UNCAPTURED();
        stream = fake::streams.find(handle, current);
        if (stream == nullptr) return invalid_handle;
        check_legacy(__func__, handle);
    }
    fake::wait_until([stream] { return stream->queue.empty(); });
    return success;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    ENTER_CONTEXT();
    return enqueue(stream, [moment = static_cast<fake::Event*>(event)->moment] { return moment->passed; });
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
    return enqueue_work(stream, [moment] {
        moment->passed = true;
        moment->time = std::chrono::steady_clock::now();
    });
}
int cuEventQuery(void* event) {
    ENTER();
    if (fake::captures.forbid()) return fake::capture_unsupported;
    fake::streams.advance();
    return static_cast<fake::Event*>(event)->moment->passed ? success : not_ready;
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
