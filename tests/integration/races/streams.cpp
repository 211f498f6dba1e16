// What orders two streams and what does not: each case does two things to the same bytes.
//
//   streams CASE
//
// ends with 0 unless a call fails.
#include "tests/integration/races/cases.hpp"

namespace {

constexpr std::size_t bytes = 64 << 10;
constexpr unsigned blocking = 0, non_blocking = 1;

Stream make(unsigned flags) {
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, flags) == success);
    return stream;
}
void fill(DevicePointer to, unsigned char value, Stream stream, std::size_t count = bytes) {
    expect(driver->cuMemsetD8Async(to, value, count, stream) == success);
}

// Two columns of the same rows, `apart` bytes from one another.
void rows(DevicePointer to, HostBlock& from, std::size_t apart) {
    constexpr std::size_t pitch = 512, width = 100, height = 64;
    constexpr int type_host = 1, type_device = 2;
    for (const std::size_t x : {std::size_t{0}, apart}) {
        Copy2d copy{};
        copy.source_type = type_host;
        copy.source_host = from.data();
        copy.source_pitch_bytes = copy.destination_pitch_bytes = pitch;
        copy.destination_type = type_device;
        copy.destination_device = to;
        copy.destination_x_bytes = x;
        copy.width_bytes = width;
        copy.height = height;
        expect(driver->cuMemcpy2DAsync(&copy, make(non_blocking)) == success);
    }
}

// Pieces of two batches on two streams, of which the last one of the first is the first one of the second.
void batches(DevicePointer to, HostBlock& from, bool is_in_order) {
    constexpr std::size_t pieces = 3, piece_bytes = 4096;
    constexpr int in_order = 1, whenever = 3;
    for (std::size_t batch = 0; batch < 2; ++batch) {
        DevicePointer destinations[pieces], sources[pieces];
        std::size_t sizes[pieces], first = 0, failed = 0;
        for (std::size_t i = 0; i < pieces; ++i) {
            destinations[i] = to + (batch * (pieces - 1) + i) * piece_bytes;
            sources[i] = at(from.data()) + (batch * pieces + i) * piece_bytes;
            sizes[i] = piece_bytes;
        }
        CopyAttributes attributes{};
        attributes.source_access_order = is_in_order ? in_order : whenever;
        expect(driver->cuMemcpyBatchAsync(destinations, sources, sizes, pieces, &attributes, &first, 1, &failed,
                                          make(non_blocking)) == success);
    }
}

void two(unsigned first, unsigned second, DevicePointer to) {
    fill(to, 1, make(first));
    fill(to, 2, make(second));
}

void run(const std::string& name) {
    const Block block(bytes);
    HostBlock host(bytes, true), flag(4096, true);
    const DevicePointer to = block.address;
    const Stream one = make(non_blocking), other = make(non_blocking);
    Event event = nullptr;
    expect(driver->cuEventCreate(&event, 2) == success);
    std::memset(flag.data(), 0, sizeof(std::uint32_t));
    const Cases cases{
        {"two", [&] { two(non_blocking, non_blocking, to); }},
        {"two_blocking", [&] { two(blocking, blocking, to); }},
        {"one_value", [&] { fill(to, 1, one), fill(to, 1, other); }},
        {"neighbours", [&] { fill(to, 1, one, bytes / 2), fill(to + bytes / 2, 2, other, bytes / 2); }},
        {"by_default_stream", [&] { fill(to, 1, make(blocking)), fill(to, 2, nullptr), fill(to, 3, make(blocking)); }},
        {"beside_default_stream", [&] { fill(to, 1, nullptr), fill(to, 2, one); }},
        {"event",
         [&] {
             fill(to, 1, one);
             expect(driver->cuEventRecord(event, one) == success);
             expect(driver->cuStreamWaitEvent(other, event, 0) == success);
             fill(to, 2, other);
         }},
        {"event_before",
         [&] {
             expect(driver->cuEventRecord(event, one) == success);
             fill(to, 1, one);
             expect(driver->cuStreamWaitEvent(other, event, 0) == success);
             fill(to, 2, other);
         }},
        {"host",
         [&] {
             fill(to, 1, one);
             expect(driver->cuStreamSynchronize(one) == success);
             fill(to, 2, other);
         }},
        // The host may write the word when it has waited for the other stream.
        {"value",
         [&] {
             fill(to, 1, one);
             expect(driver->cuStreamWaitValue32(other, at(flag.data()), 1, 0) == success);
             fill(to, 2, other);
             std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flag.data())).store(1);
             expect(driver->cuStreamSynchronize(other) == success);
         }},
        {"rows_meet", [&] { rows(to, host, 99); }},
        {"rows_apart", [&] { rows(to, host, 100); }},
        {"batches", [&] { batches(to, host, true); }},
        {"batches_out_of_order", [&] { batches(to, host, false); }},
        {"source_and_destination",
         [&] {
             expect(driver->cuMemcpyHtoDAsync(to, host.data(), bytes / 2, one) == success);
             expect(driver->cuMemcpyDtoHAsync(host.data(), to + bytes / 2, bytes / 2, other) == success);
         }},
    };
    cases.at(name)();
}

}  // namespace

int main(int count, char** words) {
    return run_case(count, words, run);
}
