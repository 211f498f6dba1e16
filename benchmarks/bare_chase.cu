// A bare chase of pointers through pinned host memory by one thread of a GPU, as nvbandwidth's host_device_latency_sm
// does it: what `isthmus measure latency` must agree with.
//
//   nvcc -O2 -o bare_chase bare_chase.cu && ./bare_chase [DEVICE] [STRIDE_BYTES]
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        if (const cudaError_t error = (call); error != cudaSuccess) {                           \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (false)

struct Node {
    Node* next;
};

__global__ void chase(Node* from, unsigned hops, Node** end) {
    Node* at = from;
    for (unsigned hop = 0; hop < hops; ++hop) at = at->next;
    *end = at;
}

int main(int argc, char** argv) {
    constexpr std::size_t bytes = std::size_t{64} << 20;  // far more than a multiprocessor caches
    constexpr unsigned hops = 100000;
    constexpr int samples = 11;
    const int device = argc > 1 ? std::atoi(argv[1]) : 0;
    const std::size_t stride_bytes = argc > 2 ? static_cast<std::size_t>(std::atoll(argv[2])) : 256;
    const std::size_t step = stride_bytes / sizeof(Node);
    const std::size_t lines = step > 0 ? bytes / sizeof(Node) / step : 0;
    if (lines < 2) {
        std::fprintf(stderr, "%s: expected a stride from 8 bytes to %zu\n", argv[0], bytes / 2);
        return 2;
    }
    CHECK(cudaSetDevice(device));

    Node* nodes = nullptr;
    Node** end = nullptr;
    CHECK(cudaMallocHost(&nodes, bytes));
    CHECK(cudaMalloc(&end, sizeof *end));
    for (std::size_t line = 0; line < lines; ++line) nodes[line * step].next = nodes + (line + 1) % lines * step;

    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr, stop = nullptr;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&stop));
    std::vector<double> nanoseconds;
    for (int sample = 0; sample <= samples; ++sample) {  // the first warms up
        float milliseconds = 0;
        CHECK(cudaEventRecord(begin, stream));
        chase<<<1, 1, 0, stream>>>(nodes, hops, end);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(stop, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaEventElapsedTime(&milliseconds, begin, stop));
        if (sample > 0) nanoseconds.push_back(1e6 * static_cast<double>(milliseconds) / hops);
    }
    Node* found = nullptr;
    CHECK(cudaMemcpy(&found, end, sizeof found, cudaMemcpyDeviceToHost));
    if (found != nodes + hops % lines * step) {
        std::fprintf(stderr, "%s: the chase ended at the wrong line\n", argv[0]);
        return 1;
    }
    std::sort(nanoseconds.begin(), nanoseconds.end());
    std::printf("pinned host memory, lines %zu bytes apart: %.1f ns a hop (%.1f to %.1f)\n", step * sizeof(Node),
                nanoseconds[samples / 2], nanoseconds.front(), nanoseconds.back());
}
