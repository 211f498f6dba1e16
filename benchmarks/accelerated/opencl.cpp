// opencl MIB ROUNDS: blocking copies of OpenCL from malloc to the first device, and back into fresh memory.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/opencl_api.hpp"

using namespace isthmus::opencl;

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int without(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    return 77;
}

}  // namespace

int main(int count, char** words) {
    const std::size_t bytes = (count > 1 ? std::strtoull(words[1], nullptr, 10) : 1024) << 20;
    const int rounds = count > 2 ? std::atoi(words[2]) : 5;
    void* const library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (library == nullptr) return without("no libOpenCL.so.1");
    const Api cl = Api::found_by([library](const char* name) { return dlsym(library, name); });
    const auto platforms =
        reinterpret_cast<ReturnCode (*)(std::uint32_t, Platform*, std::uint32_t*)>(dlsym(library, "clGetPlatformIDs"));
    Platform platform = nullptr;
    Device device = nullptr;
    if (platforms == nullptr || platforms(1, &platform, nullptr) != success ||
        cl.clGetDeviceIDs(platform, device_type_all, 1, &device, nullptr) != success) {
        return without("no OpenCL device");
    }
    const Context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    const Queue queue = cl.clCreateCommandQueue(context, device, 0, nullptr);
    const Buffer buffer = cl.clCreateBuffer(context, mem_read_write, bytes, nullptr, nullptr);
    auto* const host = static_cast<char*>(std::malloc(bytes));
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::size_t word = i * 2654435761U;
        std::memcpy(host + i, &word, 8);
    }
    int wrong = buffer == nullptr;
    for (int round = 0; round < rounds; ++round) {
        host[round] ^= 1;
        const double begun = now();
        wrong += cl.clEnqueueWriteBuffer(queue, buffer, 1, 0, bytes, host, 0, nullptr, nullptr) != success;
        const double sent = now();
        auto* const back = static_cast<char*>(std::malloc(bytes));
        const double ready = now();
        wrong += cl.clEnqueueReadBuffer(queue, buffer, 1, 0, bytes, back, 0, nullptr, nullptr) != success;
        const double fetched = now();
        wrong += std::memcmp(host, back, bytes) != 0;
        std::free(back);
        // The first has what each way costs once.
        if (round == 0 && rounds > 1) continue;
        const auto size = static_cast<double>(bytes);
        std::printf("h2d_gbs %.3f\nd2h_fresh_gbs %.3f\n", 1e-9 * size / (sent - begun),
                    1e-9 * size / (fetched - ready));
    }
    cl.clReleaseMemObject(buffer);
    cl.clReleaseCommandQueue(queue);
    cl.clReleaseContext(context);
    std::free(host);
    std::printf("wrong %d\n", wrong);
    return wrong != 0;
}
