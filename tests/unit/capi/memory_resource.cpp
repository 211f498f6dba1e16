// The resource of isthmus_memory_resource.hpp in the hands of CCCL and, with WITH_RMM, of RMM: on the device "host",
// with a stream that notes when it is waited for.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <isthmus_memory_resource.hpp>
#ifdef WITH_RMM
#include <rmm/resource_ref.hpp>
#endif

using Resource = isthmus::pinned_memory_resource;
using Device = cuda::mr::device_accessible;
using Host = cuda::mr::host_accessible;

namespace {

int waits = 0;
cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
cudaError_t wait_ends = cudaSuccess;
int failures = 0;

void check(bool holds, const char* what) {
    if (!holds) std::printf("%s\n", what);
    failures += !holds;
}

}  // namespace

// In place of cudart's.
extern "C" cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = capture;
    return cudaSuccess;
}
extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t) {
    ++waits;
    return wait_ends;
}

namespace {

cudaStream_t const stream = reinterpret_cast<cudaStream_t>(0x10);

#if CCCL_VERSION < 3001000
static_assert(cuda::mr::async_resource_with<Resource, Device, Host>);
using Reference = cuda::mr::async_resource_ref<Device, Host>;
void* got(Reference from, std::size_t bytes, std::size_t alignment) {
    return from.allocate_async(bytes, alignment, cuda::stream_ref(stream));
}
void gave(Reference to, void* memory, std::size_t bytes, std::size_t alignment) {
    to.deallocate_async(memory, bytes, alignment, cuda::stream_ref(stream));
}
#else
static_assert(cuda::mr::synchronous_resource_with<Resource, Device, Host>);
static_assert(cuda::mr::resource_with<Resource, Device, Host>);
using Reference = cuda::mr::resource_ref<Device, Host>;
void* got(Reference from, std::size_t bytes, std::size_t alignment) {
    return from.allocate(cuda::stream_ref(stream), bytes, alignment);
}
void gave(Reference to, void* memory, std::size_t bytes, std::size_t alignment) {
    to.deallocate(cuda::stream_ref(stream), memory, bytes, alignment);
}
#endif

#ifdef WITH_RMM
void test_references_of_rmm(Resource& resource) {
    rmm::host_device_async_resource_ref both = resource;
    rmm::device_async_resource_ref device = resource;
    rmm::host_resource_ref host = resource;
    check(both == rmm::host_device_async_resource_ref(resource), "equal");
    void* memory = device.allocate(cuda::stream_ref(stream), 1000, 256);
    check(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0, "RMM's own alignment");
    device.deallocate(cuda::stream_ref(stream), memory, 1000, 256);
    void* other = host.allocate_sync(100, 64);
    std::memset(other, 1, 100);
    host.deallocate_sync(other, 100, 64);
}
#endif

void test_sizes_and_alignments(Resource& resource) {
    for (std::size_t bytes : {1, 63, 64, 100, 255, 257, 1000, 5000, 100000, 1 << 20, (1 << 20) + 1, 5 << 20}) {
        for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
            void* memory = got(resource, bytes, alignment);
            void* next = got(resource, bytes, alignment);
            check(memory != next, "blocks of their own");
            check(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0, "aligned");
            check(reinterpret_cast<std::uintptr_t>(next) % alignment == 0, "the next one aligned");
            std::memset(memory, 1, bytes);
            std::memset(next, 2, bytes);
            check(static_cast<char*>(memory)[bytes - 1] == 1, "not written by its neighbour");
            gave(resource, memory, bytes, alignment);
            gave(resource, next, bytes, alignment);
        }
    }
}

void test_memory_is_given_out_again_once_the_stream_has_ended(Resource& resource) {
    void* memory = got(resource, 3 << 20, 256);
    const int before = waits;
    gave(resource, memory, 3 << 20, 256);
    check(waits == before + 1, "waited for the stream");
    check(got(resource, 3 << 20, 256) == memory, "given out again");
    wait_ends = cudaErrorStreamCaptureUnsupported;
    gave(resource, memory, 3 << 20, 256);
    wait_ends = cudaSuccess;
    check(got(resource, 3 << 20, 256) != memory, "kept, where the stream was not waited for");
    memory = got(resource, 3 << 20, 256);
    capture = cudaStreamCaptureStatusActive;
    const int before_capture = waits;
    gave(resource, memory, 3 << 20, 256);
    capture = cudaStreamCaptureStatusNone;
    check(waits == before_capture, "a stream that is captured is not waited for");
    check(got(resource, 3 << 20, 256) != memory, "kept, where a graph may use it");
}

template <typename Error, typename Call>
void throws(const Call& call, const char* words) {
    try {
        call();
        check(false, words);
    } catch (const Error& error) {
        check(std::string(error.what()).find(words) != std::string::npos, error.what());
    }
}

void test_what_it_refuses(Resource& resource) {
    throws<std::invalid_argument>([&] { return resource.allocate_sync(1, 3); }, "power of two");
    throws<std::invalid_argument>([&] { return resource.allocate_sync(1, 8192); }, "up to 4096");
    throws<std::bad_alloc>([&] { return resource.allocate_sync(SIZE_MAX - 5); }, "addresses");
    throws<isthmus::pinned_bad_alloc>([&] { return resource.allocate_sync(std::size_t{1} << 60); }, "bytes");
    throws<std::runtime_error>([] { return Resource("gpu"); }, "no device is called 'gpu'");
    check(resource.allocate_sync(0) == nullptr, "null for no bytes");
    resource.deallocate_sync(nullptr, 0);
}

void test_copies_are_equal_and_keep_what_they_gave() {
    Resource first("host");
    Resource copy = first;
    const Resource other("host");
    check(copy == first && !(copy != first) && other != first, "equality");
    void* memory = first.allocate_sync(5000);
    first = other;
    std::memset(memory, 1, 5000);
    copy.deallocate_sync(memory, 5000);
    copy.trim();
#if CCCL_VERSION >= 3002000
    cuda::mr::any_resource<Device, Host> any = copy;
    any.deallocate_sync(any.allocate_sync(100, 64), 100, 64);
#endif
}

}  // namespace

int main() {
    Resource resource("host");
    test_sizes_and_alignments(resource);
    test_memory_is_given_out_again_once_the_stream_has_ended(resource);
    test_what_it_refuses(resource);
    test_copies_are_equal_and_keep_what_they_gave();
#ifdef WITH_RMM
    test_references_of_rmm(resource);
#endif
    return failures == 0 ? 0 : 1;
}
