// The functions of the fake CUDA driver that copy many pieces at once: a part of fake_cuda.cpp.
#pragma once

static int copy_batch(const char* function, Address* to, Address* from, std::size_t* sizes, std::size_t count,
                      std::size_t* failed, void* stream) {
    if (stream == nullptr) return invalid_value;
    for (std::size_t i = 0; i < count; ++i) {
        if (sizes[i] == 0) return (failed != nullptr ? *failed = i : i), invalid_value;
        check_own(function, to[i]);
        check_own(function, from[i]);
    }
    return enqueue_work(stream, [to = std::vector(to, to + count), from = std::vector(from, from + count),
                                 sizes = std::vector(sizes, sizes + count)] {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            std::memcpy(reinterpret_cast<void*>(to[i]), reinterpret_cast<void*>(from[i]), sizes[i]);
        }
    });
}

int cuMemcpy2DAsync_v2(const fake::Copy2d* copy, void* stream) {
    ENTER_CONTEXT();
    if (!fake::has_pitches(*copy) || !fake::is_within_blocks(fake::memory, *copy, copy->height)) return invalid_value;
    return enqueue_work(stream, [copy = *copy] { fake::copy_rows(copy, 1, 0, 0); });
}
int cuMemcpy3DAsync_v2(const fake::Copy3d* copy, void* stream) {
    ENTER_CONTEXT();
    if (!fake::has_pitches(*copy)) return invalid_value;
    if (!fake::is_within_blocks(fake::memory, *copy, copy->height * copy->depth)) return invalid_value;
    return enqueue_work(
        stream, [copy = *copy] { fake::copy_rows(copy, copy.depth, copy.source_height, copy.height_of_slices); });
}
int cuMemcpyBatchAsync(Address* to, Address* from, std::size_t* sizes, std::size_t count, void*, std::size_t*,
                       std::size_t, std::size_t* failed, void* stream) {
    ENTER_CONTEXT();
    return copy_batch(__func__, to, from, sizes, count, failed, stream);
}
int cuMemcpyBatchAsync_v2(Address* to, Address* from, std::size_t* sizes, std::size_t count, void*, std::size_t*,
                          std::size_t, void* stream) {
    ENTER_CONTEXT();
    return copy_batch(__func__, to, from, sizes, count, nullptr, stream);
}
