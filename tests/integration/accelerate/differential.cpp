// Random programs, each of which writes down what came of its steps: to be compared with the same programs run
// otherwise.
//
// differential run FIRST COUNT: these programs, one after the other, in one process. differential own SEED: one that
// forks, exits, resets or is killed. differential list SEED: the program as text. --steps N: only the first N steps.
// --without NAME,...: leaves out what is named (LeftOut). Ends with 77 without a device.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "random_programs/execute.hpp"
#include "random_programs/generate.hpp"
#include "random_programs/listing.hpp"
#include "random_programs/own.hpp"

namespace {

struct Words {
    std::string mode;
    std::vector<std::uint64_t> numbers;
    std::size_t steps = SIZE_MAX;
    LeftOut left_out;
};

void leave_out(LeftOut& left_out, std::string_view names) {
    const std::pair<const char*, bool LeftOut::*> known[] = {
        {"positions", &LeftOut::positions},
        {"captures", &LeftOut::captures},
        {"gates", &LeftOut::gates},
        {"mistakes", &LeftOut::mistakes},
        {"batches", &LeftOut::batches},
        {"blocking_captures", &LeftOut::blocking_captures},
        {"thread_variants", &LeftOut::thread_variants},
        {"rows_behind_gates", &LeftOut::rows_behind_gates},
        {"partly_locked", &LeftOut::partly_locked},
        {"jumps", &LeftOut::jumps},
        {"cancellation", &LeftOut::cancellation},
    };
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        bool is_known = false;
        for (const auto& [text, member] : known) {
            if (name == text) left_out.*member = is_known = true;
        }
        if (!is_known) std::exit(2);
    }
}

Words read_words(int count, char** words) {
    Words read;
    if (count < 3) std::exit(2);
    read.mode = words[1];
    for (int i = 2; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "--steps" && i + 1 < count)
            read.steps = std::strtoull(words[++i], nullptr, 10);
        else if (word == "--without" && i + 1 < count)
            leave_out(read.left_out, words[++i]);
        else
            read.numbers.push_back(std::strtoull(words[i], nullptr, 10));
    }
    return read;
}

int run(const Words& words) {
    World world;
    if (!start(world)) return 77;
    Watchdog watchdog(world.gates);
    Mate mate;
    on_both(mate, [&] { return driver->cuCtxSetCurrent(world.context); });
    const std::uint64_t first = words.numbers.at(0), count = words.numbers.at(1);
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const Program program = Generator(seed, words.left_out).make();
        if (!Execution(world, watchdog, mate, program).run(words.steps)) std::_Exit(70);
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    Words read = read_words(count, words);
    // On the stack, as some programs have what they copy.
    alignas(64) std::byte on_stack[most_lanes * stack_bytes];
    stack_memory = on_stack;
    prepare_failures();
    find_functions(read.numbers.at(0));
    read.left_out.is_fake = more->is_fake;
    if (read.mode == "list") {
        std::fputs(listing(Generator(read.numbers[0], read.left_out).make(), read.steps).c_str(), stdout);
        return 0;
    }
    if (read.mode == "run") return run(read);
    return run_alone(read.numbers[0], read.left_out);
}
