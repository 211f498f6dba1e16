// What the programs of this folder share: checked calls, memory, counted copies, the clock, and what they print.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

inline void check(cudaError_t error, const char* call, const char* file, int line) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
    std::exit(1);
}
#define CHECK(call) check((call), #call, __FILE__, __LINE__)

// After the clock has stopped: ends the program where data is not what it should be.
inline void expect(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "wrong data: %s\n", what);
    std::exit(1);
}

// A count from the command line; the number of the program's own where there is none.
inline long argument(int argc, char** argv, int place, long otherwise) {
    if (argc <= place) return otherwise;
    char* end = nullptr;
    const long count = std::strtol(argv[place], &end, 10);
    if (*end != '\0' || end == argv[place] || count < 1 || count > 100'000'000) {
        std::fprintf(stderr, "%s: expected a count from 1 to 100000000, found %s\n", argv[0], argv[place]);
        std::exit(2);
    }
    return count;
}

template <class Value>
using Memory = std::unique_ptr<Value[], void (*)(Value*)>;

// Touched, so that the first copy finds the pages there.
template <class Value>
Memory<Value> pageable(std::size_t count) {
    void* memory = std::malloc(count * sizeof(Value));
    expect(memory != nullptr, "malloc returned nothing");
    std::memset(memory, 0, count * sizeof(Value));
    return {static_cast<Value*>(memory), [](Value* held) { std::free(held); }};
}

template <class Value>
Memory<Value> pinned(std::size_t count) {
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, count * sizeof(Value)));
    return {static_cast<Value*>(memory), [](Value* held) { cudaFreeHost(held); }};
}

template <class Value>
Memory<Value> on_device(std::size_t count) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, count * sizeof(Value)));
    CHECK(cudaMemset(memory, 0, count * sizeof(Value)));
    return {static_cast<Value*>(memory), [](Value* held) { cudaFree(held); }};
}

template <class Value>
Memory<Value> managed(std::size_t count) {
    void* memory = nullptr;
    CHECK(cudaMallocManaged(&memory, count * sizeof(Value)));
    return {static_cast<Value*>(memory), [](Value* held) { cudaFree(held); }};
}

struct Total {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> bytes{0};
};
inline Total to_device, to_host, within_device;

inline void counted(cudaMemcpyKind kind, std::size_t bytes) {
    Total& total = kind == cudaMemcpyHostToDevice   ? to_device
                   : kind == cudaMemcpyDeviceToHost ? to_host
                                                    : within_device;
    total.calls.fetch_add(1, std::memory_order_relaxed);
    total.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

inline void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    CHECK(cudaMemcpy(to, from, bytes, kind));
    counted(kind, bytes);
}

inline void copy_async(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = {}) {
    CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
    counted(kind, bytes);
}

inline void copy_2d_async(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                          std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream = {}) {
    CHECK(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind, stream));
    counted(kind, width * rows);
}

constexpr unsigned int THREADS = 256;

constexpr unsigned int blocks(std::size_t values) {
    return static_cast<unsigned int>((values + THREADS - 1) / THREADS);
}

// Begins when the device has nothing to do any more, and ends so.
class Clock {
  public:
    Clock() { CHECK(cudaDeviceSynchronize()), begin_ = std::chrono::steady_clock::now(); }

    double seconds() const {
        CHECK(cudaDeviceSynchronize());
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

  private:
    std::chrono::steady_clock::time_point begin_;
};

inline void print_total(const char* direction, const Total& total, const char* after) {
    std::printf("\"%s\": {\"calls\": %llu, \"bytes\": %llu}%s", direction,
                static_cast<unsigned long long>(total.calls.load()),
                static_cast<unsigned long long>(total.bytes.load()), after);
}

// The one line on stdout.
inline void report(const char* program, double seconds, std::uint64_t checksum) {
    std::printf("{\"program\": \"%s\", \"seconds\": %.9f, \"copies\": {", program, seconds);
    print_total("h2d", to_device, ", ");
    print_total("d2h", to_host, ", ");
    print_total("d2d", within_device, "}, ");
    std::printf("\"checksum\": %llu}\n", static_cast<unsigned long long>(checksum));
}
