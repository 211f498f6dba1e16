// Each device in a process of its own: what it has to say comes line by line through a pipe.
#include "check/children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "base/limits/memory_room.hpp"
#include "check/measure.hpp"

namespace isthmus::checking {
namespace {

// The child's end: what it says, and when it may go on.
class Voice {
  public:
    explicit Voice(int descriptor) : descriptor_(descriptor) {}
    template <typename Value>
    void say(const std::string& name, const Value& value) const {
        std::ostringstream text;
        text.precision(17);
        text << name << ' ' << value;
        std::string line = text.str();
        for (char& each : line) each = each == '\n' ? ' ' : each;
        line += '\n';
        if (send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL) < 0) _exit(1);
    }
    void wait() const {
        char byte = 0;
        if (read(descriptor_, &byte, 1) != 1) _exit(1);
    }

  private:
    int descriptor_;
};

// The fields of a reading of the link, by the names that JSON has for them, too.
constexpr std::array<std::pair<const char*, std::optional<unsigned> LinkReading::*>, 5> link_fields{
    {{"generation", &LinkReading::generation},
     {"width", &LinkReading::width},
     {"max_generation", &LinkReading::max_generation},
     {"max_width", &LinkReading::max_width},
     {"replays", &LinkReading::replays}}};

void say_facts(const Voice& voice, const Facts& facts) {
    const DeviceInfo& info = facts.info;
    voice.say("name", info.name);
    voice.say("uuid", info.uuid);
    voice.say("pci_address", info.pci_address);
    voice.say("driver_version", info.driver_version);
    voice.say("vendor", info.vendor);
    voice.say("api_version", info.api_version);
    voice.say("compute_capability", info.compute_capability);
    voice.say("memory_bytes", info.memory_bytes);
    voice.say("shares", info.shares_host_memory);
    for (const auto& [name, value] : info.conditions) voice.say("condition." + name, value);
    const auto optional = [&voice](const char* name, const auto& value) {
        if (value) voice.say(name, *value);
    };
    optional("copy_engines", info.copy_engines);
    for (const auto& [when, link] : {std::pair{"rest.", &info.link}, {"begun.", &facts.begun}, {"", &facts.loaded}}) {
        for (const auto& [name, field] : link_fields) optional((std::string(when) + name).c_str(), link->*field);
    }
    optional("bound_node", facts.bound_node);
    optional("near_node", facts.near_node);
    voice.say("throttling", facts.throttling);
    voice.say("link_source", facts.link_source);
    voice.say("is_wrong", facts.is_wrong);
    voice.say("bytes", facts.bytes);
    for (unsigned each = 0; each < rate_count; ++each) {
        voice.say("rate." + std::to_string(each), facts.rates[each].rate);
        voice.say("noise." + std::to_string(each), facts.rates[each].noise);
    }
    for (unsigned each = 0; each < case_count; ++each) {
        const Repeats& repeats = facts.repeats[each];
        for (const double seconds : repeats.seconds) voice.say("repeat." + std::to_string(each), seconds);
        if (!repeats.wrong.empty()) voice.say("wrong." + std::to_string(each), repeats.wrong);
        if (!repeats.skipped.empty()) voice.say("skipped." + std::to_string(each), repeats.skipped);
    }
}

void read_fact(const std::string& line, Facts& facts) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) return;
    const std::string name = line.substr(0, blank), value = line.substr(blank + 1);
    const auto number = static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10));
    const double real = std::strtod(value.c_str(), nullptr);
    const auto is = [&name](const char* what) { return name == what; };
    if (is("name")) facts.info.name = value;
    if (is("uuid")) facts.info.uuid = value;
    if (is("pci_address")) facts.info.pci_address = value;
    if (is("driver_version")) facts.info.driver_version = value;
    if (is("shares")) facts.info.shares_host_memory = number != 0;
    if (name.starts_with("condition.")) facts.info.conditions[name.substr(10)] = value;
    if (is("vendor")) facts.info.vendor = value;
    if (is("api_version")) facts.info.api_version = value;
    if (is("compute_capability")) facts.info.compute_capability = value;
    if (is("memory_bytes")) facts.info.memory_bytes = std::strtoull(value.c_str(), nullptr, 10);
    if (is("copy_engines")) facts.info.copy_engines = static_cast<int>(number);
    for (const auto& [when, link] :
         {std::pair{"rest.", &facts.info.link}, {"begun.", &facts.begun}, {"", &facts.loaded}}) {
        for (const auto& [field, member] : link_fields) {
            if (name == std::string(when) + field) link->*member = number;
        }
    }
    if (is("bound_node")) facts.bound_node = static_cast<int>(number);
    if (is("near_node")) facts.near_node = static_cast<int>(number);
    if (is("link_source")) facts.link_source = value;
    if (is("throttling")) facts.throttling = value;
    if (is("is_wrong")) facts.is_wrong = number != 0;
    if (is("bytes")) facts.bytes = number;
    if (is("failure")) facts.failure = value;
    if (is("absent")) facts.is_absent = number != 0;
    // The number after the point, of an array of so many.
    const auto place = [&name](const char* what, std::size_t count) {
        return std::strtoul(name.c_str() + std::strlen(what), nullptr, 10) % count;
    };
    if (name.starts_with("repeat.")) facts.repeats[place("repeat.", case_count)].seconds.push_back(real);
    if (name.starts_with("wrong.")) facts.repeats[place("wrong.", case_count)].wrong = value;
    if (name.starts_with("skipped.")) facts.repeats[place("skipped.", case_count)].skipped = value;
    if (name.starts_with("at_once.")) facts.at_once[place("at_once.", 2)].push_back(real);
    if (name.starts_with("rate.")) facts.rates[place("rate.", rate_count)].rate = real;
    if (name.starts_with("noise.")) facts.rates[place("noise.", rate_count)].noise = real;
}

// Processes that had not ended when they were let go.
std::vector<pid_t> left;

// What a child does, and the parent's end of what it says.
class Child {
  public:
    explicit Child(const std::function<void(const Voice&)>& work) {
        std::array<int, 2> ends{-1, -1};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
        const pid_t parent = getpid();
        process_ = fork();
        if (process_ == 0) {
            begin_child(parent, ends[1]);
            close(ends[0]);
            const Voice voice(ends[1]);
            work(voice);
            voice.say("end", 1);
            // Without destructors and handlers: the system takes back more quickly what the driver has.
            _exit(0);
        }
        close(ends[1]);
        descriptor_ = ends[0];
    }
    ~Child() { stop(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void go_on() const { (void)send(descriptor_, "g", 1, MSG_NOSIGNAL); }
    // Reads its lines until one begins with `until`. Gives why it did not come to that.
    std::string read_until(const std::string& until, TimePoint deadline, double limit,
                           const std::function<void(const std::string&)>& take) {
        for (;;) {
            for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
                const std::string line = text_.substr(0, end);
                text_.erase(0, end + 1);
                if (line.starts_with("end ")) has_ended_ = true;
                take(line);
                if (line.starts_with(until) || has_ended_) return {};
            }
            const double left = seconds_between(now(), deadline);
            pollfd ready{descriptor_, POLLIN, 0};
            // What has come already counts, however late it is read.
            if (poll(&ready, 1, static_cast<int>(std::clamp(1000 * left, 0.0, 1e9))) == 0) {
                stop();
                std::array<char, 96> why{};
                std::snprintf(why.data(), why.size(), "the driver did not answer within %g s", limit);
                return why.data();
            }
            std::array<char, 4096> some{};
            const ssize_t received = read(descriptor_, some.data(), some.size());
            if (received <= 0) return ending(deadline);
            text_.append(some.data(), static_cast<std::size_t>(received));
        }
    }
    bool has_ended() const { return has_ended_; }

  private:
    // A process in the kernel does not die before it comes back from there: it is not waited for.
    void stop() {
        if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
        if (process_ <= 0) return;
        if (!has_ended_) kill(process_, SIGKILL);
        leave(waitpid(process_, nullptr, WNOHANG));
    }
    // The kernel may take its time over what such a process had of the driver, or not come back from there.
    std::string ending(TimePoint deadline) {
        int status = 0;
        has_ended_ = true;
        pid_t ended = 0;
        while (process_ > 0 && (ended = waitpid(process_, &status, WNOHANG)) == 0 && now() < deadline) usleep(1000);
        leave(ended);
        if (ended > 0 && WIFSIGNALED(status)) {
            return "the driver ended the process with signal " + std::to_string(WTERMSIG(status));
        }
        return "the process that asked the driver ended early";
    }

    void leave(pid_t ended) {
        if (ended == 0) left.push_back(process_);
        process_ = -1;
    }

    pid_t process_ = -1;
    int descriptor_ = -1;
    std::string text_;
    bool has_ended_ = false;
};

void work_on(int index, const Voice& voice, const Limits& limits, bool at_once) {
    Facts facts;
    auto prepared = Prepared::open(index, facts, limits.for_run, limits.root);
    Status status = prepared.ok() ? Status() : prepared.take_status();
    if (status.ok()) {
        voice.say("prepared", 1);
        voice.wait();
        status = prepared.value()->measure(facts);
    } else if (status.code() == Code::device_absent) {
        voice.say("absent", 1);
    }
    say_facts(voice, facts);
    if (status.ok() && at_once) {
        voice.say("measured", 1);
        voice.wait();
        status = prepared.value()->copy_at_once(facts);
        for (unsigned each = 0; each < facts.at_once.size(); ++each) {
            for (const double seconds : facts.at_once[each]) voice.say("at_once." + std::to_string(each), seconds);
        }
    }
    if (!status.ok()) voice.say("failure", status.message());
}

TimePoint after(double seconds) {
    return now() + std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(seconds));
}

// What an open device takes of the host's memory: buffers of each kind, and what the driver and the library have.
constexpr std::size_t device_bytes = std::size_t{1} << 30;

}  // namespace

void begin_child(pid_t parent, int kept) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int file = 0; nothing >= 0 && file <= STDERR_FILENO; ++file) {
        if (file != kept && file != nothing) dup2(nothing, file);
    }
}

void reap_children() {
    // A process that the driver does not let go is not waited for.
    const TimePoint deadline = after(1.0);
    for (const pid_t each : std::exchange(left, {})) {
        while (waitpid(each, nullptr, WNOHANG) == 0 && now() < deadline) usleep(1000);
    }
}

Counted count_in_child(const Limits& limits) {
    Counted counted;
    Child child([](const Voice& voice) {
        auto devices = count_devices();
        if (devices.ok()) {
            voice.say("devices", devices.value());
        } else {
            const Status status = devices.take_status();
            if (status.code() == Code::device_absent) voice.say("absent", 1);
            voice.say("failure", status.message());
        }
    });
    const std::string why =
        child.read_until("end ", after(limits.seconds), limits.seconds, [&](const std::string& line) {
            if (line.starts_with("devices ")) counted.devices = std::atoi(line.c_str() + 8);
            if (line.starts_with("failure ")) counted.failure = line.substr(8);
            if (line.starts_with("absent ")) counted.is_absent = true;
        });
    if (!why.empty()) counted.failure = why;
    return counted;
}

std::vector<Facts> measure_in_children(const std::vector<int>& indices, const Limits& limits) {
    std::vector<Facts> all(indices.size());
    // Else the out-of-memory killer would end one that is well.
    if (indices.size() > 1 && !check_memory_room(indices.size() * device_bytes, limits.root).ok()) {
        for (std::size_t i = 0; i < indices.size(); ++i) {
            all[i] = measure_in_children({indices[i]}, limits).front();
            reap_children();  // until then it may have its memory
        }
        return all;
    }
    std::vector<std::unique_ptr<Child>> children;
    children.reserve(indices.size());
    const bool for_run = limits.for_run, at_once = for_run && indices.size() > 1;
    const TimePoint deadline = after(limits.seconds);
    for (const int index : indices) {
        children.push_back(std::make_unique<Child>(
            [&limits, index, at_once](const Voice& voice) { work_on(index, voice, limits, at_once); }));
    }
    const auto read = [&](std::size_t i, const char* until, TimePoint by) {
        const std::string why = children[i]->read_until(until, by, limits.seconds,
                                                        [&](const std::string& line) { read_fact(line, all[i]); });
        if (!why.empty()) all[i].failure = why;
    };
    const auto is_going = [&](std::size_t i) { return all[i].failure.empty() && !children[i]->has_ended(); };
    // All are prepared before the first is measured, which none then disturbs.
    for (std::size_t i = 0; i < children.size(); ++i) {
        all[i].info.index = indices[i];
        read(i, "prepared ", deadline);
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (!is_going(i)) continue;
        if (for_run && children.size() == 1) std::fprintf(stderr, "checking cuda:%d\n", indices[i]);
        if (at_once) std::fprintf(stderr, "checking cuda:%d (%zu of %zu)\n", indices[i], i + 1, children.size());
        children[i]->go_on();
        read(i, at_once ? "measured " : "end ", after(limits.seconds));
        if (!at_once) children[i].reset();
    }
    if (!at_once) return all;
    std::vector<std::size_t> measured;
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (is_going(i)) measured.push_back(i);
    }
    if (measured.size() < 2) return all;
    for (const std::size_t i : measured) children[i]->go_on();
    const TimePoint end = after(limits.seconds);
    for (const std::size_t i : measured) read(i, "end ", end);
    return all;
}

}  // namespace isthmus::checking
