// copies MIB ROUNDS: cudaMemcpy from malloc to the device, and back into fresh memory.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int count, char** words) {
    const std::size_t bytes = (count > 1 ? std::strtoull(words[1], nullptr, 10) : 1024) << 20;
    const int rounds = count > 2 ? std::atoi(words[2]) : 5;
    auto* const host = static_cast<char*>(std::malloc(bytes));
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::size_t word = i * 2654435761U;
        std::memcpy(host + i, &word, 8);
    }
    void* device = nullptr;
    int wrong = cudaMalloc(&device, bytes) != cudaSuccess;
    for (int round = 0; round < rounds; ++round) {
        host[round] ^= 1;
        const double begun = now();
        wrong += cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess;
        const double sent = now();
        auto* const back = static_cast<char*>(std::malloc(bytes));
        const double ready = now();
        wrong += cudaMemcpy(back, device, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;
        const double fetched = now();
        wrong += std::memcmp(host, back, bytes) != 0;
        std::free(back);
        // The first has what each way costs once.
        if (round == 0 && rounds > 1) continue;
        std::printf("h2d_gbs %.3f\nd2h_fresh_gbs %.3f\n", 1e-9 * bytes / (sent - begun),
                    1e-9 * bytes / (fetched - ready));
    }
    std::printf("wrong %d\n", wrong);
    return wrong != 0;
}
