// Captures that end in each of the ways in which they can, and calls that begin or end none, with copies in between:
// how many of them were made while a graph was captured, and how many while none was.
#include <cstdio>
#include <thread>

#include "../driver.hpp"

namespace {

constexpr std::size_t bytes = std::size_t{4} << 20;
constexpr int relaxed = 2;
constexpr unsigned non_blocking = 1;
std::vector<std::byte> host(bytes), back(bytes);
Context primary = nullptr;
long captured = 0, others = 0;

void copy(long& count) {
    const Block block(bytes);
    for (std::size_t i = 0; i < bytes; i += 4096) host[i] = static_cast<std::byte>(count + static_cast<long>(i >> 12));
    // The legacy stream may not be used while a stream is captured that waits for it.
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, non_blocking) == success);
    expect(driver->cuMemcpyHtoDAsync(block.address, host.data(), bytes, stream) == success);
    expect(driver->cuMemcpyDtoHAsync(back.data(), block.address, bytes, stream) == success);
    expect(host == back);
    expect(driver->cuStreamDestroy(stream) == success);
    count += 2;
}

Stream captured_stream() {
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, non_blocking) == success);
    expect(driver->cuStreamBeginCapture(stream, relaxed) == success);
    return stream;
}

bool ends(Stream stream) {
    Graph graph = nullptr;
    return driver->cuStreamEndCapture(stream, &graph) == success;
}

void ended() {
    Stream const stream = captured_stream();
    copy(captured);
    expect(ends(stream));
    expect(driver->cuStreamDestroy(stream) == success);
}
void ended_with_stream() {
    Stream const stream = captured_stream();
    copy(captured);
    expect(driver->cuStreamDestroy(stream) == success);
}
void ended_with_context() {
    static auto* const create = get<Code(Context*, unsigned, Device)>("cuCtxCreate", "cuCtxCreate_v2");
    static auto* const destroy = get<Code(Context)>("cuCtxDestroy", "cuCtxDestroy_v2");
    Context context = nullptr;
    expect(create(&context, 0, 0) == success);
    (void)captured_stream();
    expect(destroy(context) == success);
    expect(driver->cuCtxSetCurrent(primary) == success);
}
void ended_with_reset() {
    (void)captured_stream();
    expect(driver->cuDevicePrimaryCtxReset(0) == success);
    expect(driver->cuDevicePrimaryCtxRetain(&primary, 0) == success);
    expect(driver->cuCtxSetCurrent(primary) == success);
}
void refused() {
    Stream const stream = captured_stream();
    expect(driver->cuStreamBeginCapture(stream, relaxed) != success);
    copy(captured);
    expect(ends(stream));
    expect(!ends(stream));
    expect(!ends(stream));
    copy(others);
    expect(driver->cuStreamBeginCapture(stream, relaxed) == success);
    copy(captured);
    expect(ends(stream));
    expect(driver->cuStreamDestroy(stream) == success);
}
void of_thread() {
    Stream const stream = reinterpret_cast<Stream>(std::uintptr_t{2});
    expect(driver->cuStreamBeginCapture(stream, relaxed) == success);
    std::thread([stream] {
        expect(driver->cuCtxSetCurrent(primary) == success);
        expect(!ends(stream));
    }).join();
    copy(captured);
    expect(ends(stream));
}
// More at a time than a program has.
void many() {
    std::vector<Stream> streams(100);
    for (Stream& stream : streams) stream = captured_stream();
    for (const Stream stream : streams) {
        if (stream == streams.back()) copy(captured);
        expect(ends(stream));
        expect(driver->cuStreamDestroy(stream) == success);
    }
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) return 2;
    reach = words[1];
    const Driver functions;
    driver = &functions;
    if (driver->cuInit(0) != success || driver->cuDevicePrimaryCtxRetain(&primary, 0) != success) return 77;
    expect(driver->cuCtxSetCurrent(primary) == success);
    copy(others);
    for (void (*capture)() :
         {ended, ended_with_stream, ended_with_context, ended_with_reset, refused, of_thread, many}) {
        capture();
        copy(others);
    }
    std::printf("captured: %ld\nothers: %ld\nwrong: %ld\n", captured, others, wrong.load());
    return wrong == 0 ? 0 : 1;
}
