// Does what a random program says, and writes down what came of each step.
#pragma once

#include <signal.h>
#include <sys/time.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "copying.hpp"
#include "facts.hpp"
#include "gates.hpp"
#include "mate.hpp"
#include "memory.hpp"

// What programs of one process share.
struct World {
    Context context = nullptr;
    Slots* slots = nullptr;
    Gates gates{};
    std::byte* fetched = nullptr;  // page-locked memory in which the device's is looked at
    char* fails = nullptr;         // of the environment: which function of a fake driver fails

    // In a context that is the calling thread's.
    void make() {
        slots = new Slots;
        gates.make();
        void* memory = nullptr;
        expect(driver->cuMemHostAlloc(&memory, slot_bytes, host_alloc_portable) == success);
        fetched = static_cast<std::byte*>(memory);
    }
};

inline std::atomic<long> interruptions = 0;

class Execution {
  public:
    Execution(World& world, Watchdog& watchdog, Mate& mate, const Program& program)
        : world_(world), watchdog_(watchdog), mate_(mate), program_(program), lanes_(program.lanes.size()) {}

    // Whether the context outlived it.
    bool run(std::size_t steps) {
        begin();
        steps = std::min(steps, program_.steps.size());
        for (std::size_t i = 0; i < steps; ++i) {
            const Step& step = program_.steps[i];
            if (step.act == Act::together) {
                const std::size_t end = std::min(steps, i + 1 + step.count);
                together(i + 1, end);
                i = end - 1;
            } else {
                write_line(on_thread(step, i));
            }
        }
        end();
        return !is_context_lost_;
    }

  private:
    struct Running {
        std::byte* host = nullptr;
        DevicePointer device = 0;
        Stream stream = nullptr;
        bool is_own_stream = false;
        bool is_spoiled = false;  // by an injected failure: nobody says what a copy that failed has left
        std::byte* locked = nullptr;
        std::atomic<long> counted = 0;
    };

    Running& of(const Step& step) { return lanes_[step.lane]; }
    static Stream make_stream(StreamKind kind, bool& is_own) {
        Stream stream = nullptr;
        is_own = kind == StreamKind::blocking || kind == StreamKind::non_blocking;
        if (is_own) {
            const unsigned flags = kind == StreamKind::non_blocking ? stream_non_blocking : 0;
            expect(driver->cuStreamCreate(&stream, flags) == success);
            return stream;
        }
        const std::uintptr_t number = kind == StreamKind::of_thread ? 2 : kind == StreamKind::legacy_by_name ? 1 : 0;
        return reinterpret_cast<Stream>(number);
    }

    void begin() {
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const Lane& lane = program_.lanes[i];
            HostSlot& host = world_.slots->host(lane.host, i, lane.is_fresh);
            host.fill(lane.extent, program_.seed * 7 + i);
            lanes_[i].host = host.data(lane.extent);
            lanes_[i].device = world_.slots->device(lane.device, i, lane.is_fresh).address();
            lanes_[i].stream = make_stream(lane.stream, lanes_[i].is_own_stream);
            fill_bytes(world_.fetched, lane.extent, program_.seed * 11 + i);
            expect(driver->cuMemcpyHtoD(lanes_[i].device, world_.fetched, lane.extent) == success);
            expect(driver->cuStreamSynchronize(nullptr) == success);
        }
        if (!program_.fails.empty() && world_.fails != nullptr) std::strcpy(world_.fails, program_.fails.c_str());
        if (program_.is_interrupted) interrupt(300);
    }
    static void interrupt(long microseconds) {
        struct sigaction action {};
        action.sa_handler = [](int) { ++interruptions; };
        action.sa_flags = SA_RESTART;
        sigaction(SIGALRM, &action, nullptr);
        const itimerval every{{0, microseconds}, {0, microseconds}};
        setitimer(ITIMER_REAL, &every, nullptr);
    }

    // Everything is waited for, and all memory looked at.
    void end() {
        if (program_.is_interrupted) interrupt(0);
        if (world_.fails != nullptr) *world_.fails = 0;
        world_.gates.open();
        Fact fact(program_.seed, program_.part + "end");
        if (is_capturing_) {
            Graph graph = nullptr;
            on(program_.lanes[captured_].who,
               [&] { fact.add("capture", driver->cuStreamEndCapture(lanes_[captured_].stream, &graph)); });
            if (graph != nullptr) (void)call(more->cuGraphDestroy, graph);
        }
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const std::string name = "lane" + std::to_string(i);
            on(program_.lanes[i].who, [&] { fact.add(name.c_str(), driver->cuStreamSynchronize(lanes_[i].stream)); });
        }
        fact.add("default", driver->cuStreamSynchronize(nullptr));
        if (more->cuCtxSynchronize != nullptr) {
            const Code code = more->cuCtxSynchronize();
            fact.add("context", code);
            is_context_lost_ = is_lasting(code);
        }
        for (Running& lane : lanes_) {
            if (lane.locked != nullptr) fact.add("unlock", driver->cuMemHostUnregister(lane.locked));
        }
        for (std::size_t i = 0; i < lanes_.size(); ++i) look_at(fact, i, std::to_string(i));
        for (const Running& lane : lanes_) {
            if (lane.is_own_stream) fact.add("destroyed", driver->cuStreamDestroy(lane.stream));
        }
        for (Event event : events_) (void)call(more->cuEventDestroy, event);
        fact.add("unexpected", wrong.exchange(0));
        write_line(fact.text());
    }
    // Of an error that stays, which would be all that later programs find.
    static bool is_lasting(Code code) { return code >= 700 && code < 720; }
    void look_at(Fact& fact, std::size_t i, const std::string& number) {
        if (lanes_[i].is_spoiled) return;
        const std::size_t extent = program_.lanes[i].extent;
        fact.add_hash(("host" + number).c_str(), hash_bytes(lanes_[i].host, extent));
        std::memset(world_.fetched, 0, extent);
        const Code code = driver->cuMemcpyDtoH(world_.fetched, lanes_[i].device, extent);
        if (code != success) fact.add(("fetched" + number).c_str(), code);
        fact.add_hash(("device" + number).c_str(), hash_bytes(world_.fetched, extent));
        fact.add(("counted" + number).c_str(), lanes_[i].counted.load());
    }

    // By the thread that the step names, of which the watchdog sees all.
    std::string on_thread(const Step& step, std::size_t i) {
        std::string line;
        on(step.who, [&] {
            Fact fact(program_.seed, program_.part + std::to_string(i));
            watchdog_.begin();
            do_step(step, fact);
            const Return result = watchdog_.end();
            // Whether an injected failure lies before or behind the wait for the stream is nothing that a driver does.
            if (result != Return::not_asked && !(step.act == Act::copy && of(step).is_spoiled)) {
                fact.add(name_of_return(step), result == Return::early    ? "early"
                                               : result == Return::waited ? "late"
                                                                          : "?");
            }
            line = fact.text() + after(step, result);
        });
        return line;
    }
    // A copy that no gate keeps may wait for what the driver lacks meanwhile, or not; and one to the device for room
    // that the driver has for it while its gate is closed.
    static const char* name_of_return(const Step& step) {
        if (step.act != Act::copy) return "returned";
        if (!step.is_behind_gate) return "returned_elsewhere";
        return step.copy.to_device && step.copy.is_asynchronous ? "returned_to_device" : "returned";
    }
    void on(unsigned who, const std::function<void()>& work) {
        if (who == 0) return work();
        mate_.give(work);
        mate_.wait();
    }
    void together(std::size_t begin, std::size_t end) {
        std::vector<std::string> lines(end - begin);
        const auto each = [&](unsigned who) {
            for (std::size_t i = begin; i < end; ++i) {
                const Step& step = program_.steps[i];
                if (step.who != who) continue;
                Fact fact(program_.seed, program_.part + std::to_string(i));
                do_step(step, fact);
                lines[i - begin] = fact.text() + after(step, Return::not_asked);
            }
        };
        mate_.give([&] { each(1); });
        each(0);
        mate_.wait();
        for (const std::string& line : lines) write_line(line);
    }
    // What a copy has brought.
    std::string after(const Step& step, Return result) {
        if (step.act != Act::copy || !step.flag || result == Return::early || result == Return::doubtful) return {};
        if (of(step).is_spoiled) return {};
        Fact fact(0, "");
        fact.add_hash("arrived", hash_bytes(of(step).host, program_.lanes[step.lane].extent));
        return fact.text().substr(2);
    }

    void do_step(const Step& step, Fact& fact) {
        Running& lane = of(step);
        switch (step.act) {
            case Act::copy: return copy(step, fact);
            case Act::without_context: {
                expect(driver->cuCtxSetCurrent(nullptr) == success);
                copy(step, fact);
                expect(driver->cuCtxSetCurrent(world_.context) == success);
                return;
            }
            case Act::write_host: fill_bytes(lane.host + step.at, step.bytes, step.seed); return;
            case Act::fill_device:
                fact.add("code", driver->cuMemsetD8Async(lane.device + step.at, static_cast<unsigned char>(step.seed),
                                                         step.bytes, lane.stream));
                return;
            case Act::copy_within_device:
                fact.add("code", call(more->cuMemcpyDtoDAsync, lane.device + step.to, lane.device + step.at, step.bytes,
                                      lane.stream));
                return;
            case Act::move_memory: {
                std::byte* const to = lanes_[step.other].host + step.to;
                const std::byte* const from = lane.host + step.at;
                if (step.lane == step.other || step.seed % 2 == 0)
                    std::memmove(to, from, step.bytes);
                else
                    std::memcpy(to, from, step.bytes);
                fact.add_hash("moved", hash_bytes(to, step.bytes));
                return;
            }
            case Act::close_gate: fact.add("code", world_.gates.close(step.lane, lane.stream, step.mode == 1)); return;
            case Act::open_gates: world_.gates.open(); return;
            case Act::query:
            case Act::query_event: return query(step, fact);
            case Act::synchronize: fact.add("code", driver->cuStreamSynchronize(lane.stream)); return;
            case Act::synchronize_default: fact.add("code", driver->cuStreamSynchronize(nullptr)); return;
            case Act::hand_over: return hand_over(step, fact);
            case Act::host_function:
                fact.add("code", call(more->cuLaunchHostFunc, lane.stream,
                                      HostFunction{[](void* count) { ++*static_cast<std::atomic<long>*>(count); }},
                                      static_cast<void*>(&lane.counted)));
                return;
            case Act::begin_capture: {
                const Code code = driver->cuStreamBeginCapture(lane.stream, step.mode);
                fact.add("code", code);
                is_capturing_ = code == success;
                captured_ = step.lane;
                return;
            }
            case Act::end_capture: return end_capture(step, fact);
            case Act::lock_pages: {
                const Code code = driver->cuMemHostRegister(lane.host + step.at, step.bytes, 0);
                fact.add("code", code);
                if (code == success) lane.locked = lane.host + step.at;
                return;
            }
            case Act::unlock_pages:
                fact.add("code", driver->cuMemHostUnregister(lane.host + step.at));
                lane.locked = nullptr;
                return;
            case Act::recreate_stream:
                fact.add("code", driver->cuStreamDestroy(lane.stream));
                if (step.flag && more->cuCtxSynchronize != nullptr) fact.add("context", more->cuCtxSynchronize());
                lane.stream = make_stream(program_.lanes[step.lane].stream, lane.is_own_stream);
                return;
            case Act::renew_memory: {
                const std::size_t extent = program_.lanes[step.lane].extent;
                HostSlot& slot = world_.slots->host(program_.lanes[step.lane].host, step.lane, true);
                lane.host = slot.data(extent);
                fact.add_hash("fresh", hash_bytes(lane.host, extent));
                slot.fill(extent, step.seed);
                return;
            }
            case Act::check: return look_at(fact, step.lane, "");
            default: return;
        }
    }
    void copy(const Step& step, Fact& fact) {
        Running& lane = of(step);
        Copying copying(step.copy, {lane.host, lane.device, lane.stream});
        const Code code = copying.make();
        fact.add("code", code);
        if (copying.is_by_runtime()) fact.add("last", call(runtime->cudaGetLastError));
        if (code != success && !program_.fails.empty()) lane.is_spoiled = true;
    }
    // Whether a stream has got there is certain while its gate keeps it, and in a capture, where it is refused.
    void query(const Step& step, Fact& fact) {
        Running& lane = of(step);
        const bool is_closed = world_.gates.is_closed(step.lane);
        if (!is_closed && !step.flag) return;
        if (step.act == Act::query) {
            return add_readiness(fact, step, call(more->cuStreamQuery, lane.stream), is_closed);
        }
        Event event = nullptr;
        expect(driver->cuEventCreate(&event, event_disable_timing) == success);
        fact.add("record", driver->cuEventRecord(event, lane.stream));
        add_readiness(fact, step, driver->cuEventQuery(event), is_closed);
        events_.push_back(event);
    }
    // Without a gate that was closed before the question, ready or not is a matter of time.
    void add_readiness(Fact& fact, const Step& step, Code code, bool was_closed) {
        if (was_closed && !world_.gates.is_closed(step.lane) && code == error_not_ready) return;
        fact.add("code", !was_closed && code == error_not_ready ? success : code);
    }

    void hand_over(const Step& step, Fact& fact) {
        Running& first = of(step);
        Running& second = lanes_[step.other];
        Event there = nullptr, back = nullptr;
        expect(driver->cuEventCreate(&there, event_disable_timing) == success);
        expect(driver->cuEventCreate(&back, event_disable_timing) == success);
        fact.add("record", driver->cuEventRecord(there, first.stream));
        fact.add("wait", driver->cuStreamWaitEvent(second.stream, there, 0));
        fact.add("code", call(more->cuMemcpyDtoDAsync, second.device + step.at, first.device + step.at, step.bytes,
                              second.stream));
        fact.add("record_back", driver->cuEventRecord(back, second.stream));
        fact.add("wait_back", driver->cuStreamWaitEvent(first.stream, back, 0));
        events_.push_back(there);
        events_.push_back(back);
    }
    void end_capture(const Step& step, Fact& fact) {
        Running& lane = of(step);
        Graph graph = nullptr;
        fact.add("code", driver->cuStreamEndCapture(lane.stream, &graph));
        is_capturing_ = false;
        if (graph == nullptr) return;
        GraphExecutable made = nullptr;
        const Code code = call(more->cuGraphInstantiateWithFlags, &made, graph, 0ULL);
        fact.add("instantiated", code);
        if (code == success) {
            fact.add("launched", more->cuGraphLaunch(made, lane.stream));
            fact.add("ended", driver->cuStreamSynchronize(lane.stream));
            (void)more->cuGraphExecDestroy(made);
        }
        (void)more->cuGraphDestroy(graph);
    }

    World& world_;
    Watchdog& watchdog_;
    Mate& mate_;
    const Program& program_;
    std::vector<Running> lanes_;
    std::vector<Event> events_;
    bool is_capturing_ = false, is_context_lost_ = false;
    std::size_t captured_ = 0;
};
