// The functions that programs get in place of the driver's.
//
// Each passes on what is small by one comparison; the others are looked at. Where they return to tells places in the
// program apart.
#include "accelerator/exports.hpp"

#include <numeric>

#include "accelerator/accelerator.hpp"
#include "accelerator/captures.hpp"
#include "accelerator/cuda_request.hpp"
#include "accelerator/functions.hpp"
#include "accelerator/staging.hpp"
#include "interpose/deferred_signals.hpp"
#include "interpose/foreign_process.hpp"

namespace isthmus::accelerator {
namespace {

constexpr std::uintptr_t legacy_stream = 0, last_legacy_handle = 1, stream_of_thread = 2;

template <bool per_thread>
std::uintptr_t handle_of(Stream stream) {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    return per_thread && handle == 0 ? stream_of_thread : handle;
}
template <bool per_thread>
constexpr std::uintptr_t default_stream() {
    return per_thread ? stream_of_thread : legacy_stream;
}

std::uintptr_t address(const void* host) {
    return reinterpret_cast<std::uintptr_t>(host);
}
std::uintptr_t address(DevicePointer device) {
    return device;
}
template <typename Pointer>
Pointer* advance(Pointer* pointer, std::size_t bytes) {
    return reinterpret_cast<Pointer*>(reinterpret_cast<std::uintptr_t>(pointer) + bytes);  // NOLINT
}
DevicePointer advance(DevicePointer pointer, std::size_t bytes) {
    return pointer + bytes;
}

// What a program asks for, but for rows and pieces.
Copy copy_of(std::optional<bool> to_device, std::uintptr_t destination, std::uintptr_t source, std::size_t bytes,
             std::uintptr_t stream, bool is_asynchronous, const void* site) {
    Copy copy;
    copy.to_device = to_device;
    copy.destination = destination;
    copy.source = source;
    copy.bytes = bytes;
    copy.stream = stream;
    copy.is_asynchronous = is_asynchronous;
    copy.site = site;
    return copy;
}

// What the driver did, counted if it was a copy of a size that is looked at. The program's memory is read again only
// after the driver has read it.
template <typename Bytes>
ReturnCode counted(ReturnCode code, const Bytes& bytes) {
    if (code != cuda::success || Inside::here() || may_be_cancelled_anywhere()) return code;
    if (const std::size_t copied = bytes(); copied >= least_bytes()) count_left(Reason::form, copied);
    return code;
}

// A call that the library never takes.
template <typename Bytes, typename... Parameters>
ReturnCode left(Function function, bool per_thread, const Bytes& bytes, Parameters... parameters) {
    const auto driver = original<ReturnCode (*)(Parameters...)>(function, per_thread);
    return driver == nullptr ? cuda::error_not_initialized : counted(driver(parameters...), bytes);
}
// Bytes where both sides are pointers, elements where one is a texture's array.
std::size_t size_of(const Copy3dOperation* operations, std::size_t count) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += operations[i].width * operations[i].height * operations[i].depth;
    return sum;
}
std::size_t size_of(const Copy3d* copy) {
    return copy->width_bytes * copy->height * copy->depth;
}

// Whether a copy is not looked at. None of these functions has anything to clean up, nor is noexcept, for the program's
// thread may end in the driver's.
bool is_drivers(std::size_t bytes) {
    return bytes < least_bytes() || Inside::here() || may_be_cancelled_anywhere();
}

// A copy in one piece. `streams` is the stream, or nothing where the function takes none.
template <typename To, typename From, typename... Streams>
ReturnCode copied(Function function, bool per_thread, std::optional<bool> to_device, const void* site,
                  std::uintptr_t stream, To to, From from, std::size_t bytes, Streams... streams) {
    const auto driver = original<ReturnCode (*)(To, From, std::size_t, Streams...)>(function, per_thread);
    if (driver == nullptr) return cuda::error_not_initialized;
    if (is_drivers(bytes) || !is_valid_piece(address(to), address(from), bytes))
        return driver(to, from, bytes, streams...);
    const Copy copy = copy_of(to_device, address(to), address(from), bytes, stream, sizeof...(streams) != 0, site);
    return accelerated(copy, [=](std::size_t begin, std::size_t length) {
        return driver(advance(to, begin), advance(from, begin), length, streams...);
    });
}

void say_rows(Copy& copy, const Copy2d* given) {
    copy.copy_2d = given;
}
void say_rows(Copy& copy, const Copy3d* given) {
    copy.copy_3d = given;
}

// One of rows.
template <typename Structure, typename... Streams>
ReturnCode copied_structure(Function function, bool per_thread, const void* site, std::uintptr_t stream,
                            const Structure* given, std::size_t bytes, Streams... streams) {
    const auto driver = original<ReturnCode (*)(const Structure*, Streams...)>(function, per_thread);
    if (driver == nullptr) return cuda::error_not_initialized;
    if (given == nullptr || is_drivers(bytes)) return driver(given, streams...);
    Copy copy = copy_of({}, 0, 0, bytes, stream, sizeof...(streams) != 0, site);
    say_rows(copy, given);
    return accelerated(copy, [=](std::size_t, std::size_t) { return driver(given, streams...); });
}

template <typename... Streams>
ReturnCode copied_rows(Function function, bool per_thread, const void* site, std::uintptr_t stream, const Copy2d* given,
                       Streams... streams) {
    const std::size_t bytes = given == nullptr ? 0 : given->width_bytes * given->height;
    return copied_structure(function, per_thread, site, stream, given, bytes, streams...);
}
template <typename... Streams>
ReturnCode copied_rows(Function function, bool per_thread, const void* site, std::uintptr_t stream, const Copy3d* given,
                       Streams... streams) {
    const std::size_t bytes = given == nullptr ? 0 : given->width_bytes * given->height * given->depth;
    return copied_structure(function, per_thread, site, stream, given, bytes, streams...);
}

// Many pieces. The driver knows no such copies on a null stream, of the thread as little, and says so.
ReturnCode copied_batch(const void* site, std::uintptr_t stream, const BatchCall& call, const Plain& plain) {
    if (stream <= 1 || Inside::here() || may_be_cancelled_anywhere()) return plain(0, 0);
    const std::optional<std::size_t> bytes = bytes_of(call);
    if (!bytes)
        return counted(plain(0, 0),
                       [&] { return std::accumulate(call.bytes, call.bytes + call.count, std::size_t{0}); });
    if (*bytes < least_bytes()) return plain(0, 0);
    // Addresses of either side are pointers to this process.
    static_assert(sizeof(DevicePointer) == sizeof(void*));
    const auto list = [&call](const DevicePointer* addresses) {
        return std::span(reinterpret_cast<const void* const*>(addresses), call.count);
    };
    const Batch batch{{list(call.to), {}}, {list(call.from), {}}, std::span(call.bytes, call.count)};
    Copy copy = copy_of({}, call.to[0], call.from[0], *bytes, stream, true, site);
    copy.batch = &batch;
    return accelerated(copy, plain);
}

// Page-locked memory that the program gets and gives back: what it copies there by itself is copied by several threads.
// Signals wait meanwhile: their handlers may ask for the same, and may leave by a jump.
template <typename Note>
void record_pinned(const Note& note) {
    interpose::with_signals_deferred([&note] { interpose::guarded([&note] { note(PinnedMemory::of_process()); }); });
}
template <typename... Parameters, typename Note>
ReturnCode forward_alloc(Function function, const Note& note, Parameters... parameters) {
    const auto driver = original<ReturnCode (*)(Parameters...)>(function, false);
    if (driver == nullptr) return cuda::error_not_initialized;
    const ReturnCode code = driver(parameters...);
    if (code != cuda::success || Inside::here()) return code;
    record_pinned(note);
    if (!may_be_cancelled_anywhere()) begin();
    return code;
}
// Memory that the CPU writes past its caches is of another kind.
bool has_host_pages(std::size_t bytes, unsigned flags) {
    return bytes >= least_placed_bytes && (flags & cuda::host_alloc_write_combined) == 0;
}
ReturnCode allocate_pinned(Function function, const void* site, void** memory, std::size_t bytes, auto... flags) {
    const bool places = has_host_pages(bytes, (0U | ... | flags)) && !Inside::here() && !may_be_cancelled_anywhere();
    const void* const frame = __builtin_frame_address(0);
    if (places) interpose::with_signals_deferred([=] { begin_host_pages(site, bytes, frame); });
    const ReturnCode code = forward_alloc(
        function, [=](PinnedMemory& pinned) { pinned.add(address(*memory), bytes); }, memory, bytes, flags...);
    if (places) interpose::with_signals_deferred([=] { end_host_pages(code == cuda::success); });
    return code;
}
ReturnCode forward_free(Function function, void* memory) {
    record_pinned([=](PinnedMemory& pinned) { pinned.remove(address(memory)); });
    const auto driver = original<ReturnCode (*)(void*)>(function, false);
    return driver == nullptr ? cuda::error_not_initialized : driver(memory);
}

// A call that may destroy contexts: what the library has there, and captures there, end with them.
ReturnCode end_context(Function function, isthmus::cuda::Context context) {
    const auto driver = original<ReturnCode (*)(isthmus::cuda::Context)>(function, false);
    if (driver == nullptr) return cuda::error_not_initialized;
    const ReturnCode code = driver(context);
    if (code != cuda::success || Inside::here()) return code;
    forget_lost_contexts();
    Captures::end_with_context(reinterpret_cast<std::uintptr_t>(context));
    return code;
}
ReturnCode forward_register(Function function, void* memory, std::size_t bytes, unsigned flags) {
    const bool of_one_context = (flags & cuda::host_register_portable) == 0;
    return forward_alloc(
        function, [=](PinnedMemory& pinned) { pinned.add(address(memory), bytes, of_one_context); }, memory, bytes,
        flags);
}

ReturnCode end_primary_context(Function function, int device) {
    const auto driver = original<ReturnCode (*)(int)>(function, false);
    if (driver == nullptr) return cuda::error_not_initialized;
    const std::uintptr_t before = Captures::any() ? primary_context(device) : 0;
    const ReturnCode code = driver(device);
    if (code != cuda::success || Inside::here()) return code;
    forget_lost_contexts();
    if (before != 0 && primary_context(device) == 0) Captures::end_with_context(before);
    return code;
}

// Recorded before the driver begins, so that no copy of another thread is taken in between.
template <bool per_thread, typename... More>
ReturnCode begin_capture(Function function, Stream stream, More... more) {
    const auto driver = original<ReturnCode (*)(Stream, More...)>(function, per_thread);
    if (driver == nullptr) return cuda::error_not_initialized;
    const std::uintptr_t handle = handle_of<per_thread>(stream);
    // The legacy stream cannot be captured, and asking about it could end another capture.
    Captures::begin(handle, handle <= last_legacy_handle ? 0 : context_of_stream(handle));
    const ReturnCode code = driver(stream, more...);
    if (code != cuda::success) Captures::end(handle);
    return code;
}
// A capture that was invalidated, or whose streams were not joined, has ended, too; other failures leave it under way.
template <bool per_thread>
ReturnCode end_capture(Stream stream, Graph* graph) {
    const auto driver = original<ReturnCode (*)(Stream, Graph*)>(Function::cuStreamEndCapture, per_thread);
    if (driver == nullptr) return cuda::error_not_initialized;
    const ReturnCode code = driver(stream, graph);
    const bool is_lost = code == cuda::error_stream_capture_invalidated || code == cuda::error_stream_capture_unjoined;
    if (code == cuda::success || is_lost) Captures::end(handle_of<per_thread>(stream));
    return code;
}
ReturnCode destroy_stream(Stream stream) {
    const auto driver = original<ReturnCode (*)(Stream)>(Function::cuStreamDestroy_v2, false);
    if (driver == nullptr) return cuda::error_not_initialized;
    const ReturnCode code = driver(stream);
    if (code == cuda::success && Captures::any()) Captures::end(handle_of<false>(stream));
    return code;
}

template <typename... More>
ReturnCode looked_up(Function function, bool per_thread, const char* name, void** answer, int version,
                     std::uint64_t flags, More... more) {
    using Driver = ReturnCode (*)(const char*, void**, int, std::uint64_t, More...);
    const auto driver = original<Driver>(function, per_thread);
    if (driver == nullptr) return cuda::error_not_initialized;
    const ReturnCode code = driver(name, answer, version, flags, more...);
    if (code == cuda::success && answer != nullptr) *answer = instead_of(name, version, flags, *answer);
    return code;
}

}  // namespace
}  // namespace isthmus::accelerator

#define ISTHMUS_SITE __builtin_return_address(0)
// Both of a pair: for the legacy default stream, and for the thread's own. `body` has `function` and `per_thread`.
#define ISTHMUS_PAIR(symbol, suffix, parameters, body)                   \
    ReturnCode symbol parameters {                                       \
        [[maybe_unused]] constexpr Function function = Function::symbol; \
        constexpr bool per_thread = false;                               \
        return body;                                                     \
    }                                                                    \
    ReturnCode symbol##suffix parameters {                               \
        [[maybe_unused]] constexpr Function function = Function::symbol; \
        constexpr bool per_thread = true;                                \
        return body;                                                     \
    }

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

// A tracer looks for it (native/tracer/cuda/recorder.cpp).
__attribute__((visibility("default"))) unsigned long isthmus_accelerate_mark() {
    return Inside::mark();
}

ISTHMUS_PAIR(cuMemcpy, _ptds, (DevicePointer to, DevicePointer from, std::size_t bytes),
             copied(function, per_thread, {}, ISTHMUS_SITE, default_stream<per_thread>(), to, from, bytes))
ISTHMUS_PAIR(cuMemcpyAsync, _ptsz, (DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream),
             copied(function, per_thread, {}, ISTHMUS_SITE, handle_of<per_thread>(stream), to, from, bytes, stream))
ISTHMUS_PAIR(cuMemcpyHtoD_v2, _ptds, (DevicePointer to, const void* from, std::size_t bytes),
             copied(function, per_thread, true, ISTHMUS_SITE, default_stream<per_thread>(), to, from, bytes))
ISTHMUS_PAIR(cuMemcpyHtoDAsync_v2, _ptsz, (DevicePointer to, const void* from, std::size_t bytes, Stream stream),
             copied(function, per_thread, true, ISTHMUS_SITE, handle_of<per_thread>(stream), to, from, bytes, stream))
ISTHMUS_PAIR(cuMemcpyDtoH_v2, _ptds, (void* to, DevicePointer from, std::size_t bytes),
             copied(function, per_thread, false, ISTHMUS_SITE, default_stream<per_thread>(), to, from, bytes))
ISTHMUS_PAIR(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, DevicePointer from, std::size_t bytes, Stream stream),
             copied(function, per_thread, false, ISTHMUS_SITE, handle_of<per_thread>(stream), to, from, bytes, stream))
ISTHMUS_PAIR(cuMemcpy2D_v2, _ptds, (const Copy2d* copy),
             copied_rows(function, per_thread, ISTHMUS_SITE, default_stream<per_thread>(), copy))
ISTHMUS_PAIR(cuMemcpy2DUnaligned_v2, _ptds, (const Copy2d* copy),
             copied_rows(function, per_thread, ISTHMUS_SITE, default_stream<per_thread>(), copy))
ISTHMUS_PAIR(cuMemcpy2DAsync_v2, _ptsz, (const Copy2d* copy, Stream stream),
             copied_rows(function, per_thread, ISTHMUS_SITE, handle_of<per_thread>(stream), copy, stream))
ISTHMUS_PAIR(cuMemcpy3D_v2, _ptds, (const Copy3d* copy),
             copied_rows(function, per_thread, ISTHMUS_SITE, default_stream<per_thread>(), copy))
ISTHMUS_PAIR(cuMemcpy3DAsync_v2, _ptsz, (const Copy3d* copy, Stream stream),
             copied_rows(function, per_thread, ISTHMUS_SITE, handle_of<per_thread>(stream), copy, stream))
ISTHMUS_PAIR(cuMemcpyBatchAsync, _ptsz,
             (DevicePointer * to, DevicePointer* from, std::size_t* bytes, std::size_t count, CopyAttributes* given,
              std::size_t* places, std::size_t kinds, std::size_t* failed, Stream stream),
             copied_batch(ISTHMUS_SITE, reinterpret_cast<std::uintptr_t>(stream),
                          {to, from, bytes, count, given, places, kinds}, [=](std::size_t, std::size_t) -> ReturnCode {
                              const auto driver = original<decltype(&cuMemcpyBatchAsync)>(function, per_thread);
                              if (driver == nullptr) return isthmus::cuda::error_not_initialized;
                              return driver(to, from, bytes, count, given, places, kinds, failed, stream);
                          }))
ISTHMUS_PAIR(cuMemcpyBatchAsync_v2, _ptsz,
             (DevicePointer * to, DevicePointer* from, std::size_t* bytes, std::size_t count, CopyAttributes* given,
              std::size_t* places, std::size_t kinds, Stream stream),
             copied_batch(ISTHMUS_SITE, reinterpret_cast<std::uintptr_t>(stream),
                          {to, from, bytes, count, given, places, kinds}, [=](std::size_t, std::size_t) -> ReturnCode {
                              const auto driver = original<decltype(&cuMemcpyBatchAsync_v2)>(function, per_thread);
                              if (driver == nullptr) return isthmus::cuda::error_not_initialized;
                              return driver(to, from, bytes, count, given, places, kinds, stream);
                          }))
ISTHMUS_PAIR(cuMemcpyWithAttributesAsync, _ptsz,
             (DevicePointer to, DevicePointer from, std::size_t bytes, CopyAttributes* given, Stream stream),
             left(
                 function, per_thread, [=] { return bytes; }, to, from, bytes, given, stream))
ISTHMUS_PAIR(cuMemcpy3DWithAttributesAsync, _ptsz,
             (Copy3dOperation * operation, unsigned long long flags, Stream stream),
             left(
                 function, per_thread, [=] { return size_of(operation, 1); }, operation, flags, stream))
ISTHMUS_PAIR(cuMemcpy3DBatchAsync, _ptsz,
             (std::size_t count, Copy3dOperation* operations, std::size_t* failed, unsigned long long flags,
              Stream stream),
             left(
                 function, per_thread, [=] { return size_of(operations, count); }, count, operations, failed, flags,
                 stream))
ISTHMUS_PAIR(cuMemcpy3DBatchAsync_v2, _ptsz,
             (std::size_t count, Copy3dOperation* operations, unsigned long long flags, Stream stream),
             left(
                 function, per_thread, [=] { return size_of(operations, count); }, count, operations, flags, stream))
ISTHMUS_PAIR(cuMemcpy3DPeer, _ptds, (const Copy3d* copy),
             left(
                 function, per_thread, [=] { return size_of(copy); }, copy))
ISTHMUS_PAIR(cuMemcpy3DPeerAsync, _ptsz, (const Copy3d* copy, Stream stream),
             left(
                 function, per_thread, [=] { return size_of(copy); }, copy, stream))
ISTHMUS_PAIR(cuMemcpyHtoA_v2, _ptds, (Array to, std::size_t offset, const void* from, std::size_t bytes),
             left(
                 function, per_thread, [=] { return bytes; }, to, offset, from, bytes))
ISTHMUS_PAIR(cuMemcpyHtoAAsync_v2, _ptsz,
             (Array to, std::size_t offset, const void* from, std::size_t bytes, Stream stream),
             left(
                 function, per_thread, [=] { return bytes; }, to, offset, from, bytes, stream))
ISTHMUS_PAIR(cuMemcpyAtoH_v2, _ptds, (void* to, Array from, std::size_t offset, std::size_t bytes),
             left(
                 function, per_thread, [=] { return bytes; }, to, from, offset, bytes))
ISTHMUS_PAIR(cuMemcpyAtoHAsync_v2, _ptsz, (void* to, Array from, std::size_t offset, std::size_t bytes, Stream stream),
             left(
                 function, per_thread, [=] { return bytes; }, to, from, offset, bytes, stream))
ReturnCode cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
    return allocate_pinned(Function::cuMemHostAlloc, ISTHMUS_SITE, memory, bytes, flags);
}
ReturnCode cuMemAllocHost_v2(void** memory, std::size_t bytes) {
    return allocate_pinned(Function::cuMemAllocHost_v2, ISTHMUS_SITE, memory, bytes);
}
ReturnCode cuMemHostRegister(void* memory, std::size_t bytes, unsigned flags) {
    return forward_register(Function::cuMemHostRegister, memory, bytes, flags);
}
ReturnCode cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
    return forward_register(Function::cuMemHostRegister_v2, memory, bytes, flags);
}
ReturnCode cuMemFreeHost(void* memory) {
    return forward_free(Function::cuMemFreeHost, memory);
}
ReturnCode cuMemHostUnregister(void* memory) {
    return forward_free(Function::cuMemHostUnregister, memory);
}
ReturnCode cuDevicePrimaryCtxReset(int device) {
    return end_primary_context(Function::cuDevicePrimaryCtxReset, device);
}
ReturnCode cuDevicePrimaryCtxReset_v2(int device) {
    return end_primary_context(Function::cuDevicePrimaryCtxReset_v2, device);
}
ReturnCode cuDevicePrimaryCtxRelease(int device) {
    return end_primary_context(Function::cuDevicePrimaryCtxRelease, device);
}
ReturnCode cuDevicePrimaryCtxRelease_v2(int device) {
    return end_primary_context(Function::cuDevicePrimaryCtxRelease_v2, device);
}
ReturnCode cuCtxDestroy_v2(isthmus::cuda::Context context) {
    return end_context(Function::cuCtxDestroy_v2, context);
}
ReturnCode cuStreamDestroy_v2(Stream stream) {
    return destroy_stream(stream);
}
ISTHMUS_PAIR(cuStreamBeginCapture, _ptsz, (Stream stream), begin_capture<per_thread>(function, stream))
ISTHMUS_PAIR(cuStreamBeginCapture_v2, _ptsz, (Stream stream, int mode),
             begin_capture<per_thread>(function, stream, mode))
ISTHMUS_PAIR(cuStreamBeginCaptureToGraph, _ptsz,
             (Stream stream, Graph graph, const void* nodes, const void* edges, std::size_t count, int mode),
             begin_capture<per_thread>(function, stream, graph, nodes, edges, count, mode))
ISTHMUS_PAIR(cuStreamEndCapture, _ptsz, (Stream stream, Graph* graph), end_capture<per_thread>(stream, graph))
ISTHMUS_PAIR(cuGetProcAddress, _ptsz, (const char* name, void** answer, int version, std::uint64_t flags),
             looked_up(function, per_thread, name, answer, version, flags))
ISTHMUS_PAIR(cuGetProcAddress_v2, _ptsz,
             (const char* name, void** answer, int version, std::uint64_t flags, int* status),
             looked_up(function, per_thread, name, answer, version, flags, status))
}
// NOLINTEND(readability-identifier-naming)
