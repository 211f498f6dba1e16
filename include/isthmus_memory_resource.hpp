// Page-locked memory of isthmus.h as a memory resource of CCCL and RMM: what cuda::mr::pinned_host is, got faster.
//
// isthmus::pinned_memory_resource satisfies cuda::mr::resource_with<..., device_accessible, host_accessible> of
// CCCL 3.1 and later, as librmm has it from 25.12 on, and cuda::mr::async_resource_with of CCCL 2.8. C++17. A program
// links libisthmus.so and cudart.
#ifndef ISTHMUS_MEMORY_RESOURCE_HPP
#define ISTHMUS_MEMORY_RESOURCE_HPP

#include <cuda_runtime_api.h>
#include <isthmus.h>

#include <cuda/version>
#if CCCL_VERSION < 3002000 && !defined(LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE)
#error "isthmus_memory_resource.hpp: with a CCCL before 3.2 define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE"
#endif
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include <cuda/memory_resource>
#include <cuda/stream_ref>

namespace isthmus {

// No memory; what() says what was asked for and what is missing.
class pinned_bad_alloc : public std::bad_alloc {
  public:
    explicit pinned_bad_alloc(const char* message) : message_(std::make_shared<const std::string>(message)) {}
    const char* what() const noexcept override { return message_->c_str(); }

  private:
    std::shared_ptr<const std::string> message_;  // shared, since copying an exception may not throw
};

// Copies share a session and are equal. Memory stays until it is deallocated or the last copy has gone. What is
// deallocated is kept for later blocks until trim(). Any thread may call anything.
class pinned_memory_resource {
  public:
    // Throws std::runtime_error with what is wrong and what to do, where there is no such device or driver. With "host"
    // memory is ordinary, for tests on machines without a GPU.
    explicit pinned_memory_resource(const char* device = "cuda:0") {
        isthmus_status status;
        isthmus_session* session = nullptr;
        if (isthmus_open(device, nullptr, &session, &status) != ISTHMUS_OK) throw std::runtime_error(status.message);
        session_ =
            std::shared_ptr<isthmus_session>(session, [](isthmus_session* last) { isthmus_close(last, nullptr); });
    }

    // Null for no bytes. Throws pinned_bad_alloc, and std::invalid_argument for an alignment that is no power of two or
    // more than 4096.
    void* allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment) {
        if (alignment == 0 || alignment > most_alignment || (alignment & (alignment - 1)) != 0) {
            throw std::invalid_argument("an alignment of " + std::to_string(alignment) +
                                        " bytes; expected a power of two up to 4096");
        }
        if (bytes > SIZE_MAX - alignment) throw pinned_bad_alloc("more bytes than there are addresses");
        // A block is aligned to the powers of two, up to 4096, that divide its size.
        const std::size_t size = (bytes + alignment - 1) & ~(alignment - 1);
        isthmus_status status;
        void* memory = nullptr;
        if (isthmus_pinned_alloc(session_.get(), size, &memory, &status) != ISTHMUS_OK) {
            throw pinned_bad_alloc(status.message);
        }
        return memory;
    }

    // No copy or kernel may use the memory any more: the next block may be the same.
    void deallocate_sync(void* memory, std::size_t, std::size_t = default_alignment) noexcept {
        isthmus_pinned_free(session_.get(), memory, nullptr);
    }

    // At once, whatever the stream holds.
    void* allocate_async(std::size_t bytes, std::size_t alignment, ::cuda::stream_ref) {
        return allocate_sync(bytes, alignment);
    }

    // Waits for the stream. Where that fails, such as while a graph is captured, the memory is not given out again
    // before the resource has gone.
    void deallocate_async(void* memory, std::size_t bytes, std::size_t alignment, ::cuda::stream_ref stream) noexcept {
        // To wait for one that is captured would end the capture.
        cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
        if (memory == nullptr || cudaStreamIsCapturing(stream.get(), &capture) != cudaSuccess ||
            capture != cudaStreamCaptureStatusNone) {
            return;
        }
        if (cudaStreamSynchronize(stream.get()) == cudaSuccess) deallocate_sync(memory, bytes, alignment);
    }

#if CCCL_VERSION < 3001000
    void* allocate(std::size_t bytes, std::size_t alignment = default_alignment) {
        return allocate_sync(bytes, alignment);
    }
    void deallocate(void* memory, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
        deallocate_sync(memory, bytes, alignment);
    }
#else
    void* allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t alignment = default_alignment) {
        return allocate_async(bytes, alignment, stream);
    }
    void deallocate(::cuda::stream_ref stream, void* memory, std::size_t bytes,
                    std::size_t alignment = default_alignment) noexcept {
        deallocate_async(memory, bytes, alignment, stream);
    }
#endif
#if CCCL_VERSION >= 3002000
    using default_queries = ::cuda::mr::properties_list<::cuda::mr::device_accessible, ::cuda::mr::host_accessible>;
#endif

    // Gives back what was deallocated and kept.
    void trim() noexcept { isthmus_trim(session_.get(), nullptr); }

    bool operator==(const pinned_memory_resource& other) const noexcept { return session_ == other.session_; }
    bool operator!=(const pinned_memory_resource& other) const noexcept { return session_ != other.session_; }

    friend constexpr void get_property(const pinned_memory_resource&, ::cuda::mr::device_accessible) noexcept {}
    friend constexpr void get_property(const pinned_memory_resource&, ::cuda::mr::host_accessible) noexcept {}

  private:
    static constexpr std::size_t default_alignment = 256;  // cudaMalloc's
    static constexpr std::size_t most_alignment = 4096;

    std::shared_ptr<isthmus_session> session_;
};

}  // namespace isthmus

#endif
