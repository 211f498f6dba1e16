// Twelve public bugs, the first that were rebuilt.
#include <array>
#include <memory>
#include <thread>

#include "tests/integration/races/bugs.hpp"

namespace {

// https://github.com/NVIDIA/cudf/issues/22284: a function returns its pinned staging buffer to the pool with the copy
// out of it still to come, and another thread is given the same block. Fixed by a wait before the buffer goes.
bool staging_returned_to_pool(Version version) {
    const OwnStream stream;
    const Block views(block_bytes);
    HostBlock pooled(block_bytes, true);
    LongKernel kernel(stream);
    fill(pooled, 1);
    to_device(views, pooled, stream);
    if (version == Version::fixed) {
        kernel.end();
        stream.synchronize();
    }
    std::thread([&pooled] { fill(pooled, 2); }).join();
    kernel.end();
    stream.synchronize();
    return holds(views, 1);
}

// https://github.com/NVIDIA/TensorRT-LLM/pull/15546: the page table of the next iteration is written over the one whose
// copy is pending, because the CPU runs one iteration ahead. Fixed by a fresh buffer for each iteration.
bool page_table_overwritten(Version version) {
    const OwnStream stream;
    const Block first(block_bytes), second(block_bytes);
    HostBlock table(block_bytes, true), fresh(block_bytes, true);
    LongKernel kernel(stream);
    fill(table, 1);
    to_device(first, table, stream);
    HostBlock& next = version == Version::fixed ? fresh : table;
    fill(next, 2);
    to_device(second, next, stream);
    kernel.end();
    stream.synchronize();
    return holds(first, 1) && holds(second, 2);
}

// https://github.com/1bit-MONSTER/1bit-MONSTER/pull/2436: K and V go through one pinned buffer without a wait between
// them, as if the order of their copies on one stream held for the CPU, too. Fixed by a buffer each, both filled first.
bool two_through_one_buffer(Version version) {
    const OwnStream stream;
    const Block keys(block_bytes), values(block_bytes);
    HostBlock staging(block_bytes, true), other(block_bytes, true);
    LongKernel kernel(stream);
    fill(staging, 1);
    if (version == Version::fixed) {
        fill(other, 2);
        to_device(keys, staging, stream);
        to_device(values, other, stream);
    } else {
        to_device(keys, staging, stream);
        fill(staging, 2);
        to_device(values, staging, stream);
    }
    kernel.end();
    stream.synchronize();
    return holds(keys, 1) && holds(values, 2);
}

// https://github.com/vllm-project/vllm-ascend/pull/16428: the runner prepares the next batch in the same arrays of
// token numbers and query boundaries. Fixed by copies out of snapshots that the copy alone has.
bool batch_prepared_in_place(Version version) {
    const OwnStream stream;
    const Block tokens(block_bytes), boundaries(block_bytes);
    HostBlock token_numbers(block_bytes, true), query_boundaries(block_bytes, true);
    HostBlock snapshot_of_tokens(block_bytes, true), snapshot_of_boundaries(block_bytes, true);
    LongKernel kernel(stream);
    fill(token_numbers, 1);
    fill(query_boundaries, 3);
    if (version == Version::fixed) {
        std::memcpy(snapshot_of_tokens.data(), token_numbers.data(), block_bytes);
        std::memcpy(snapshot_of_boundaries.data(), query_boundaries.data(), block_bytes);
    }
    to_device(tokens, version == Version::fixed ? snapshot_of_tokens : token_numbers, stream);
    to_device(boundaries, version == Version::fixed ? snapshot_of_boundaries : query_boundaries, stream);
    token_numbers[7] = std::byte{2};
    query_boundaries[block_bytes - 1] = std::byte{4};
    kernel.end();
    stream.synchronize();
    return holds(tokens, 1) && holds(boundaries, 3);
}

// https://github.com/pytorch/pytorch/issues/174695: compiled code joins tensors on the CPU that copies without blocking
// are still writing: the waits for their events were dropped. Fixed by those waits.
bool joined_before_arrival(Version version) {
    constexpr int parts = 4;
    const OwnStream stream;
    const Block source(block_bytes);
    std::vector<std::unique_ptr<HostBlock>> arrived;
    for (int i = 0; i < parts; ++i) fill(*arrived.emplace_back(std::make_unique<HostBlock>(block_bytes, true)), 9);
    std::vector<std::byte> joined(parts * block_bytes);
    std::vector<OwnEvent> events(parts);
    set(source, 1, stream);
    LongKernel kernel(stream);
    for (int i = 0; i < parts; ++i) {
        to_host(*arrived[static_cast<std::size_t>(i)], source, stream);
        events[static_cast<std::size_t>(i)].record(stream);
    }
    if (version == Version::fixed) {
        kernel.end();
        for (const OwnEvent& event : events) event.synchronize();
    }
    for (std::size_t i = 0; i < parts; ++i) {
        std::memcpy(joined.data() + i * block_bytes, arrived[i]->data(), block_bytes);
    }
    kernel.end();
    stream.synchronize();
    for (std::size_t i = 0; i < parts; ++i) {
        if (!holds(joined.data() + i * block_bytes, 1)) return false;
    }
    return true;
}

// https://github.com/vllm-project/vllm/issues/36942: the output is taken apart in the line before the one that waits
// for the event of its copy. Fixed by the two lines in the other order.
bool read_one_line_early(Version version) {
    const OwnStream stream;
    const OwnEvent copied;
    const Block pooled(block_bytes);
    HostBlock output(block_bytes, true);
    std::vector<std::byte> taken(block_bytes);
    fill(output, 9);
    set(pooled, 1, stream);
    LongKernel kernel(stream);
    to_host(output, pooled, stream);
    copied.record(stream);
    if (version == Version::fixed) {
        kernel.end();
        copied.synchronize();
    }
    std::memcpy(taken.data(), output.data(), block_bytes);
    kernel.end();
    copied.synchronize();
    return holds(taken.data(), 1);
}

// https://github.com/cupy/cupy/issues/7820: an array that was fetched on a stream other than the default one is changed
// on the CPU, and then the copy arrives over the change. Fixed by a fetch that waits for its stream.
bool changed_before_arrival(Version version) {
    const OwnStream stream;
    const Block source(block_bytes);
    HostBlock fetched(block_bytes, true);
    fill(fetched, 9);
    set(source, 1, stream);
    LongKernel kernel(stream);
    to_host(fetched, source, stream);
    if (version == Version::fixed) {
        kernel.end();
        stream.synchronize();
    }
    fill(fetched, 2);
    kernel.end();
    stream.synchronize();
    return holds(fetched.data(), 2);
}

// https://github.com/vllm-project/vllm/issues/45704: blocks of a cache are stored on a stream of their own that is not
// ordered behind the one that computes them. Fixed (pull request 46278) by an event between the two.
bool stored_before_computed(Version version) {
    const OwnStream compute, store;
    const OwnEvent computed;
    const Block cache(block_bytes);
    HostBlock stored(block_bytes, true);
    clear(cache);
    const LongCopies busy(compute, LongCopies::Direction::to_device);
    set(cache, 1, compute);
    computed.record(compute);
    if (version == Version::fixed) computed.order_before(store);
    to_host(stored, cache, store);
    store.synchronize();
    compute.synchronize();
    return holds(stored.data(), 1);
}

// https://github.com/vllm-project/vllm/pull/50696: a block that is loaded is wiped by the zeroing of newly allocated
// blocks, which another stream has still to do. Fixed by a load that waits for that stream.
bool loaded_before_zeroed(Version version) {
    const OwnStream compute, load;
    const OwnEvent zeroed;
    const Block cache(block_bytes);
    HostBlock kept(block_bytes, true);
    fill(kept, 1);
    const LongCopies busy(compute, LongCopies::Direction::to_host);
    set(cache, 0, compute);
    zeroed.record(compute);
    if (version == Version::fixed) zeroed.order_before(load);
    to_device(cache, kept, load);
    compute.synchronize();
    load.synchronize();
    return holds(cache, 1);
}

// https://github.com/meta-pytorch/torchrec/pull/4231: memory of the device is given back while a copy out of it waits
// on a side stream, and what is allocated next is the same block. Fixed by reuse behind the side stream
// (record_stream).
bool reused_under_copy(Version version) {
    const OwnStream compute, side;
    const OwnEvent copied;
    const Block stashed(block_bytes);
    HostBlock host(block_bytes, true);
    set(stashed, 1, compute);
    compute.synchronize();
    const LongCopies busy(side, LongCopies::Direction::to_device);
    to_host(host, stashed, side);
    copied.record(side);
    if (version == Version::fixed) copied.order_before(compute);
    set(stashed, 2, compute);
    side.synchronize();
    compute.synchronize();
    return holds(host.data(), 1);
}

// https://github.com/OpenPPL/ppl.cv/issues/135: an image that a non-blocking stream is still making is copied by a call
// that takes the default stream, for which that stream does not wait. Fixed by the copy on the caller's stream.
bool copied_on_default_stream(Version version) {
    const OwnStream stream;
    const Block image(block_bytes), padded(block_bytes);
    clear(image);
    const LongCopies busy(stream, LongCopies::Direction::to_device);
    set(image, 1, stream);
    if (version == Version::fixed) {
        expect(driver->cuMemcpyAsync(padded.address, image.address, block_bytes, stream) == success);
    } else {
        expect(driver->cuMemcpy(padded.address, image.address, block_bytes) == success);
        expect(driver->cuStreamSynchronize(nullptr) == success);
    }
    stream.synchronize();
    return holds(padded, 1);
}

// https://github.com/ashalliants/ninfer-3090/pull/44: a blocking copy of pageable memory returns before its data have
// arrived, and a non-blocking stream reads what was there before. Fixed by a wait for the default stream. When the data
// arrive is the driver's affair: of many tries one goes wrong.
bool pageable_not_arrived(Version version) {
    constexpr int tries = 100;
    const OwnStream stream;
    const Block input(block_bytes);
    HostBlock pageable(block_bytes, false), seen(block_bytes, true);
    bool is_right = true;
    for (int i = 1; i <= tries; ++i) {
        fill(pageable, i);
        expect(driver->cuMemcpyHtoD(input.address, pageable.data(), block_bytes) == success);
        if (version == Version::fixed) expect(driver->cuStreamSynchronize(nullptr) == success);
        to_host(seen, input, stream);
        stream.synchronize();
        is_right = is_right && holds(seen.data(), i);
        expect(driver->cuStreamSynchronize(nullptr) == success);
    }
    return is_right;
}

constexpr std::array bugs{
    BUG(staging_returned_to_pool), BUG(page_table_overwritten),   BUG(two_through_one_buffer),
    BUG(batch_prepared_in_place),  BUG(joined_before_arrival),    BUG(read_one_line_early),
    BUG(changed_before_arrival),   BUG(stored_before_computed),   BUG(loaded_before_zeroed),
    BUG(reused_under_copy),        BUG(copied_on_default_stream), BUG(pageable_not_arrived),
};

}  // namespace

int main(int count, char** words) {
    return run_bugs(count, words, bugs);
}
