// Programs as frameworks are built, in which everything is ordered: none has a race.
//
//   quiet CASE [REACH]
//
// ends with 0 unless a call fails or data are wrong.
#include <fcntl.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/integration/races/cases.hpp"

namespace {

constexpr std::size_t bytes = 64 << 10;
constexpr unsigned blocking = 0, non_blocking = 1, without_times = 2;
constexpr int rounds = 60;

// Those that the fake driver knows by their symbols alone.
template <typename Signature>
Signature* own(const char* symbol) {
    void* const function = dlsym(library(), symbol);
    expect(function != nullptr);
    return reinterpret_cast<Signature*>(function);
}
Context of_device() {
    Context context = nullptr;
    expect(driver->cuDevicePrimaryCtxRetain(&context, 0) == success);
    return context;
}
Stream make(unsigned flags = non_blocking) {
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, flags) == success);
    return stream;
}
Event recorded(Stream stream) {
    Event event = nullptr;
    expect(driver->cuEventCreate(&event, without_times) == success);
    expect(driver->cuEventRecord(event, stream) == success);
    return event;
}
void order(Stream first, Stream then) {
    const Event event = recorded(first);
    expect(driver->cuStreamWaitEvent(then, event, 0) == success);
    expect(driver->cuEventDestroy(event) == success);
}
void synchronize(Stream stream) {
    expect(driver->cuStreamSynchronize(stream) == success);
}
void fill(DevicePointer to, int value, Stream stream, std::size_t count = bytes) {
    expect(driver->cuMemsetD8Async(to, static_cast<unsigned char>(value), count, stream) == success);
}
void to_device(DevicePointer to, std::byte* from, Stream stream) {
    expect(driver->cuMemcpyHtoDAsync(to, from, bytes, stream) == success);
}
void to_host(std::byte* to, DevicePointer from, Stream stream) {
    expect(driver->cuMemcpyDtoHAsync(to, from, bytes, stream) == success);
}
void within(DevicePointer to, DevicePointer from, Stream stream) {
    expect(driver->cuMemcpyAsync(to, from, bytes, stream) == success);
}
bool holds(const std::byte* data, int value) {
    return std::all_of(data, data + bytes, [value](std::byte each) { return each == std::byte(value); });
}

// As torch's: a block goes back while copies use it, with an event on each of its streams, and is handed out again when
// a query of any thread says that they are over.
class CachingHost {
  public:
    std::byte* take() {
        const std::lock_guard guard(mutex_);
        while (!waiting_.empty() && driver->cuEventQuery(waiting_.front().second) == success) {
            expect(driver->cuEventDestroy(waiting_.front().second) == success);
            free_.push_back(waiting_.front().first);
            waiting_.pop_front();
        }
        if (free_.empty()) return blocks_.emplace_back(std::make_unique<HostBlock>(bytes, true))->data();
        std::byte* const block = free_.back();
        free_.pop_back();
        return block;
    }
    void give(std::byte* block, Stream used_on) {
        const std::lock_guard guard(mutex_);
        waiting_.emplace_back(block, recorded(used_on));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<HostBlock>> blocks_;
    std::vector<std::byte*> free_;
    std::deque<std::pair<std::byte*, Event>> waiting_;
};

// A loader: threads fill pinned blocks, another one copies them.
void loader() {
    const Context context = of_device();
    CachingHost host;
    std::mutex mutex;
    std::condition_variable more;
    std::deque<std::byte*> ready;
    std::vector<std::thread> workers;
    for (int worker = 0; worker < 3; ++worker) {
        workers.emplace_back([&, worker] {
            expect(driver->cuCtxSetCurrent(context) == success);
            for (int i = 0; i < rounds; ++i) {
                std::byte* const block = host.take();
                std::memset(block, worker, bytes);
                const std::lock_guard guard(mutex);
                ready.push_back(block);
                more.notify_one();
            }
        });
    }
    const Stream compute = make();
    const Block batch(bytes), weights(bytes);
    for (int i = 0; i < 3 * rounds; ++i) {
        std::unique_lock lock(mutex);
        more.wait(lock, [&] { return !ready.empty(); });
        std::byte* const block = ready.front();
        ready.pop_front();
        lock.unlock();
        to_device(batch.address, block, compute);
        host.give(block, compute);
        within(weights.address, batch.address, compute);
    }
    for (std::thread& each : workers) each.join();
    synchronize(compute);
}

// A graph whose input and output are pinned, played again when the host has waited for the last time.
void graphs() {
    auto* const instantiate = own<Code(void**, Graph, unsigned long long)>("cuGraphInstantiateWithFlags");
    auto* const launch = own<Code(void*, Stream)>("cuGraphLaunch");
    HostBlock in(bytes, true), out(bytes, true);
    const Block one(bytes), other(bytes);
    const Stream stream = make(), side = make();
    Graph graph = nullptr;
    void* playable = nullptr;
    expect(driver->cuStreamBeginCapture(stream, 1) == success);
    to_device(one.address, in.data(), stream);
    within(other.address, one.address, stream);
    to_host(out.data(), other.address, stream);
    expect(driver->cuStreamEndCapture(stream, &graph) == success);
    expect(instantiate(&playable, graph, 0) == success);
    for (int i = 0; i < rounds; ++i) {
        std::memset(in.data(), i, bytes);
        expect(launch(playable, i % 2 == 0 ? stream : side) == success);
        fill(one.address, 0, i % 2 == 0 ? stream : side);
        synchronize(i % 2 == 0 ? stream : side);
        expect(holds(out.data(), i));
    }
}

// Two buffers in turn, each filled again when its event is over.
void double_buffers() {
    HostBlock first(bytes, true), second(bytes, true);
    const Block device(bytes);
    const Stream stream = make();
    const std::array<HostBlock*, 2> buffers{&first, &second};
    std::array<Event, 2> events{recorded(stream), recorded(stream)};
    for (std::size_t i = 0; i < rounds; ++i) {
        expect(driver->cuEventSynchronize(events[i % 2]) == success);
        std::memset(buffers[i % 2]->data(), 1, bytes);
        to_device(device.address, buffers[i % 2]->data(), stream);
        expect(driver->cuEventRecord(events[i % 2], stream) == success);
    }
    synchronize(stream);
}

// Gradients of buckets go to a stream of their own and back, while the next ones are made; one thread a replica.
void replicas() {
    const auto replica = [] {
        const Stream compute = make(), communication = make();
        const Block gradients(bytes), bucket(bytes), parameters(bytes);
        for (int i = 0; i < rounds; ++i) {
            fill(gradients.address, i, compute);
            order(compute, communication);
            within(bucket.address, gradients.address, communication);
            fill(bucket.address, i + 1, communication, bytes / 2);
            order(communication, compute);
            within(parameters.address, bucket.address, compute);
        }
        synchronize(compute);
    };
    const Context context = of_device();
    std::thread other([&] {
        expect(driver->cuCtxSetCurrent(context) == success);
        replica();
    });
    replica();
    other.join();
}

// A value that a stream writes says how far it is.
void written_values() {
    auto* const write = own<Code(Stream, DevicePointer, std::uint32_t, unsigned)>("cuStreamWriteValue32_v2");
    HostBlock host(bytes, true), flag(4096, true);
    const Block device(bytes);
    const Stream stream = make();
    const Event any = recorded(stream);
    for (int i = 0; i < rounds; ++i) {
        fill(device.address, i, stream);
        to_host(host.data(), device.address, stream);
        expect(write(stream, at(flag.data()), static_cast<std::uint32_t>(i + 1), 0) == success);
        const std::atomic_ref word(*reinterpret_cast<std::uint32_t*>(flag.data()));
        while (word.load() != static_cast<std::uint32_t>(i + 1)) driver->cuEventQuery(any);
        expect(holds(host.data(), i));
    }
    synchronize(stream);
}

// record_stream: memory of a device that another stream used is handed out again when that is known to be over.
void recorded_blocks() {
    const Stream main = make(), side = make();
    const Block block(bytes), other(bytes);
    for (int i = 0; i < rounds; ++i) {
        fill(block.address, i, main);
        order(main, side);
        within(other.address, block.address, side);
        const Event used = recorded(side);
        while (driver->cuEventQuery(used) != success) {
        }
        expect(driver->cuEventDestroy(used) == success);
        fill(block.address, i + 1, main);
    }
    synchronize(main);
}

// The legacy default stream by its handles, the thread's own, and streams that wait for it.
void default_streams() {
    const auto legacy = reinterpret_cast<Stream>(1), of_thread = reinterpret_cast<Stream>(2);
    const Block block(bytes);
    HostBlock host(bytes, true);
    const Stream waits = make(blocking);
    for (int i = 0; i < rounds; ++i) {
        std::memset(host.data(), i, bytes);
        to_device(block.address, host.data(), waits);
        within(block.address + 0, block.address, legacy);
        fill(block.address, i + 1, of_thread);
        synchronize(of_thread);
        fill(block.address, i + 2, waits);
        expect(driver->cuMemcpy(block.address, at(host.data()), bytes) == success);
        synchronize(nullptr);
    }
}

// Memory of a pool, whose addresses other streams and other allocators get, as drivers order that.
void pools() {
    auto* const allocate = own<Code(DevicePointer*, std::size_t, Stream)>("cuMemAllocAsync");
    auto* const give = own<Code(DevicePointer, Stream)>("cuMemFreeAsync");
    const Stream one = make(), other = make();
    int again = 0;
    for (int i = 0; i < rounds; ++i) {
        DevicePointer memory = 0, next = 0;
        expect(allocate(&memory, bytes, one) == success);
        fill(memory, i, one);
        expect(give(memory, one) == success);
        if (i % 2 == 0) expect(allocate(&next, bytes, other) == success);
        if (i % 2 != 0) expect(driver->cuMemAlloc(&next, bytes) == success);
        again += next == memory ? 1 : 0;
        fill(next, i + 1, other);
        if (i % 2 == 0) expect(give(next, other) == success);
        if (i % 2 != 0) expect(driver->cuMemFree(next) == success);
    }
    expect(again > 0);
    synchronize(one);
    synchronize(other);
}

// Streams of several priorities, and many that come and go with what they were given.
void many_streams() {
    auto* const create = own<Code(Stream*, unsigned, int)>("cuStreamCreateWithPriority");
    const Block block(bytes);
    HostBlock host(bytes, true);
    Stream last = make();
    for (int i = 0; i < 3 * rounds; ++i) {
        Stream next = nullptr;
        expect(create(&next, non_blocking, -(i % 3)) == success);
        order(last, next);
        expect(driver->cuStreamDestroy(last) == success);
        i % 2 == 0 ? to_host(host.data(), block.address, next) : to_device(block.address, host.data(), next);
        last = next;
    }
    synchronize(last);
    std::memset(host.data(), 1, bytes);
}

// An event that one thread records again while another one looks at it, and one that its own stream waits for.
void events() {
    const Stream stream = make();
    const Block block(bytes);
    HostBlock host(bytes, true);
    const Event event = recorded(stream);
    std::atomic<bool> has_ended = false;
    std::thread looks([&] {
        while (!has_ended) (void)driver->cuEventQuery(event);
    });
    for (int i = 0; i < rounds; ++i) {
        to_host(host.data(), block.address, stream);
        expect(driver->cuEventRecord(event, stream) == success);
        expect(driver->cuStreamWaitEvent(stream, event, 0) == success);
        expect(driver->cuEventSynchronize(event) == success);
        std::memset(host.data(), i, bytes);
        to_device(block.address, host.data(), stream);
    }
    has_ended = true;
    looks.join();
    synchronize(stream);
}

// The host looks at memory of a device that GDRCopy maps, where copies and fills say how far their stream is.
void mapped_memory() {
    (void)open("/dev/gdrdrv", O_RDWR | O_CLOEXEC);
    HostBlock host(bytes, true);
    const Block device(bytes), words(bytes);
    const Stream stream = make();
    const Event any = recorded(stream);
    const auto looked_at = [&](int value) {
        while (*reinterpret_cast<volatile unsigned char*>(words.address) != value) driver->cuEventQuery(any);
    };
    for (int i = 0; i < rounds; ++i) {
        fill(device.address, i, stream);
        to_host(host.data(), device.address, stream);
        if (i % 2 == 0) fill(words.address, i + 1, stream, sizeof(std::uint32_t));
        if (i % 2 != 0) {
            fill(words.address + bytes / 2, i + 1, stream, sizeof(std::uint64_t));
            expect(driver->cuMemcpyAsync(words.address, words.address + bytes / 2, 8, stream) == success);
        }
        looked_at(i + 1);
        expect(holds(host.data(), i));
    }
    synchronize(stream);
}

}  // namespace

int main(int count, char** words) {
    return run_case(count, words,
                    Cases{
                        {"loader", loader},
                        {"graphs", graphs},
                        {"double_buffers", double_buffers},
                        {"replicas", replicas},
                        {"written_values", written_values},
                        {"recorded_blocks", recorded_blocks},
                        {"default_streams", default_streams},
                        {"pools", pools},
                        {"many_streams", many_streams},
                        {"events", events},
                        {"mapped_memory", mapped_memory},
                    });
}
