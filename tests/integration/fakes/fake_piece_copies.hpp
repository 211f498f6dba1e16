// The functions of the fake CUDA driver that copy many pieces at once: a part of fake_cuda.cpp.
#pragma once

// CUmemcpyAttributes
struct BatchAttributes {
    int order;
    int source_location[2], location[2];
    unsigned flags;
};

static bool are_attributes(const BatchAttributes* given, const std::size_t* places, std::size_t kinds,
                           std::size_t count) {
    constexpr int last_order = 3, last_location = 4, device_location = 1;
    if (given == nullptr || places == nullptr || kinds == 0 || kinds > count || places[0] != 0) return false;
    for (std::size_t i = 0; i < kinds; ++i) {
        if (given[i].order < 1 || given[i].order > last_order || given[i].flags > 1 || places[i] >= count) return false;
        if (i > 0 && places[i] <= places[i - 1]) return false;
        for (const int* location : {given[i].source_location, given[i].location}) {
            if (location[0] < 0 || location[0] > last_location) return false;
            if (location[0] == device_location && location[1] >= devices()) return false;
        }
    }
    return true;
}

static int copy_batch(const char* function, const Address* to, const Address* from, const std::size_t* sizes,
                      std::size_t count, const void* attributes, const std::size_t* places, std::size_t kinds,
                      std::size_t* failed, void* handle) {
    const auto* given = static_cast<const BatchAttributes*>(attributes);
    return copy_made(function, handle, [&](fake::Rows& rows, Takes& takes) {
        if (fake::is_legacy(handle) || to == nullptr || from == nullptr || sizes == nullptr) return invalid_value;
        if (count == 0 || !are_attributes(given, places, kinds, count)) return invalid_value;
        for (std::size_t i = 0; i < count; ++i) {
            const fake::Row row{to[i], from[i], sizes[i]};
            if (sizes[i] == 0 || is_refused(row, {})) return (failed != nullptr ? *failed = i : i), invalid_value;
            check_own(function, to[i]);
            check_own(function, from[i]);
            rows.push_back(row);
        }
        const fake::Stream* const stream = fake::streams.find(handle, current);
        if (stream == nullptr) return invalid_handle;
        if (stream->recorded != nullptr) return fake::capture_unsupported;
        takes = takes_of_batch(rows, given[0].order, *stream);
        return success;
    });
}

int cuMemcpy2DAsync_v2(const fake::Copy2d* given, void* stream) {
    return copy_section(__func__, given, stream);
}
int cuMemcpy3DAsync_v2(const fake::Copy3d* given, void* stream) {
    return copy_section(__func__, given, stream);
}
int cuMemcpyBatchAsync(Address* to, Address* from, std::size_t* sizes, std::size_t count, void* attributes,
                       std::size_t* places, std::size_t kinds, std::size_t* failed, void* stream) {
    return copy_batch(__func__, to, from, sizes, count, attributes, places, kinds, failed, stream);
}
int cuMemcpyBatchAsync_v2(Address* to, Address* from, std::size_t* sizes, std::size_t count, void* attributes,
                          std::size_t* places, std::size_t kinds, void* stream) {
    return copy_batch(__func__, to, from, sizes, count, attributes, places, kinds, nullptr, stream);
}
