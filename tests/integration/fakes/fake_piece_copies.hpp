// The functions of the fake CUDA driver that copy many pieces at once: a part of fake_cuda.cpp.
#pragma once

struct BatchCall {
    Address *to, *from;
    std::size_t *sizes, count;
    const fake::CopyAttributes* attributes;
    const std::size_t* begins;
    std::size_t kinds;
};
static int copy_batch(const char* function, const BatchCall& call, std::size_t* failed, void* stream) {
    if (stream == nullptr || call.count == 0 || call.to == nullptr || call.from == nullptr || call.sizes == nullptr) {
        return invalid_value;
    }
    if (!fake::are_valid(call.attributes, call.begins, call.kinds, call.count)) return invalid_value;
    for (std::size_t i = 0; i < call.count; ++i) {
        auto* const to = reinterpret_cast<void*>(call.to[i]);
        auto* const from = reinterpret_cast<void*>(call.from[i]);
        const std::size_t size = call.sizes[i];
        if (size == 0 || to == nullptr || from == nullptr || fake::memory.is_split(to, size) ||
            fake::memory.is_split(from, size)) {
            return (failed != nullptr ? *failed = i : i), invalid_value;
        }
        check_own(function, call.to[i]);
        check_own(function, call.from[i]);
    }
    return enqueue_work(
        stream, [to = std::vector(call.to, call.to + call.count), from = std::vector(call.from, call.from + call.count),
                 sizes = std::vector(call.sizes, call.sizes + call.count)] {
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                std::memcpy(reinterpret_cast<void*>(to[i]), reinterpret_cast<void*>(from[i]), sizes[i]);
            }
        });
}

static const auto copy_section = [](const auto* copy, void* stream) {
    if (copy == nullptr || !fake::is_valid(fake::memory, *copy)) return invalid_value;
    return enqueue_work(stream, [copy = *copy] { fake::copy_rows(copy); });
};
int cuMemcpy2DAsync_v2(const fake::Copy2d* copy, void* stream) {
    ENTER_CONTEXT();
    return copy_section(copy, stream);
}
int cuMemcpy3DAsync_v2(const fake::Copy3d* copy, void* stream) {
    ENTER_CONTEXT();
    return copy_section(copy, stream);
}
int cuMemcpyBatchAsync(Address* to, Address* from, std::size_t* sizes, std::size_t count,
                       fake::CopyAttributes* attributes, std::size_t* begins, std::size_t kinds, std::size_t* failed,
                       void* stream) {
    ENTER_CONTEXT();
    return copy_batch(__func__, {to, from, sizes, count, attributes, begins, kinds}, failed, stream);
}
int cuMemcpyBatchAsync_v2(Address* to, Address* from, std::size_t* sizes, std::size_t count,
                          fake::CopyAttributes* attributes, std::size_t* begins, std::size_t kinds, void* stream) {
    ENTER_CONTEXT();
    return copy_batch(__func__, {to, from, sizes, count, attributes, begins, kinds}, nullptr, stream);
}
