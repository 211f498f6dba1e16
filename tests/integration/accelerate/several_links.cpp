// A program with page-locked memory and copies that nobody waits for, in all that a driver allows it. What it prints is
// to be the same with and without the library that divides these copies over several links.
//
// several_links REACH SCENARIO [second]: on the second device, where that is said. REACH is how it gets at the driver
// (driver.hpp); `main` names the scenarios.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "driver.hpp"

namespace {

constexpr std::size_t mib = 1 << 20;
constexpr std::size_t size = 24 * mib + 4096 + 5;

void say(const char* what, long number) {
    std::printf("%s: %ld\n", what, number);
    std::fflush(stdout);
}

void fill(std::byte* memory, std::size_t bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 7);
}
struct Pinned : HostBlock {
    explicit Pinned(unsigned seed, std::size_t bytes = size) : HostBlock(bytes, true) { fill(data(), bytes, seed); }
};
bool same(Pinned& one, Pinned& other, std::size_t bytes = size) {
    return std::memcmp(one.data(), other.data(), bytes) == 0;
}

// Keeps a stream from going on, as a program does that will give it data later.
class Hold {
  public:
    explicit Hold(Stream stream) : word_(4096, true), stream_(stream) {
        std::memset(word_.data(), 0, 4);
        say("held", driver->cuStreamWaitValue32(stream, at(word_.data()), 1, 0));
    }
    ~Hold() { release(); }
    void release() { *reinterpret_cast<volatile std::uint32_t*>(word_.data()) = 1; }
    Stream stream() const { return stream_; }

  private:
    HostBlock word_;
    Stream stream_;
};

Stream stream_of(unsigned flags = 0) {
    Stream stream = nullptr;
    expect(driver->cuStreamCreate(&stream, flags) == success);
    return stream;
}
Context context_of(int device) {
    Context context = nullptr;
    expect(driver->cuDevicePrimaryCtxRetain(&context, device) == success);
    expect(driver->cuCtxSetCurrent(context) == success);
    return context;
}
// The one that functions without a stream use.
Stream default_stream() {
    return reach == "thread" ? reinterpret_cast<Stream>(2) : nullptr;
}
void synchronize(Stream stream) {
    expect(driver->cuStreamSynchronize(stream) == success);
}
void there(DevicePointer to, Pinned& from, Stream stream) {
    say("to the device", driver->cuMemcpyHtoDAsync(to, from.data(), size, stream));
}
void back(Pinned& to, DevicePointer from, Stream stream) {
    say("from the device", driver->cuMemcpyDtoHAsync(to.data(), from, size, stream));
}

// Nothing begins before what the stream holds, all that comes later sees it, and no call waits.
void keeps_order() {
    Pinned one(1), two(2), first(3), second(4), untouched(3);
    Block block(size);
    Stream stream = stream_of(), other = stream_of(1);
    Event event = nullptr;
    driver->cuEventCreate(&event, 0);
    for (Stream used : {stream, default_stream()}) {
        fill(first.data(), size, 3);
        Hold hold(used);
        there(block.address, one, used);
        back(first, block.address, used);
        there(block.address, two, used);
        driver->cuMemsetD8Async(block.address + mib, 7, mib, used);
        back(second, block.address, used);
        driver->cuEventRecord(event, used);
        expect(same(first, untouched));
        say("has passed", driver->cuEventQuery(event));
        // A stream that waits for the event comes after the copies.
        say("another waits", driver->cuStreamWaitEvent(other, event, 0));
        driver->cuMemsetD8Async(block.address, 9, size, other);
        hold.release();
        synchronize(used);
        synchronize(other);
        expect(same(first, one));
        expect(std::memcmp(second.data(), two.data(), mib) == 0);
        expect(second[mib] == std::byte{7} && second[2 * mib - 1] == std::byte{7});
        expect(std::memcmp(&second[2 * mib], &two[2 * mib], size - 2 * mib) == 0);
        back(second, block.address, used);
        synchronize(used);
        expect(second[0] == std::byte{9} && second[size - 1] == std::byte{9});
        say("has passed", driver->cuEventQuery(event));
    }
    // Those that wait for themselves, and whose direction addresses tell.
    for (int i = 0; i < 6; ++i) {
        fill(one.data(), size, 20 + i);
        say("waits", driver->cuMemcpyHtoD(block.address, one.data(), size));
        say("waits", driver->cuMemcpy(at(second.data()), block.address, size));
        expect(same(one, second));
        say("any", driver->cuMemcpyAsync(block.address, at(two.data()), size, stream));
        say("any", driver->cuMemcpyAsync(at(first.data()), block.address, size, stream));
        synchronize(stream);
        expect(same(first, two));
    }
    say("from beyond the block", driver->cuMemcpyHtoDAsync(block.address, one.data(), size + 8192, stream));
}

// Streams, events and memory that the program has no further use for.
void gives_back() {
    Stream last = stream_of(1);
    Event event = nullptr;
    driver->cuEventCreate(&event, 0);
    for (int i = 0; i < 4; ++i) {
        Pinned from(i), to(100);
        Block block(size);
        Stream stream = stream_of(1);
        {
            Hold hold(stream);
            there(block.address, from, stream);
            back(to, block.address, stream);
            driver->cuEventRecord(event, stream);
            driver->cuStreamWaitEvent(last, event, 0);
            say("destroyed", driver->cuStreamDestroy(stream));
            hold.release();
            synchronize(last);
        }
        expect(same(from, to));
    }
}

// A second stream that does not wait for the first, which is held and has no name any more.
void follows_nobody() {
    Stream last = stream_of(1), held = stream_of(1);
    Event event = nullptr;
    driver->cuEventCreate(&event, 0);
    Pinned from(1), to(2), other_from(3), other_to(4);
    Block block(size), another(size);
    Hold hold(held);
    there(block.address, from, held);
    back(to, block.address, held);
    driver->cuEventRecord(event, held);
    driver->cuStreamWaitEvent(last, event, 0);
    say("destroyed", driver->cuStreamDestroy(held));
    // Perhaps by the same handle.
    Stream anew = stream_of(1);
    there(another.address, other_from, anew);
    back(other_to, another.address, anew);
    synchronize(anew);
    expect(same(other_from, other_to));
    hold.release();
    synchronize(last);
    expect(same(from, to));
}

void records_graphs() {
    Pinned from(1), to(2), other_to(3);
    Block block(size), another(size);
    Stream stream = stream_of(1), other = stream_of(1);
    there(another.address, from, other);
    say("begin", driver->cuStreamBeginCapture(stream, 0));
    there(block.address, from, stream);
    // What others record in this way forbids much, but no copies: while it is under way they are the driver's.
    there(another.address, from, other);
    back(other_to, another.address, other);
    back(to, block.address, stream);
    Graph graph = nullptr;
    say("end", driver->cuStreamEndCapture(stream, &graph));
    say("graph", graph != nullptr);
    synchronize(other);
    expect(same(from, other_to));
}

// More than the queues of a neighbour take, while the first of them is held.
void queues_many() {
    Pinned from(1), to(2);
    Block block(size);
    Stream stream = stream_of(1);
    {
        Hold hold(stream);
        for (int i = 0; i < 200; ++i) {
            const Code code = driver->cuMemcpyHtoDAsync(block.address, from.data(), size, stream);
            if (code != success) say("queued", code);
        }
        hold.release();
        synchronize(stream);
    }
    back(to, block.address, stream);
    synchronize(stream);
    expect(same(from, to));
}

// Memory that only the context of the device knows as page-locked.
void registers() {
    Pinned to(3);
    Block block(size);
    Stream stream = stream_of(1);
    for (const unsigned flags : {0U, 1U}) {
        void* const pages = mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto* const bytes = static_cast<std::byte*>(pages);
        fill(bytes, size, flags);
        const std::size_t half = size / 2 / 4096 * 4096;
        say("registered", driver->cuMemHostRegister(bytes, 2 * half, flags));
        {
            Hold hold(stream);
            say("queued", driver->cuMemcpyHtoDAsync(block.address, bytes, 2 * half, stream));
            hold.release();
            synchronize(stream);
        }
        back(to, block.address, stream);
        synchronize(stream);
        expect(std::memcmp(to.data(), bytes, 2 * half) == 0);
        driver->cuMemHostUnregister(bytes);
        // Two blocks side by side, across which the driver does not copy.
        driver->cuMemHostRegister(bytes, half, flags);
        driver->cuMemHostRegister(bytes + half, half, flags);
        say("across two", driver->cuMemcpyHtoDAsync(block.address, bytes, 2 * half, stream));
        say("across two", driver->cuMemcpyHtoD(block.address, bytes, 2 * half));
        driver->cuMemHostUnregister(bytes);
        driver->cuMemHostUnregister(bytes + half);
        munmap(pages, 2 * size);
    }
}

// Threads of one context, each in its own order.
void on_threads() {
    Context context = context_of(0);
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed) {
        threads.emplace_back([=] {
            driver->cuCtxSetCurrent(context);
            Pinned from(seed), to(9);
            Block block(size);
            Stream stream = reach == "thread" ? nullptr : stream_of(1);
            for (int i = 0; i < 6; ++i) {
                fill(from.data(), size, seed + 10 * i);
                expect(driver->cuMemcpyHtoDAsync(block.address, from.data(), size, stream) == success);
                expect(driver->cuMemcpyDtoHAsync(to.data(), block.address, size, stream) == success);
                synchronize(stream);
                expect(same(from, to));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

// The same on a program's second device, and on both.
void on_both() {
    Context second = context_of(1), first = context_of(0);
    Pinned from(1), other_from(2), to(3), other_to(4);
    driver->cuCtxSetCurrent(second);
    auto there_too = std::make_unique<Block>(size);
    Stream stream_there = stream_of(1);
    there(there_too->address, other_from, stream_there);
    back(other_to, there_too->address, stream_there);
    synchronize(stream_there);
    expect(same(other_from, other_to));
    driver->cuCtxSetCurrent(first);
    auto here = std::make_unique<Block>(size);
    Stream stream_here = stream_of(1);
    for (int i = 0; i < 4; ++i) {
        fill(from.data(), size, 10 + i);
        fill(other_from.data(), size, 20 + i);
        driver->cuCtxSetCurrent(first);
        there(here->address, from, stream_here);
        back(to, here->address, stream_here);
        driver->cuCtxSetCurrent(second);
        there(there_too->address, other_from, stream_there);
        back(other_to, there_too->address, stream_there);
        synchronize(stream_there);
        driver->cuCtxSetCurrent(first);
        synchronize(stream_here);
        expect(same(from, to));
        expect(same(other_from, other_to));
        // With this device current, memory of the other one.
        say("of another device", driver->cuMemcpyHtoD(there_too->address, from.data(), size));
        driver->cuCtxSetCurrent(second);
        back(other_to, there_too->address, stream_there);
        synchronize(stream_there);
        expect(same(from, other_to));
        driver->cuCtxSetCurrent(first);
    }
    here.reset();
    driver->cuCtxSetCurrent(second);
    there_too.reset();
}

// Copies of the second device go on while the first one's, both ways, are held, by two streams or more.
void goes_on_beside(int more) {
    Context first = context_of(0), second = context_of(1);
    Pinned from(1), to(2), other_from(3), other_to(4);
    Pinned last_from(5, mib), last_to(6, mib);
    auto there_too = std::make_unique<Block>(size);
    driver->cuCtxSetCurrent(first);
    Block block(size), last(mib);
    Stream stream = stream_of(1), other = stream_of(1);
    {
        Hold hold(stream), hold_other(other);
        there(block.address, from, stream);
        back(to, block.address, stream);
        back(to, block.address, other);
        std::vector<std::unique_ptr<Hold>> others;
        for (int i = 0; i < more; ++i) {
            others.push_back(std::make_unique<Hold>(stream_of(1)));
            driver->cuMemcpyHtoDAsync(last.address, last_from.data(), mib, others.back()->stream());
            driver->cuMemcpyDtoHAsync(last_to.data(), last.address, mib, others.back()->stream());
        }
        driver->cuCtxSetCurrent(second);
        for (int i = 0; i < 6; ++i) {
            fill(other_from.data(), size, i);
            say("beside", driver->cuMemcpyHtoD(there_too->address, other_from.data(), size));
            say("beside", driver->cuMemcpyDtoH(other_to.data(), there_too->address, size));
            expect(same(other_from, other_to));
        }
        driver->cuCtxSetCurrent(first);
        for (auto& each : others) each->release();
        hold.release();
        synchronize(stream);
        hold_other.release();
        synchronize(other);
    }
    expect(same(from, to));
    driver->cuCtxSetCurrent(second);
    there_too.reset();
    driver->cuCtxSetCurrent(first);
}

// All that a context had goes, its copies that are under way among it; what is opened anew works. The other device's
// context, over which copies went, likewise.
void resets() {
    for (int device : {0, 1, 0}) {
        for (int i = 0; i < 2; ++i) {
            context_of(0);
            Pinned from(i), to(9);
            Block block(size);
            Stream stream = stream_of(1);
            there(block.address, from, stream);
            back(to, block.address, stream);
            synchronize(stream);
            expect(same(from, to));
            if (i == 1) there(block.address, from, stream);
        }
        say("reset", driver->cuDevicePrimaryCtxReset(device));
    }
}

void ends_in_the_middle() {
    Pinned from(1), to(2);
    Block block(size);
    Stream stream = stream_of(1);
    Hold hold(stream);
    there(block.address, from, stream);
    back(to, block.address, stream);
    std::exit(5);
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    reach = words[1];
    const Driver functions;
    driver = &functions;
    if (driver->cuInit(0) != success) return 77;
    const std::map<std::string, std::function<void()>> scenarios{{"order", keeps_order},
                                                                 {"back", gives_back},
                                                                 {"anew", follows_nobody},
                                                                 {"graphs", records_graphs},
                                                                 {"many", queues_many},
                                                                 {"registered", registers},
                                                                 {"threads", on_threads},
                                                                 {"both", on_both},
                                                                 {"reset", resets},
                                                                 {"exit", ends_in_the_middle},
                                                                 {"beside", [] { goes_on_beside(0); }},
                                                                 {"beside_four", [] { goes_on_beside(4); }}};
    const bool is_on_second = count > 3;
    context_of(is_on_second ? 1 : 0);
    scenarios.at(words[2])();
    say("wrong", wrong);
    return wrong == 0 ? 0 : 1;
}
