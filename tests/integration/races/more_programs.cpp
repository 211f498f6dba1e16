// Public bugs that were rebuilt later: small and partial touches, rows, events that hold less than was meant, the
// default stream, peers.
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/integration/races/bugs.hpp"

namespace {

// https://github.com/vllm-project/vllm-ascend/pull/15719: five small pinned tensors go back to their allocator while
// their copies are to come, and other metadata are written there. Fixed by tensors that live until an event is over.
bool metadata_released(Version version) {
    constexpr std::size_t tensors = 5, bytes = 192 * sizeof(std::int64_t);
    const OwnStream stream;
    const OwnEvent copied;
    const Block device(block_bytes);
    HostBlock pool(block_bytes, true);
    clear(device);
    LongKernel kernel(stream);
    fill(pool, 1);
    for (std::size_t i = 0; i < tensors; ++i) {
        expect(driver->cuMemcpyHtoDAsync(device.address + i * bytes, pool.data() + i * bytes, bytes, stream) ==
               success);
    }
    copied.record(stream);
    if (version == Version::fixed) {
        kernel.end();
        copied.synchronize();
    }
    std::memset(pool.data() + bytes, 2, 48);
    kernel.end();
    stream.synchronize();
    std::vector<std::byte> seen(tensors * bytes);
    fetch(seen.data(), device.address, seen.size());
    return std::all_of(seen.begin(), seen.end(), [](std::byte each) { return each == std::byte{1}; });
}

// https://github.com/BVLC/caffe/pull/2998: a batch goes back to the queue of free ones when the copy out of it has been
// asked for on the default stream, and the loader's stream writes the next one there. Fixed by a wait for that copy.
bool batch_back_in_queue(Version version) {
    const OwnStream loader;
    const Block batch(block_bytes), top(block_bytes);
    HostBlock next(block_bytes, true);
    fill(next, 2);
    set(batch, 1, nullptr);
    expect(driver->cuStreamSynchronize(nullptr) == success);
    const LongCopies busy(nullptr, LongCopies::Direction::to_host);
    expect(driver->cuMemcpyAsync(top.address, batch.address, block_bytes, nullptr) == success);
    if (version == Version::fixed) expect(driver->cuStreamSynchronize(nullptr) == success);
    to_device(batch, next, loader);
    loader.synchronize();
    expect(driver->cuStreamSynchronize(nullptr) == success);
    return holds(top, 1);
}

// https://github.com/torch/cutorch/pull/222: a stream is to wait for several others, by one event that is recorded on
// each of them: it holds the last alone. Fixed by an event each.
bool one_event_for_all(Version version) {
    const OwnStream first, second, waits;
    const OwnEvent event, other;
    const Block one(block_bytes), two(block_bytes);
    HostBlock seen(block_bytes, true);
    clear(one);
    const LongCopies busy(first, LongCopies::Direction::to_device);
    set(one, 1, first);
    set(two, 1, second);
    event.record(first);
    (version == Version::fixed ? other : event).record(second);
    event.order_before(waits);
    if (version == Version::fixed) other.order_before(waits);
    to_host(seen, one, waits);
    waits.synchronize();
    first.synchronize();
    second.synchronize();
    return holds(seen.data(), 1);
}

// https://github.com/NVIDIA/DALI/pull/1475: the next run of a stage fills its buffers again before the copies of the
// last one have begun. Here it has two in turn, and waits for the event of the other one. Fixed by its own.
bool stage_overtakes_itself(Version version) {
    constexpr std::size_t buffers = 2, runs = 3;
    const OwnStream stream;
    std::array<OwnEvent, buffers> copied;
    const Block first(block_bytes), second(block_bytes), third(block_bytes);
    const std::array<const Block*, runs> batches{&first, &second, &third};
    HostBlock one(block_bytes, true), other(block_bytes, true);
    const std::array<HostBlock*, buffers> staging{&one, &other};
    LongKernel kernel(stream);
    for (std::size_t run = 0; run < runs; ++run) {
        const std::size_t slot = run % buffers;
        if (version == Version::fixed && run >= buffers) {
            kernel.end();
            copied[slot].synchronize();
        }
        fill(*staging[slot], static_cast<int>(run + 1));
        to_device(*batches[run], *staging[slot], stream);
        copied[slot].record(stream);
    }
    kernel.end();
    stream.synchronize();
    return holds(first, 1) && holds(second, 2) && holds(third, 3);
}

// https://github.com/PTB-MR/mrpro/issues/984: images are looked at while their copy to the CPU is under way, and parts
// of them are zero. Here their rows come by a pitch. Fixed by a copy that is waited for.
bool rows_seen_early(Version version) {
    constexpr std::size_t pitch = 2048, width = 1500, rows = block_bytes / pitch;
    constexpr int type_host = 1, type_device = 2;
    const OwnStream stream;
    const Block coils(block_bytes);
    HostBlock image(block_bytes, true);
    fill(image, 9);
    set(coils, 1, stream);
    LongKernel kernel(stream);
    Copy2d copy{};
    copy.source_type = type_device;
    copy.source_device = coils.address;
    copy.destination_type = type_host;
    copy.destination_host = image.data();
    copy.source_pitch_bytes = copy.destination_pitch_bytes = pitch;
    copy.width_bytes = width;
    copy.height = rows;
    expect(driver->cuMemcpy2DAsync(&copy, stream) == success);
    if (version == Version::fixed) {
        kernel.end();
        stream.synchronize();
    }
    const std::byte seen = image[pitch * (rows / 2) + width / 2];
    kernel.end();
    stream.synchronize();
    return seen == std::byte{1};
}

// https://github.com/mlverse/cuda.ml/pull/44: what a copy is waited for by is an event that is never recorded, for
// which no wait waits. Fixed by its record.
bool event_never_recorded(Version version) {
    const OwnStream stream;
    const OwnEvent copied;
    const Block device(block_bytes);
    HostBlock host(block_bytes, true);
    LongKernel kernel(stream);
    fill(host, 1);
    to_device(device, host, stream);
    if (version == Version::fixed) {
        copied.record(stream);
        kernel.end();
    }
    copied.synchronize();
    fill(host, 2);
    kernel.end();
    stream.synchronize();
    return holds(device, 1);
}

// https://github.com/LBANN/lbann/pull/665: a layer waits for an event before it begins a copy, and the layer above it
// writes its data again as if that wait were for the copy. Fixed by an event behind it.
bool event_before_copy(Version version) {
    const OwnStream stream;
    const OwnEvent event;
    const Block input(block_bytes);
    HostBlock output(block_bytes, true);
    fill(output, 1);
    event.record(stream);
    LongKernel kernel(stream);
    to_device(input, output, stream);
    if (version == Version::fixed) {
        event.record(stream);
        kernel.end();
    }
    event.synchronize();
    fill(output, 2);
    kernel.end();
    stream.synchronize();
    return holds(input, 1);
}

// https://github.com/alpaka-group/alpaka/issues/851: a blocking fill of memory of the device does not block, and a
// non-blocking stream uses that memory. Fixed by a wait for the default stream.
bool fill_does_not_block(Version version) {
    static auto* const fill_now =
        reinterpret_cast<Code (*)(DevicePointer, unsigned char, std::size_t)>(dlsym(library(), "cuMemsetD8_v2"));
    const OwnStream stream;
    const Block device(block_bytes);
    HostBlock host(block_bytes, true);
    fill(host, 1);
    const LongCopies busy(nullptr, LongCopies::Direction::to_host);
    expect(fill_now(device.address, 0, block_bytes) == success);
    if (version == Version::fixed) expect(driver->cuStreamSynchronize(nullptr) == success);
    to_device(device, host, stream);
    stream.synchronize();
    expect(driver->cuStreamSynchronize(nullptr) == success);
    return holds(device, 1);
}

// https://github.com/torch/cutorch/pull/192: a copy to another device on a stream of the first one is taken for ordered
// with the second one's streams. Fixed by an event. With one device alone it is right.
bool copied_to_peer(Version version) {
    static auto* const copy =
        reinterpret_cast<Code (*)(DevicePointer, Context, DevicePointer, Context, std::size_t, Stream)>(
            dlsym(library(), "cuMemcpyPeerAsync"));
    Context here = nullptr, there = nullptr;
    expect(driver->cuDevicePrimaryCtxRetain(&here, 0) == success);
    if (driver->cuDevicePrimaryCtxRetain(&there, 1) != success) return true;
    const OwnStream stream;
    const Block source(block_bytes);
    set(source, 1, stream);
    struct Leaving {
        ~Leaving() { expect(driver->cuCtxSetCurrent(to) == success); }
        Context to;
    };
    const Leaving peer{here};
    expect(driver->cuCtxSetCurrent(there) == success);
    const OwnStream of_peer;
    const Block received(block_bytes);
    HostBlock seen(block_bytes, true);
    clear(received);
    const Leaving this_one{there};
    expect(driver->cuCtxSetCurrent(here) == success);
    const OwnEvent copied;
    const LongCopies busy(stream, LongCopies::Direction::to_device);
    expect(copy(received.address, there, source.address, here, block_bytes, stream) == success);
    copied.record(stream);
    expect(driver->cuCtxSetCurrent(there) == success);
    if (version == Version::fixed) copied.order_before(of_peer);
    to_host(seen, received, of_peer);
    of_peer.synchronize();
    expect(driver->cuCtxSetCurrent(here) == success);
    stream.synchronize();
    return holds(seen.data(), 1);
}

// https://github.com/NVIDIA/TensorRT-LLM/issues/19172: a request's table is copied out of a pinned pool, which a worker
// gives to the next request meanwhile, a shorter one: the table is of both. Fixed by a source that lives as long.
bool table_of_two_requests(Version version) {
    const OwnStream stream;
    const Block table(block_bytes);
    HostBlock pooled(block_bytes, true), own(block_bytes, true);
    std::mutex mutex;
    std::condition_variable changed;
    bool is_free = false;
    std::thread worker([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_free; });
        std::memset(pooled.data() + 5000, 2, 100);
    });
    LongKernel kernel(stream);
    HostBlock& source = version == Version::fixed ? own : pooled;
    fill(source, 1);
    to_device(table, source, stream);
    {
        const std::lock_guard guard(mutex);
        is_free = true;
    }
    changed.notify_one();
    worker.join();
    kernel.end();
    stream.synchronize();
    return holds(table, 1);
}

// https://github.com/votca/xtp/issues/391: a product is read on the CPU without a wait for the stream of its copy. Here
// the stream is asked how far it is, and the answer is not looked at. Fixed by the wait.
bool answer_not_looked_at(Version version) {
    static auto* const ask = reinterpret_cast<Code (*)(Stream)>(dlsym(library(), "cuStreamQuery"));
    const OwnStream stream;
    const Block product(block_bytes);
    HostBlock result(block_bytes, true);
    fill(result, 9);
    set(product, 1, stream);
    LongKernel kernel(stream);
    to_host(result, product, stream);
    if (version == Version::fixed) kernel.end();
    do {
    } while (ask(stream) != success && version == Version::fixed);
    const std::byte seen = result[block_bytes - 1];
    kernel.end();
    stream.synchronize();
    return seen == std::byte{1};
}

constexpr std::array bugs{
    BUG(metadata_released), BUG(batch_back_in_queue),   BUG(one_event_for_all),    BUG(stage_overtakes_itself),
    BUG(rows_seen_early),   BUG(event_never_recorded),  BUG(event_before_copy),    BUG(fill_does_not_block),
    BUG(copied_to_peer),    BUG(table_of_two_requests), BUG(answer_not_looked_at),
};

}  // namespace

int main(int count, char** words) {
    return run_bugs(count, words, bugs);
}
