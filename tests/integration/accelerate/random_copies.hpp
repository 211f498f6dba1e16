// Copies of random forms and sizes there and back, each checked byte for byte with what lies around it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "driver.hpp"

// Of how many bytes copies are: each power of two as often as others, up to so many; beyond `small_bytes` are so many
// copies in a thousand.
struct Sizes {
    std::size_t most_bytes, small_bytes;
    unsigned large_in_thousand;
    bool is_pinned = false;  // page-locked memory on the host's side, which copies use until they have ended
};

// Of one thread: a block of the device, memory of the host, and what should be in both.
class RandomCopies {
  public:
    RandomCopies(Sizes sizes, std::uint64_t seed)
        : sizes_(sizes),
          random_(seed),
          block_(room()),
          host_(room(), sizes.is_pinned),
          host_should_(room()),
          device_should_(room()) {
        scramble(0, room());
        std::memcpy(device_should_.data(), host_.data(), room());
        put(block_.address, host_.data(), room());
        expect(driver->cuStreamCreate(&streams_[1], 0) == success);
        expect(driver->cuStreamCreate(&streams_[2], stream_non_blocking) == success);
    }
    ~RandomCopies() {
        for (Stream stream : {streams_[1], streams_[2]}) driver->cuStreamDestroy(stream);
    }
    RandomCopies(const RandomCopies&) = delete;
    RandomCopies& operator=(const RandomCopies&) = delete;

    void make(long count) {
        for (long i = 0; i < count; ++i) copy();
        // Whatever was touched far from where it should be.
        check(Span{0, room()}, Span{0, room()}, "at the end");
    }

  private:
    struct Piece {
        std::size_t host, device, bytes;
    };
    struct Span {
        std::size_t begin, end;
    };
    // What lies around a copy is looked at, too.
    static constexpr std::size_t around = 64, most_rows = 4096, most_gap = 64;

    // Gaps after rows, and up to two rows after each layer of more than eight.
    std::size_t room() const { return sizes_.most_bytes / 4 * 5 + 2 * most_rows * most_gap; }
    std::size_t below(std::size_t end) { return random_() % end; }
    std::size_t up_to(std::size_t most) {
        const std::size_t scale = std::size_t{1} << below(64 - static_cast<unsigned>(__builtin_clzll(most)));
        return std::min(most, scale + below(scale));
    }

    // Other bytes than before.
    void scramble(std::size_t begin, std::size_t end) {
        std::uint64_t word = random_() | 1;
        std::size_t i = begin;
        for (; i + sizeof word <= end; i += sizeof word) {
            std::uint64_t was = 0;
            std::memcpy(&was, &host_[i], sizeof was);
            was ^= word;
            word = word * 6364136223846793005U + 1442695040888963407U;
            std::memcpy(&host_[i], &was, sizeof was);
        }
        for (; i < end; ++i) host_[i] ^= std::byte{0x5A};
        std::memcpy(&host_should_[begin], &host_[begin], end - begin);
    }

    void place(std::vector<Piece>& pieces, std::size_t host_span, std::size_t device_span) {
        const std::size_t host = below(room() - host_span + 1);
        const std::size_t device = below(room() - device_span + 1);
        for (Piece& piece : pieces) {
            piece.host += host;
            piece.device += device;
        }
    }

    Code in_one_piece(const std::vector<Piece>& pieces, unsigned form, bool to_device, Stream stream) {
        const auto [from_start, device_at, bytes] = pieces.front();
        std::byte* const host = &host_[from_start];
        const DevicePointer device = block_.address + device_at;
        const DevicePointer to = to_device ? device : at(host);
        const DevicePointer from = to_device ? at(host) : device;
        switch (form) {
            case 0: return to_device ? driver->cuMemcpyHtoD(to, host, bytes) : driver->cuMemcpyDtoH(host, from, bytes);
            case 1:
                return to_device ? driver->cuMemcpyHtoDAsync(to, host, bytes, stream)
                                 : driver->cuMemcpyDtoHAsync(host, from, bytes, stream);
            case 2: return driver->cuMemcpy(to, from, bytes);
            default: return driver->cuMemcpyAsync(to, from, bytes, stream);
        }
    }

    // Rows of one layer or several, with pitches of their own on either side.
    template <typename Structure>
    static void fill(Structure& copy, bool to_device, std::byte* host, DevicePointer device, std::size_t host_pitch,
                     std::size_t device_pitch) {
        copy.source_type = to_device ? 1 : 2;
        copy.destination_type = to_device ? 2 : 1;
        copy.source_host = copy.destination_host = host;
        copy.source_device = copy.destination_device = device;
        copy.source_pitch_bytes = to_device ? host_pitch : device_pitch;
        copy.destination_pitch_bytes = to_device ? device_pitch : host_pitch;
    }

    void copy() {
        const bool is_large = below(1000) < sizes_.large_in_thousand;
        const std::size_t bytes = up_to(is_large ? sizes_.most_bytes : sizes_.small_bytes);
        const bool to_device = below(2) != 0;
        const auto form = static_cast<unsigned>(below(driver->cuMemcpyBatchAsync == nullptr ? 8 : 9));
        // The default stream of all waits for others' streams, which is not what a thread alone can foresee.
        Stream const stream = streams_[reach == "thread" && form != 8 ? below(3) : 1 + below(2)];
        const bool is_rows = form >= 4 && form < 8;
        const bool is_batch = form == 8;
        std::vector<Piece> pieces;
        std::size_t width = bytes, height = 1, depth = 1, host_pitch = bytes, device_pitch = bytes;
        std::size_t host_rows = 1, device_rows = 1;
        if (is_rows) {
            width = up_to(bytes);
            height = std::clamp<std::size_t>(bytes / width, 1, most_rows);
            if (form >= 6) depth = std::min<std::size_t>(1 + below(4), height);
            height /= depth;
            host_pitch = width + below(most_gap);
            device_pitch = width + below(most_gap);
            const std::size_t most_more = depth > 1 && height > 8 ? 3 : 1;
            host_rows = height + below(most_more);
            device_rows = height + below(most_more);
        }
        if (is_batch) {
            const std::size_t count = std::min<std::size_t>(1 + below(40), bytes);
            const std::size_t piece = bytes / count;
            for (std::size_t i = 0; i < count; ++i) {
                pieces.push_back({i * piece, i * piece, piece - (piece > 1 ? below(2) : 0)});
            }
        } else {
            for (std::size_t z = 0; z < depth; ++z) {
                for (std::size_t y = 0; y < height; ++y) {
                    pieces.push_back({(z * host_rows + y) * host_pitch, (z * device_rows + y) * device_pitch, width});
                }
            }
        }
        const std::size_t host_span = pieces.back().host + pieces.back().bytes;
        const std::size_t device_span = pieces.back().device + pieces.back().bytes;
        place(pieces, host_span, device_span);
        const Span host{pieces.front().host, pieces.front().host + host_span};
        const Span device{pieces.front().device, pieces.front().device + device_span};
        scramble(host.begin, host.end);
        for (const auto& [host_at, device_at, length] : pieces) {
            if (to_device) std::memcpy(&device_should_[device_at], &host_[host_at], length);
            if (!to_device) std::memcpy(&host_should_[host_at], &device_should_[device_at], length);
        }
        Code code = success;
        std::byte* const host_begin = &host_[host.begin];
        const DevicePointer device_begin = block_.address + device.begin;
        if (is_batch) {
            code = of_batch(pieces, to_device, stream);
        } else if (form >= 6) {
            Copy3d rows{};
            fill(rows, to_device, host_begin, device_begin, host_pitch, device_pitch);
            rows.source_height = to_device ? host_rows : device_rows;
            rows.destination_height = to_device ? device_rows : host_rows;
            rows.width_bytes = width, rows.height = height, rows.depth = depth;
            code = form == 6 ? driver->cuMemcpy3D(&rows) : driver->cuMemcpy3DAsync(&rows, stream);
        } else if (is_rows) {
            Copy2d rows{};
            fill(rows, to_device, host_begin, device_begin, host_pitch, device_pitch);
            rows.width_bytes = width, rows.height = height;
            code = form == 4 ? driver->cuMemcpy2D(&rows) : driver->cuMemcpy2DAsync(&rows, stream);
        } else {
            code = in_one_piece(pieces, form, to_device, stream);
        }
        expect(code == success);
        // What a copy to the device has read is the program's again when the call returns, but for a batch that reads
        // in the stream's order; what one to the host has brought is there.
        if (to_device && !is_batch && !sizes_.is_pinned) scramble(host.begin, host.end);
        if (is_batch || to_device || sizes_.is_pinned) expect(driver->cuStreamSynchronize(stream) == success);
        // The default stream's own.
        if (to_device) expect(driver->cuStreamSynchronize(nullptr) == success);
        char what[160];
        std::snprintf(what, sizeof what, "form %u, %s, %zu rows or pieces, %zu bytes, code %d", form,
                      to_device ? "to the device" : "to the host", pieces.size(), bytes, code);
        check(host, to_device ? device : Span{device.begin, device.begin}, what);
    }

    Code of_batch(const std::vector<Piece>& pieces, bool to_device, Stream stream) {
        std::vector<DevicePointer> to, from;
        std::vector<std::size_t> sizes;
        for (const auto& [host_at, device_at, length] : pieces) {
            const DevicePointer here = at(&host_[host_at]);
            const DevicePointer there = block_.address + device_at;
            to.push_back(to_device ? there : here);
            from.push_back(to_device ? here : there);
            sizes.push_back(length);
        }
        CopyAttributes attributes{};
        attributes.source_access_order = 1;  // as the stream comes to it
        std::size_t first = 0, failed = 0;
        return driver->cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), to.size(), &attributes, &first, 1,
                                          &failed, stream);
    }

    // What differs is said, and counts once.
    void check(const Span& host, const Span& device, const char* what) {
        const Span here = wider(host);
        if (std::memcmp(&host_[here.begin], &host_should_[here.begin], here.end - here.begin) != 0) {
            std::fprintf(stderr, "the host's memory is wrong: %s\n", what);
            ++wrong;
            std::memcpy(&host_should_[here.begin], &host_[here.begin], here.end - here.begin);
        }
        if (device.begin == device.end) return;
        const Span there = wider(device);
        fetched_.resize(there.end - there.begin);
        fetch(fetched_.data(), block_.address + there.begin, fetched_.size());
        if (std::memcmp(fetched_.data(), &device_should_[there.begin], fetched_.size()) != 0) {
            std::fprintf(stderr, "the device's memory is wrong: %s\n", what);
            ++wrong;
            std::memcpy(&device_should_[there.begin], fetched_.data(), fetched_.size());
        }
    }
    Span wider(const Span& span) const {
        return {span.begin - std::min(span.begin, around), std::min(span.end + around, room())};
    }

    const Sizes sizes_;
    std::mt19937_64 random_;
    Block block_;
    HostBlock host_;
    std::vector<std::byte> host_should_, device_should_, fetched_;
    Stream streams_[3] = {};
};

// By so many threads together, in the context.
inline void copy_on_threads(unsigned count, long copies, Sizes sizes, std::uint64_t seed, Context context) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back([=] {
            expect(driver->cuCtxSetCurrent(context) == success);
            RandomCopies(sizes, seed + i).make(copies / count);
        });
    }
    for (std::thread& thread : threads) thread.join();
}
