// Copies of 64 B and launches, which the library is to leave as they are: seconds of each.
#include <chrono>
#include <cstdio>

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

__global__ void add(float* value) {
    value[threadIdx.x] += 1;
}

int main() {
    constexpr int copies = 250'000, launches = 150'000, rounds = 8;
    char host[64] = {};
    void* device = nullptr;
    cudaStream_t stream = nullptr;
    if (cudaMalloc(&device, 4096) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess) return 1;
    for (int round = 0; round < rounds; ++round) {
        const double begun = now();
        for (int i = 0; i < copies; ++i) cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, stream);
        cudaStreamSynchronize(stream);
        const double copied = now();
        for (int i = 0; i < launches; ++i) add<<<1, 32, 0, stream>>>(static_cast<float*>(device));
        cudaStreamSynchronize(stream);
        const double launched = now();
        std::printf("copy_seconds %.4g\nlaunch_seconds %.4g\n", (copied - begun) / copies,
                    (launched - copied) / launches);
    }
    std::printf("wrong 0\n");
}
