// Makes the call that a copy's shape names.
#pragma once

#include <vector>

#include "api.hpp"
#include "program.hpp"

// Where the two sides of a lane are.
struct Sides {
    std::byte* host;
    DevicePointer device;
    Stream stream;
};

class Copying {
  public:
    Copying(const CopyShape& shape, const Sides& sides) : shape_(shape), sides_(sides) {
        if (shape.mistake == Mistake::far_away) sides_.device += DevicePointer{1} << 42;
        if (shape.mistake == Mistake::null_side) (shape.bytes % 2 == 0 ? is_host_null_ : is_device_null_) = true;
        if (shape.by_thread_variant) sides_.stream = nullptr;
        calls_ = shape.by_thread_variant ? of_thread : driver;
    }

    Code make() {
        const bool by_runtime = shape_.by_runtime && runtime->cudaMemcpy != nullptr;
        switch (shape_.form) {
            case Form::linear: return by_runtime ? by_runtime_linear() : linear();
            case Form::generic: return by_runtime ? by_runtime_linear() : generic();
            case Form::rows:
            case Form::rows_unaligned: return by_runtime ? by_runtime_rows() : rows();
            case Form::layers: return by_runtime ? by_runtime_layers() : layers();
            case Form::batch:
            case Form::batch_2: return batch(by_runtime);
            case Form::array: return array();
            default: return peer(by_runtime);
        }
    }
    // The runtime keeps a thread's last error.
    bool is_by_runtime() const {
        return shape_.by_runtime && runtime->cudaMemcpy != nullptr && shape_.form != Form::array &&
               !(shape_.form == Form::batch ||
                 (shape_.form == Form::batch_2 && runtime->cudaMemcpyBatchAsync == nullptr));
    }

  private:
    std::byte* host(std::size_t at) const { return is_host_null_ ? nullptr : sides_.host + at; }
    DevicePointer device(std::size_t at) const { return is_device_null_ ? 0 : sides_.device + at; }
    std::size_t bytes() const { return shape_.mistake == Mistake::none_at_all ? 0 : shape_.bytes; }
    static void* memory(DevicePointer address) { return reinterpret_cast<void*>(address); }

    Code linear() const {
        std::byte* const here = host(shape_.host_at);
        const DevicePointer there = device(shape_.device_at);
        if (!shape_.is_asynchronous) {
            return shape_.to_device ? calls_->cuMemcpyHtoD(there, here, bytes())
                                    : calls_->cuMemcpyDtoH(here, there, bytes());
        }
        return shape_.to_device ? calls_->cuMemcpyHtoDAsync(there, here, bytes(), sides_.stream)
                                : calls_->cuMemcpyDtoHAsync(here, there, bytes(), sides_.stream);
    }
    Code generic() const {
        const DevicePointer here = at(host(shape_.host_at));
        const DevicePointer there = device(shape_.device_at);
        const DevicePointer to = shape_.to_device ? there : here;
        const DevicePointer from = shape_.to_device ? here : there;
        return shape_.is_asynchronous ? calls_->cuMemcpyAsync(to, from, bytes(), sides_.stream)
                                      : calls_->cuMemcpy(to, from, bytes());
    }
    Code by_runtime_linear() const {
        std::byte* const here = host(shape_.host_at);
        void* const there = memory(device(shape_.device_at));
        void* const to = shape_.to_device ? there : here;
        const void* const from = shape_.to_device ? here : there;
        return shape_.is_asynchronous ? runtime->cudaMemcpyAsync(to, from, bytes(), kind(), sides_.stream)
                                      : runtime->cudaMemcpy(to, from, bytes(), kind());
    }
    // cudaMemcpyKind
    int kind() const {
        if (shape_.mistake == Mistake::unknown_type) return 17;
        const bool to_device = shape_.to_device == (shape_.mistake != Mistake::other_direction);
        if (shape_.is_default_kind && shape_.mistake == Mistake::none) return 4;
        return to_device ? 1 : 2;
    }

    // CUmemorytype of a side.
    int type(bool is_host) const {
        if (shape_.mistake == Mistake::unknown_type && is_host == (shape_.width % 2 == 0)) return 17;
        // Both within the host or within the device, each from and to the same place.
        if (shape_.mistake == Mistake::other_direction) return shape_.width % 2 == 0 ? 1 : 2;
        if (shape_.is_default_kind && shape_.mistake == Mistake::none) return 4;
        return is_host ? 1 : 2;
    }
    // Where the rows lie, one side's as the other's for what stays within the host or the device.
    const SideOfRows& side(bool is_host) const {
        if (shape_.mistake == Mistake::other_direction) is_host = type(is_host) == 1;
        return is_host ? shape_.host : shape_.device;
    }
    template <typename Structure>
    void set(Structure& copy) const {
        const SideOfRows& from = side(shape_.to_device);
        const SideOfRows& to = side(!shape_.to_device);
        copy.source_x_bytes = from.x, copy.source_y = from.y;
        copy.destination_x_bytes = to.x, copy.destination_y = to.y;
        copy.source_pitch_bytes = from.pitch;
        copy.destination_pitch_bytes = to.pitch;
        copy.source_type = type(shape_.to_device);
        copy.destination_type = type(!shape_.to_device);
        copy.source_host = copy.destination_host = host(shape_.host.at);
        copy.source_device = copy.destination_device = device(shape_.device.at);
        // Unified addresses are in the place of the device's.
        if (copy.source_type == 4 && shape_.to_device) copy.source_device = at(host(shape_.host.at));
        if (copy.destination_type == 4 && !shape_.to_device) copy.destination_device = at(host(shape_.host.at));
        copy.width_bytes = shape_.width;
        copy.height = shape_.mistake == Mistake::none_at_all ? 0 : shape_.height;
    }
    Code rows() const {
        Copy2d copy{};
        set(copy);
        if (shape_.form == Form::rows_unaligned) return call(more->cuMemcpy2DUnaligned, &copy);
        return shape_.is_asynchronous ? calls_->cuMemcpy2DAsync(&copy, sides_.stream) : calls_->cuMemcpy2D(&copy);
    }
    Code layers() const {
        Copy3d copy{};
        set(copy);
        const SideOfRows& from = side(shape_.to_device);
        const SideOfRows& to = side(!shape_.to_device);
        copy.source_z = from.z, copy.source_height = from.rows_of_layer;
        copy.destination_z = to.z, copy.destination_height = to.rows_of_layer;
        copy.depth = shape_.depth;
        return shape_.is_asynchronous ? calls_->cuMemcpy3DAsync(&copy, sides_.stream) : calls_->cuMemcpy3D(&copy);
    }
    Code by_runtime_rows() const {
        std::byte* const here = host(shape_.host.at);
        void* const there = memory(device(shape_.device.at));
        void* const to = shape_.to_device ? there : here;
        const void* const from = shape_.to_device ? here : there;
        const std::size_t to_pitch = shape_.to_device ? shape_.device.pitch : shape_.host.pitch;
        const std::size_t from_pitch = shape_.to_device ? shape_.host.pitch : shape_.device.pitch;
        const std::size_t height = shape_.mistake == Mistake::none_at_all ? 0 : shape_.height;
        if (!shape_.is_asynchronous) {
            return runtime->cudaMemcpy2D(to, to_pitch, from, from_pitch, shape_.width, height, kind());
        }
        return runtime->cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, shape_.width, height, kind(), sides_.stream);
    }
    Code by_runtime_layers() const {
        RuntimeCopy3d copy{};
        const auto pointer = [&](void* begin, const SideOfRows& side) {
            return RuntimePointer{begin, side.pitch, side.pitch, side.rows_of_layer};
        };
        const RuntimePointer here = pointer(host(shape_.host.at), shape_.host);
        const RuntimePointer there = pointer(memory(device(shape_.device.at)), shape_.device);
        const RuntimePosition here_at{shape_.host.x, shape_.host.y, shape_.host.z};
        const RuntimePosition there_at{shape_.device.x, shape_.device.y, shape_.device.z};
        copy.source = shape_.to_device ? here : there;
        copy.source_at = shape_.to_device ? here_at : there_at;
        copy.destination = shape_.to_device ? there : here;
        copy.destination_at = shape_.to_device ? there_at : here_at;
        copy.extent = {shape_.width, shape_.mistake == Mistake::none_at_all ? 0 : shape_.height, shape_.depth};
        copy.kind = kind();
        return shape_.is_asynchronous ? runtime->cudaMemcpy3DAsync(&copy, sides_.stream) : runtime->cudaMemcpy3D(&copy);
    }

    Code batch(bool by_runtime) const {
        std::vector<DevicePointer> to, from;
        std::vector<std::size_t> lengths(shape_.pieces, shape_.piece_bytes);
        for (std::size_t i = 0; i < shape_.pieces; ++i) {
            const DevicePointer here = at(host(shape_.host_at + i * shape_.piece_bytes));
            const DevicePointer there = device(shape_.device_at + i * shape_.piece_bytes);
            to.push_back(shape_.to_device ? there : here);
            from.push_back(shape_.to_device ? here : there);
        }
        if (shape_.mistake == Mistake::empty_piece) lengths[shape_.pieces / 2] = 0;
        const std::size_t count = shape_.mistake == Mistake::none_at_all ? 0 : shape_.pieces;
        // Attributes of a third of the pieces each, where there are so many.
        std::vector<CopyAttributes> attributes(shape_.pieces % 3 == 0 ? 3 : 1);
        std::vector<std::size_t> first;
        for (std::size_t i = 0; i < attributes.size(); ++i) {
            attributes[i].source_access_order =
                1 + static_cast<int>((static_cast<std::size_t>(shape_.order) + i - 1) % 3);
            first.push_back(i * (shape_.pieces / 3));
        }
        if (shape_.mistake == Mistake::unknown_order) attributes.back().source_access_order = 99;
        std::size_t failed = 0;
        const std::size_t kinds = shape_.mistake == Mistake::no_attributes ? 0 : attributes.size();
        if (shape_.form == Form::batch) {
            return call(calls_->cuMemcpyBatchAsync, to.data(), from.data(), lengths.data(), count, attributes.data(),
                        first.data(), kinds, &failed, sides_.stream);
        }
        if (by_runtime && runtime->cudaMemcpyBatchAsync != nullptr) {
            return runtime->cudaMemcpyBatchAsync(reinterpret_cast<void* const*>(to.data()),
                                                 reinterpret_cast<const void* const*>(from.data()), lengths.data(),
                                                 count, attributes.data(), first.data(), kinds, sides_.stream);
        }
        return call(more->cuMemcpyBatchAsync2, to.data(), from.data(), lengths.data(), count, attributes.data(),
                    first.data(), kinds, sides_.stream);
    }

    // To an array of one dimension and back, or the other way round.
    Code array() const {
        if (more->cuMemcpyHtoA == nullptr || more->cuMemcpyAtoH == nullptr) return absent;
        constexpr int unsigned_bytes = 1;
        const ArrayDescriptor descriptor{32768, 0, unsigned_bytes, 1};
        Array made = nullptr;
        if (const Code code = more->cuArrayCreate(&made, &descriptor); code != success) return code;
        Code code = more->cuMemcpyHtoA(made, 0, host(shape_.host_at), bytes());
        if (code == success && !shape_.to_device) code = more->cuMemcpyAtoH(host(shape_.host_at), made, 0, bytes());
        (void)more->cuArrayDestroy(made);
        return code;
    }
    // From the device to itself: a part of what the lane has there.
    Code peer(bool by_runtime) const {
        const std::size_t length = std::min(bytes(), std::size_t{1} << 16);
        const DevicePointer there = device(shape_.device_at);
        if (by_runtime && runtime->cudaMemcpyPeer != nullptr) {
            return runtime->cudaMemcpyPeer(memory(there), 0, memory(there), 0, length);
        }
        return call(more->cuMemcpyDtoD, there, there, length);
    }

    CopyShape shape_;
    Sides sides_;
    const Driver* calls_ = nullptr;
    bool is_host_null_ = false, is_device_null_ = false;
};
