// Streams and events of the fake CUDA driver: commands run at once, unless something before them on their stream waits.
//
// There are no threads here. What waits is looked at again whenever the program calls the driver: a program that waits
// for a stream or asks for an event gets on, as it would with a real one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace fake {

// Guards all that the driver knows.
inline std::mutex world;

// What an event was recorded behind.
struct Moment {
    bool passed = true;
    std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};
struct Stream;
struct Event {
    std::shared_ptr<Moment> moment = std::make_shared<Moment>();
    const Stream* captured_by = nullptr;  // where it was recorded last, if that was into a graph
};

// Returns whether it could run; asked again until it could.
struct Command : std::function<bool()> {
    using std::function<bool()>::function;
    bool is_copy = false;
};

// What a stream was given while it was recording a graph.
using Recorded = std::vector<Command>;

// What the queue of a stream takes, as on an H200 with driver 580.
constexpr std::size_t most_queued = 1020;

// How many commands a stream was given, and how many of them have run: it may end before those that wait for it.
struct Progress {
    std::uint64_t given = 0, done = 0;
};

struct Stream {
    void* context = nullptr;
    bool is_blocking = false;  // waits for the default stream, and that for it
    bool destroyed = false;
    std::deque<Command> queue = {};
    Recorded* recorded = nullptr;  // null while it records nothing
    bool is_default = false;       // the legacy one, which waits for all that wait for it
    void* handle = nullptr;
    unsigned long long id = 0;
    std::shared_ptr<Progress> progress = std::make_shared<Progress>();

    // Whether anything ran.
    bool advance() {
        bool ran = false;
        while (!queue.empty() && queue.front()()) {
            queue.pop_front();
            ++progress->done;
            ran = true;
        }
        return ran;
    }
};

class Streams {
  public:
    // All functions: with `world` held.
    Stream* create(void* context, bool is_blocking = false) {
        all_.push_back(std::make_unique<Stream>(Stream{context, is_blocking}));
        Stream& made = *all_.back();
        made.id = ++last_id_;
        // As the driver does, the one that was given back last, whether or not its stream has ended.
        if (free_handles_.empty()) {
            free_handles_.reserve(++handles_);  // for all, as giving one back must not need memory
            free_handles_.push_back(new char);
        }
        made.handle = free_handles_.back();
        free_handles_.pop_back();
        return &made;
    }
    // A null stream and one for each thread come to be when they are first used. Null for a handle that no stream has.
    Stream* find(void* handle, void* context) {
        const auto number = reinterpret_cast<std::uintptr_t>(handle);
        if (number <= 2) {
            const auto thread = number == 2 ? std::this_thread::get_id() : std::thread::id();
            Stream*& special = special_[{context, thread}];
            if (special == nullptr) {
                special = create(context, number == 2);
                special->is_default = number != 2;
            }
            return special;
        }
        const auto found = std::find_if(all_.begin(), all_.end(), [handle](const auto& stream) {
            return stream->handle == handle && !stream->destroyed;
        });
        return found == all_.end() ? nullptr : found->get();
    }
    void enqueue(Stream& stream, Command command) {
        command = behind_others(stream, std::move(command));
        ++stream.progress->given;
        if (stream.queue.empty() && command()) {
            ++stream.progress->done;
            return advance();
        }
        stream.queue.push_back(std::move(command));
        ++waiting_;
    }
    // Until nothing moves any more: what one stream did may be what another waits for.
    void advance() {
        if (waiting_ == 0) return;
        bool ran = true;
        while (ran) {
            ran = false;
            for (const auto& stream : all_) ran = stream->advance() || ran;
        }
        std::erase_if(all_, [](const auto& stream) { return stream->destroyed && stream->queue.empty(); });
        waiting_ = 0;
        for (const auto& stream : all_) waiting_ += stream->queue.size();
    }
    // Lets a moment pass when all that a context's streams have by now has ended.
    void pass_behind(const void* context, const std::shared_ptr<Moment>& moment) {
        std::vector<std::pair<std::shared_ptr<Progress>, std::uint64_t>> ends;
        for (const auto& stream : all_) {
            if (stream->context == context) ends.emplace_back(stream->progress, stream->progress->given);
        }
        Stream& marker = *create(nullptr);
        enqueue(marker, [ends = std::move(ends), moment] {
            for (const auto& [progress, given] : ends) {
                if (progress->done < given) return false;
            }
            return moment->passed = true;
        });
        destroy(marker);
    }
    // What a context had goes with it, whatever it waits for.
    void forget(const void* context) {
        std::erase_if(special_, [context](const auto& one) { return one.first.first == context; });
        std::erase_if(
            all_, [context](const auto& stream) { return stream->context == context || stream->context == nullptr; });
        waiting_ = 1;
        advance();
    }
    // Streams of a context that wait for something, and hold back what is not a copy or comes before one.
    std::size_t held(const void* context) const {
        return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [context](const auto& stream) {
            return stream->context == context && !stream->queue.empty() && !stream->queue.front().is_copy;
        }));
    }
    bool all_idle() const {
        return std::all_of(all_.begin(), all_.end(), [](const auto& stream) { return stream->queue.empty(); });
    }
    bool is_idle(const void* context) const {
        return std::all_of(all_.begin(), all_.end(), [context](const auto& stream) {
            return stream->context != context || stream->queue.empty();
        });
    }
    // Whether all has ended that a call has to wait for that waits for this one. What a stream that waits for the
    // default one has in front of it there is not seen.
    bool is_idle(const Stream& stream) const {
        return stream.queue.empty() &&
               (!stream.is_default || std::all_of(all_.begin(), all_.end(), [&](const auto& other) {
                   return other->context != stream.context || !other->is_blocking || other->queue.empty();
               }));
    }
    void destroy(Stream& stream) {
        stream.destroyed = true;
        free_handles_.push_back(stream.handle);
        ++waiting_;  // to be looked at
        advance();
    }

  private:
    // The default stream waits for those that wait for it, and they for it.
    Command behind_others(const Stream& stream, Command command) const {
        if (!stream.is_default && !stream.is_blocking) return command;
        std::vector<std::pair<std::shared_ptr<Progress>, std::uint64_t>> others;
        for (const auto& other : all_) {
            const bool is_other = stream.is_default ? other->is_blocking : other->is_default;
            if (!is_other || other->context != stream.context || other->queue.empty()) continue;
            others.emplace_back(other->progress, other->progress->given);
        }
        if (others.empty()) return command;
        Command made([others = std::move(others), command] {
            return std::all_of(others.begin(), others.end(),
                               [](const auto& one) { return one.first->done >= one.second; }) &&
                   command();
        });
        made.is_copy = command.is_copy;
        return made;
    }
    std::vector<std::unique_ptr<Stream>> all_;
    std::map<std::pair<void*, std::thread::id>, Stream*> special_;
    std::vector<void*> free_handles_;
    std::size_t handles_ = 0;
    unsigned long long last_id_ = 0;
    std::size_t waiting_ = 0;
};

// Never destroyed, as memory.
inline Streams& streams = *new Streams;

// Without `world` held: returns when `done` says so, looking again and again, and ever more seldom.
template <typename Done>
void wait_until(Done done) {
    constexpr int eager_looks = 1000;
    for (int looks = 0;; ++looks) {
        {
            const std::lock_guard lock(world);
            streams.advance();
            if (done()) return;
        }
        if (looks < eager_looks) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }
}

}  // namespace fake
