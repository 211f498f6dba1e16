// Copies of mixed sizes and directions, sync and async, of pageable and pinned memory, by several threads and streams.
//
// counts [COPIES]   a few more fill the buffers before and fetch them in the end; all are in the totals.
#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "program.hpp"

constexpr int WORKERS = 4, STREAMS = 2;
constexpr std::array<std::size_t, 9> SIZES{1, 8, 100, 1024, 4096, 5000, 16384, 65536, 131072};
constexpr std::size_t MOST_BYTES = SIZES.back();
// The driver's queue never holds more of one worker than so many.
constexpr long WAIT_EVERY = 256;

// The same bytes everywhere, so that copies may overtake one another.
std::uint8_t byte_at(std::size_t at) {
    return static_cast<std::uint8_t>(at * 37 + 11);
}

struct Buffers {
    Memory<std::uint8_t> ordinary = pageable<std::uint8_t>(MOST_BYTES);
    Memory<std::uint8_t> locked = pinned<std::uint8_t>(MOST_BYTES);
    Memory<std::uint8_t> device = on_device<std::uint8_t>(MOST_BYTES);
    Memory<std::uint8_t> other = on_device<std::uint8_t>(MOST_BYTES);
};

void make_copies(Buffers& buffers, std::uint64_t seed, long copies) {
    std::array<cudaStream_t, STREAMS> streams{};
    for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::uint64_t state = seed;
    for (long number = 1; number <= copies; ++number) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t drawn = state >> 33;
        const std::size_t bytes = SIZES[drawn % SIZES.size()];
        std::uint8_t* const host = (drawn >> 8) % 2 != 0 ? buffers.locked.get() : buffers.ordinary.get();
        std::uint8_t* const device = buffers.device.get();
        const std::uint64_t direction = (drawn >> 12) % 3;
        const cudaMemcpyKind kind = direction == 0   ? cudaMemcpyHostToDevice
                                    : direction == 1 ? cudaMemcpyDeviceToHost
                                                     : cudaMemcpyDeviceToDevice;
        void* const to = direction == 0 ? device : direction == 1 ? host : buffers.other.get();
        const void* const from = direction == 0 ? host : device;
        if ((drawn >> 16) % 4 == 0) {
            copy(to, from, bytes, kind);
        } else {
            copy_async(to, from, bytes, kind, streams[(drawn >> 20) % STREAMS]);
        }
        if (number % WAIT_EVERY == 0) {
            for (const cudaStream_t stream : streams) CHECK(cudaStreamSynchronize(stream));
        }
    }
    for (const cudaStream_t stream : streams) {
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }
}

int main(int argc, char** argv) {
    const long copies = argument(argc, argv, 1, 100'000);
    std::vector<Buffers> buffers(WORKERS);
    for (Buffers& each : buffers) {
        for (std::size_t at = 0; at < MOST_BYTES; ++at) each.ordinary[at] = each.locked[at] = byte_at(at);
        copy(each.device.get(), each.locked.get(), MOST_BYTES, cudaMemcpyHostToDevice);
        copy(each.other.get(), each.device.get(), MOST_BYTES, cudaMemcpyDeviceToDevice);
    }

    const Clock clock;
    std::vector<std::thread> workers;
    for (int worker = 0; worker < WORKERS; ++worker) {
        const long share = copies / WORKERS + (worker < copies % WORKERS ? 1 : 0);
        workers.emplace_back([&each = buffers[worker], worker, share] {
            make_copies(each, static_cast<std::uint64_t>(worker) + 1, share);
        });
    }
    for (std::thread& worker : workers) worker.join();
    const double seconds = clock.seconds();

    std::uint64_t checksum = 0;
    std::vector<std::uint8_t> fetched(MOST_BYTES);
    const auto add = [&](const std::uint8_t* found) {
        for (std::size_t at = 0; at < MOST_BYTES; ++at) {
            expect(found[at] == byte_at(at), "what the copies left");
            checksum += found[at];
        }
    };
    for (Buffers& each : buffers) {
        add(each.ordinary.get());
        add(each.locked.get());
        for (const std::uint8_t* const device : {each.device.get(), each.other.get()}) {
            std::fill(fetched.begin(), fetched.end(), std::uint8_t{0});
            copy(fetched.data(), device, MOST_BYTES, cudaMemcpyDeviceToHost);
            add(fetched.data());
        }
    }
    report("counts", seconds, checksum);
}
