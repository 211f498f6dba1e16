// isthmus-check: is the link of each NVIDIA device all right? One program for prologs and pods, without Python.
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>

#include "check/children.hpp"
#include "check/output.hpp"
#include "check/run.hpp"
#include "check/subject.hpp"
#include "check/watch.hpp"
#include "judge/styles.hpp"

namespace {

using namespace isthmus::checking;  // NOLINT(google-build-using-namespace): the program is its folder

constexpr const char* usage =
    "Usage: isthmus-check [--device N]... [--style STYLE] [--strict] [--limit SECONDS]\n"
    "       isthmus-check --run [--device N | --rank N | --single] [--limit SECONDS]\n"
    "       isthmus-check --watch [--for SECONDS] [--looks FILE]\n"
    "\n"
    "Measures pinned and pageable copies of each CUDA device, both directions at once,\n"
    "reads its link while they run, and says whether that is normal.\n"
    "\n"
    "  --device N       That device alone, counted from 0 as the driver counts; may be repeated.\n"
    "  --style STYLE    plain, nagios, npd, nhc, prometheus or json, each with its exit codes.\n"
    "  --strict         Exit as for FAULT on ATTENTION, too.\n"
    "  --limit SECONDS  Give up a device whose driver does not answer within that time (10).\n"
    "  --run            Print all that was measured, without a verdict, as isthmus check takes it.\n"
    "  --rank N         The device of that rank of this machine: the first again after the last.\n"
    "  --single         Measure nothing where there are several devices.\n"
    "  --watch          Copy nothing; report what flaps, as it does. Exit code 1 if anything did.\n"
    "  --for SECONDS    Watch for so long; without it until a signal.\n"
    "  --looks FILE     Watch looks that were kept in place of this machine; - for standard input.\n"
    "\n"
    "Without --style it exits with 1 on FAULT, 3 where no device could be asked.\n"
    "Nothing to judge is 3 for plain, nagios and json, 2 for npd, 1 for "
    "nhc.\n";

struct Options {
    std::vector<int> devices;
    std::string style, looks, root;
    bool strict = false, watch = false, run = false, single = false;
    std::optional<int> rank;
    double limit = 10, seconds = 0;
};

[[noreturn]] void refuse(const std::string& what) {
    std::cerr << "isthmus-check: " << what << "\n" << usage;
    std::exit(2);
}

double number(const std::string& name, const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= 0) || value > 1e9) refuse(name + " takes a number, not " + text);
    return value;
}

Options parsed(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& name = words[i];
        const auto next = [&]() -> const std::string& {
            if (i + 1 == words.size()) refuse(name + " needs a value");
            return words[++i];
        };
        if (name == "--help" || name == "-h") {
            std::cout << usage;
            std::exit(0);
        } else if (name == "--version") {
            std::cout << "isthmus-check " << ISTHMUS_VERSION << "\n";
            std::exit(0);
        } else if (name == "--device") {
            std::string text = next();
            if (text.starts_with("cuda:")) text.erase(0, 5);
            options.devices.push_back(static_cast<int>(number(name, text)));
        } else if (name == "--style") {
            options.style = next();
            if (!isthmus::judging::is_style(options.style)) refuse("no style " + options.style);
        } else if (name == "--json") {
            options.style = "json";
        } else if (name == "--strict") {
            options.strict = true;
        } else if (name == "--limit") {
            options.limit = number(name, next());
        } else if (name == "--run") {
            options.run = true;
        } else if (name == "--rank") {
            options.rank = static_cast<int>(number(name, next()));
        } else if (name == "--single") {
            options.single = true;
        } else if (name == "--watch") {
            options.watch = true;
        } else if (name == "--for") {
            options.seconds = number(name, next());
        } else if (name == "--looks") {
            options.looks = next();
        } else if (name == "--root") {  // of a file system in which tests keep what the kernel says
            options.root = next();
        } else {
            refuse("no option " + name);
        }
    }
    return options;
}

int watched(const Options& options) {
    if (options.looks.empty()) return watch(options.seconds, options.root);
    if (options.looks == "-") return watch_kept(std::cin);
    std::ifstream file(options.looks);
    if (!file) refuse("cannot read " + options.looks);
    return watch_kept(file);
}

int run(const Options& options) {
    if (options.watch) return watched(options);
    // What asks for a run may be killed, and no driver is to be asked for a caller that is gone.
    if (options.run) prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Limits limits{options.limit, options.run, options.root};
    std::vector<int> devices = options.devices;
    std::vector<Facts> all;
    if (devices.empty()) {
        const Counted counted = count_in_child(limits);
        for (int i = 0; i < counted.devices; ++i) devices.push_back(i);
        if (devices.empty()) {
            Facts& none = all.emplace_back();
            none.failure = counted.failure.empty() ? "no device" : counted.failure;
            none.is_absent = counted.is_absent;
        } else if (options.rank) {
            devices = {*options.rank % counted.devices};
        }
    }
    if (options.single && devices.size() > 1) {
        for (const int index : devices) {
            Facts& facts = all.emplace_back();
            facts.info.index = index;
            facts.failure = "one of several devices";
        }
        devices.clear();
    }
    for (Facts& facts : measure_in_children(devices, limits)) all.push_back(std::move(facts));
    const bool has_any = std::ranges::any_of(all, [](const Facts& facts) { return facts.failure.empty(); });
    if (options.run) {
        std::cout << as_runs(all) << "\n" << std::flush;
        reap_children();
        return has_any ? 0 : 3;
    }
    const auto [text, code] = output(judged_together(all), options.style, options.strict);
    std::cout << text << "\n" << std::flush;
    reap_children();
    // Where no device could be asked there is no verdict.
    return options.style.empty() && !has_any ? 3 : code;
}

}  // namespace

int main(int count, char** words) {
    return run(parsed({words + 1, words + count}));
}
