// Random programs of copies, fills, events, waits and touches of pinned memory, in which what the program has waited
// for is known from a set of copies for each stream, event and the host.
//
//   random_waits FIRST COUNT THREADS [racing]
//
// Each touch has been waited for, or touches only neighbours of a copy, and each copy and fill of a device's memory is
// behind those that it meets; with `racing` one in four is not. Prints how many copies and touches there were, how many
// of these race, and how many pairs of copies and fills do; ends with 1 where data or codes are wrong.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <set>
#include <string_view>
#include <thread>

#include "tests/integration/accelerate/driver.hpp"

namespace {

using Copies = std::set<unsigned>;
constexpr std::size_t streams = 5, events = 6, buffers = 8, page = 4096, buffer_bytes = 6 * page;
constexpr std::size_t shared_bytes = 4 * page;
constexpr unsigned non_blocking = 1, most_steps = 80;
std::atomic<long> copies_made = 0, touches_made = 0, races_made = 0, pairs_made = 0;

// A use of the memory of a device that all streams share.
struct Use {
    unsigned copy = 0;
    std::size_t begin = 0, end = 0;
    bool is_write = false;
    int value = -1;  // of a fill

    bool conflicts(const Use& other) const {
        const bool is_same = value >= 0 && value == other.value;
        return begin < other.end && other.begin < end && (is_write || other.is_write) && !is_same;
    }
    // So that what is not behind this one is not behind that one, either.
    bool replaces(const Use& other) const {
        return begin <= other.begin && other.end <= end && (is_write || !other.is_write);
    }
};

struct Buffer {
    HostBlock host{buffer_bytes, true};
    Block device{buffer_bytes};
    unsigned copy = 0;  // that was made of it last; 0: none
    std::size_t begin = 0, end = 0;
    bool is_into_host = false, is_over = true;
};

class RandomProgram {
  public:
    RandomProgram(unsigned seed, bool races) : random_(seed), races_(races), shared_(shared_bytes) {
        for (Stream& stream : streams_) expect(driver->cuStreamCreate(&stream, non_blocking) == success);
        for (Event& event : events_) expect(driver->cuEventCreate(&event, 2) == success);
        for (auto& recorded : recorded_) recorded = nullptr;
    }
    ~RandomProgram() {
        for (const Stream stream : streams_) expect(driver->cuStreamSynchronize(stream) == success);
        for (const Stream stream : streams_) expect(driver->cuStreamDestroy(stream) == success);
        for (const Event event : events_) expect(driver->cuEventDestroy(event) == success);
    }
    RandomProgram(const RandomProgram&) = delete;
    RandomProgram& operator=(const RandomProgram&) = delete;
    void run() {
        for (std::size_t steps = 1 + below(most_steps); steps > 0; --steps) step();
    }

  private:
    std::size_t below(std::size_t limit) { return random_() % limit; }

    void step() {
        const std::size_t stream = below(streams), event = below(events);
        switch (below(15)) {
            case 0:
                expect(driver->cuEventRecord(events_[event], streams_[stream]) == success);
                *(recorded_[event] = std::make_unique<Copies>()) = given_[stream];
                break;
            case 1:
                if (recorded_[event] == nullptr) break;
                expect(driver->cuStreamWaitEvent(streams_[stream], events_[event], 0) == success);
                given_[stream].insert(recorded_[event]->begin(), recorded_[event]->end());
                break;
            case 2:
            case 3:
                if (recorded_[event] == nullptr) break;
                // A device may not be as far yet.
                if (const Code code = below(2) == 0 ? driver->cuEventSynchronize(events_[event])
                                                    : driver->cuEventQuery(events_[event]);
                    code != error_not_ready) {
                    expect(code == success);
                    waited_.insert(recorded_[event]->begin(), recorded_[event]->end());
                }
                break;
            case 4:
                expect(driver->cuStreamSynchronize(streams_[stream]) == success);
                waited_.insert(given_[stream].begin(), given_[stream].end());
                break;
            case 5:
                // A stream of the same handle is another one, and what the old one was given is still under way.
                if (below(4) != 0) break;
                expect(driver->cuStreamDestroy(streams_[stream]) == success);
                expect(driver->cuStreamCreate(&streams_[stream], non_blocking) == success);
                given_[stream].clear();
                break;
            case 6:
            case 7:
            case 8: copy(stream); break;
            case 9:
            case 10:
            case 11: use(stream); break;
            default: touch(); break;
        }
    }
    void copy(std::size_t stream) {
        Buffer& buffer = buffers_[below(buffers)];
        if (buffer.copy != 0 && !waited_.contains(buffer.copy)) return;
        buffer.begin = below(2) == 0 ? 0 : below(2 * page);
        buffer.end = below(2) == 0 ? buffer_bytes : buffer_bytes - below(2 * page);
        buffer.is_into_host = below(2) == 0;
        std::byte* const host = &buffer.host[buffer.begin];
        const std::size_t bytes = buffer.end - buffer.begin;
        Code code = success;
        switch (below(2) + (buffer.is_into_host ? 2 : 0)) {
            case 0: code = driver->cuMemcpyHtoDAsync(buffer.device.address, host, bytes, streams_[stream]); break;
            case 1: code = driver->cuMemcpyAsync(buffer.device.address, at(host), bytes, streams_[stream]); break;
            case 2: code = driver->cuMemcpyDtoHAsync(host, buffer.device.address, bytes, streams_[stream]); break;
            default: code = driver->cuMemcpyAsync(at(host), buffer.device.address, bytes, streams_[stream]); break;
        }
        expect(code == success);
        buffer.copy = ++last_copy_;
        buffer.is_over = false;
        given_[stream].insert(last_copy_);
        ++copies_made;
    }
    // A fill of the shared memory, or a copy of one half of it to the other.
    void use(std::size_t stream) {
        const std::size_t half = shared_bytes / 2, bytes = 1 + below(half), at = below(half - bytes + 1);
        const bool is_fill = below(2) == 0, is_up = below(2) == 0;
        const auto value = static_cast<unsigned char>(below(3));
        const std::size_t to = at + (is_up ? half : 0), from = at + (is_up ? 0 : half);
        std::vector<Use> made{{last_copy_ + 1, to, to + bytes, true, is_fill ? value : -1}};
        if (!is_fill) made.push_back({last_copy_ + 1, from, from + bytes, false, -1});
        std::erase_if(uses_, [this](const Use& each) { return waited_.contains(each.copy); });
        long pairs = 0;
        for (const Use& mine : made) {
            pairs += std::count_if(uses_.begin(), uses_.end(), [&](const Use& each) {
                return mine.conflicts(each) && !given_[stream].contains(each.copy);
            });
        }
        if (pairs != 0 && !(races_ && below(4) == 0)) return;
        pairs_made += pairs;
        for (const Use& mine : made) {
            std::erase_if(uses_,
                          [&](const Use& each) { return given_[stream].contains(each.copy) && mine.replaces(each); });
        }
        uses_.insert(uses_.end(), made.begin(), made.end());
        const Code code =
            is_fill ? driver->cuMemsetD8Async(shared_.address + to, value, bytes, streams_[stream])
                    : driver->cuMemcpyAsync(shared_.address + to, shared_.address + from, bytes, streams_[stream]);
        expect(code == success);
        given_[stream].insert(++last_copy_);
        ++copies_made;
    }
    void touch() {
        Buffer& buffer = buffers_[below(buffers)];
        const bool writes = below(2) == 0, is_under_way = buffer.copy != 0 && !waited_.contains(buffer.copy);
        std::size_t place = below(buffer_bytes);
        if (is_under_way && !(races_ && below(4) == 0)) {
            // Its neighbours, or what it does not forbid.
            const bool is_allowed = !buffer.is_into_host && !writes;
            if (!is_allowed && buffer.begin == 0) return;
            if (!is_allowed) place = below(buffer.begin);
        } else if (is_under_way) {
            // On a page that it has for itself: the others may have been opened for a neighbour.
            const std::size_t first = (buffer.begin + page - 1) / page * page;
            place = first + below(buffer.end / page * page - first);
        }
        const bool is_inside = place >= buffer.begin && place < buffer.end;
        if (is_under_way && is_inside && (writes || buffer.is_into_host) && !buffer.is_over) {
            ++races_made;
            buffer.is_over = true;  // one touch of a copy is enough to know it
        }
        ++touches_made;
        std::byte* const byte = &buffer.host[place];
        static const int zeros = open("/dev/zero", O_RDWR | O_CLOEXEC);
        switch (below(2) + (writes ? 2 : 0)) {
            case 0: last_byte_ = *static_cast<volatile std::byte*>(byte); break;
            case 1: expect(write(zeros, byte, 1) == 1); break;
            case 2: *static_cast<volatile std::byte*>(byte) = std::byte{1}; break;
            default: expect(read(zeros, byte, 1) == 1); break;
        }
    }

    std::mt19937 random_;
    const bool races_;
    Block shared_;
    std::vector<Use> uses_;
    Buffer buffers_[buffers];
    Stream streams_[streams] = {};
    Event events_[events] = {};
    Copies given_[streams], waited_;
    std::unique_ptr<Copies> recorded_[events];
    unsigned last_copy_ = 0;
    std::byte last_byte_{};
};

}  // namespace

int main(int count, char** words) {
    if (count < 4) return 2;
    const auto first = static_cast<unsigned>(std::atoi(words[1])),
               programs = static_cast<unsigned>(std::atoi(words[2]));
    const bool races = count > 4 && words[4] == std::string_view("racing");
    const Context context = begin_driver("dlsym");
    if (context == nullptr) return 77;
    std::atomic<unsigned> next = first;
    std::vector<std::thread> threads;
    for (int i = 0; i < std::atoi(words[3]); ++i) {
        threads.emplace_back([&] {
            expect(driver->cuCtxSetCurrent(context) == success);
            for (unsigned seed = next++; seed < first + programs; seed = next++) RandomProgram(seed, races).run();
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::printf("%ld %ld %ld %ld\n", copies_made.load(), touches_made.load(), races_made.load(), pairs_made.load());
    return wrong == 0 ? 0 : 1;
}
