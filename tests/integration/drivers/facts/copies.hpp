// The driver's copies, each form by one name.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "api.hpp"

namespace facts {

enum class Form { linear, unified, rows_2d, unaligned_2d, rows_3d, batch };

struct Copy {
    Form form = Form::linear;
    bool to_device = true;
    std::uint8_t* host = nullptr;
    Address device = 0;
    std::size_t bytes = 0;
    std::size_t width = 0;  // of a row or a piece
    std::size_t gap = 0;    // between rows of the host's side
    int order = order_of_stream;
    bool is_asynchronous = true;
    bool per_thread = false;

    std::size_t rows() const { return width == 0 ? 1 : bytes / width; }
    std::size_t row_bytes() const { return width == 0 ? bytes : width; }
    std::uint8_t* host_row(std::size_t row) const { return host + row * (row_bytes() + gap); }
    std::size_t host_bytes() const { return rows() * (row_bytes() + gap); }
};

inline Copy2d copy_2d(const Copy& copy) {
    Copy2d made{};
    const std::size_t host_pitch = copy.width + copy.gap;
    made.source_type = copy.to_device ? host_type : device_type;
    made.type = copy.to_device ? device_type : host_type;
    (copy.to_device ? made.source_pitch : made.pitch) = host_pitch;
    (copy.to_device ? made.pitch : made.source_pitch) = copy.width;
    made.source_host = copy.to_device ? copy.host : nullptr;
    made.host = copy.to_device ? nullptr : copy.host;
    (copy.to_device ? made.device : made.source_device) = copy.device;
    made.width = copy.width;
    made.height = copy.rows();
    return made;
}

// Of two layers.
inline Copy3d copy_3d(const Copy& copy) {
    const Copy2d flat = copy_2d(copy);
    Copy3d made{};
    made.source_type = flat.source_type;
    made.type = flat.type;
    made.source_host = flat.source_host;
    made.host = flat.host;
    made.source_device = flat.source_device;
    made.device = flat.device;
    made.source_pitch = flat.source_pitch;
    made.pitch = flat.pitch;
    made.width = flat.width;
    made.height = made.source_height = made.slice_height = copy.rows() / 2;
    made.depth = 2;
    return made;
}

struct Pieces {
    std::vector<Address> to, from;
    std::vector<std::size_t> bytes;
    Attributes attributes{};
    std::vector<Attributes> more;  // used in place of the one, where there are several
    std::vector<std::size_t> first{0};
    std::size_t kinds = 1;
};

inline Pieces pieces_of(const Copy& copy) {
    Pieces made;
    for (std::size_t i = 0; i < copy.rows(); ++i) {
        const auto host = reinterpret_cast<Address>(copy.host_row(i));
        const Address device = copy.device + i * copy.row_bytes();
        made.to.push_back(copy.to_device ? device : host);
        made.from.push_back(copy.to_device ? host : device);
        made.bytes.push_back(copy.row_bytes());
    }
    made.attributes.order = copy.order;
    return made;
}

// By the newest form that the driver has, or by the first one.
inline int copy_batch(Pieces& pieces, Handle stream, bool per_thread, bool newest = true) {
    const std::string suffix = per_thread ? "_ptsz" : "";
    Attributes* const attributes = pieces.more.empty() ? &pieces.attributes : pieces.more.data();
    if (newest) {
        const int code =
            call("cuMemcpyBatchAsync_v2" + suffix, pieces.to.data(), pieces.from.data(), pieces.bytes.data(),
                 pieces.to.size(), attributes, pieces.first.data(), pieces.kinds, stream);
        if (code != absent) return code;
    }
    std::size_t failed = 0;
    return call("cuMemcpyBatchAsync" + suffix, pieces.to.data(), pieces.from.data(), pieces.bytes.data(),
                pieces.to.size(), attributes, pieces.first.data(), pieces.kinds, &failed, stream);
}

inline int made(const Copy& copy, Handle stream) {
    const std::string late = copy.per_thread ? "_ptsz" : "", now = copy.per_thread ? "_ptds" : "";
    const auto host = static_cast<void*>(copy.host);
    const auto constant = static_cast<const void*>(copy.host);
    const auto address = reinterpret_cast<Address>(copy.host);
    switch (copy.form) {
        case Form::linear:
            if (copy.is_asynchronous) {
                return copy.to_device ? call("cuMemcpyHtoDAsync_v2" + late, copy.device, constant, copy.bytes, stream)
                                      : call("cuMemcpyDtoHAsync_v2" + late, host, copy.device, copy.bytes, stream);
            }
            return copy.to_device ? call("cuMemcpyHtoD_v2" + now, copy.device, constant, copy.bytes)
                                  : call("cuMemcpyDtoH_v2" + now, host, copy.device, copy.bytes);
        case Form::unified: {
            const Address to = copy.to_device ? copy.device : address, from = copy.to_device ? address : copy.device;
            return copy.is_asynchronous ? call("cuMemcpyAsync" + late, to, from, copy.bytes, stream)
                                        : call("cuMemcpy" + now, to, from, copy.bytes);
        }
        case Form::rows_2d:
        case Form::unaligned_2d: {
            const Copy2d rows = copy_2d(copy);
            const std::string name = copy.form == Form::rows_2d ? "cuMemcpy2D_v2" : "cuMemcpy2DUnaligned_v2";
            return copy.is_asynchronous ? call("cuMemcpy2DAsync_v2" + late, &rows, stream) : call(name + now, &rows);
        }
        case Form::rows_3d: {
            const Copy3d layers = copy_3d(copy);
            return copy.is_asynchronous ? call("cuMemcpy3DAsync_v2" + late, &layers, stream)
                                        : call("cuMemcpy3D_v2" + now, &layers);
        }
        case Form::batch: {
            Pieces pieces = pieces_of(copy);
            return copy_batch(pieces, stream, copy.per_thread);
        }
    }
    return absent;
}

inline std::string text_of(const Copy& copy) {
    static const char* const names[] = {"linear", "unified", "2-D", "2-D unaligned", "3-D", "batch"};
    std::string text = names[static_cast<int>(copy.form)];
    text += copy.is_asynchronous ? " async" : "";
    text += copy.per_thread ? " of the thread" : "";
    text += copy.to_device ? " to device, " : " to host, ";
    text += std::to_string(copy.bytes) + " bytes";
    if (copy.form == Form::batch) {
        text += " in pieces of " + std::to_string(copy.width) + ", order " + std::to_string(copy.order);
    } else if (copy.width != 0) {
        text += " in rows of " + std::to_string(copy.width) + " + " + std::to_string(copy.gap);
    }
    return text;
}

}  // namespace facts
