// What a CUDA driver does with copies, a line for each fact: which calls return before the work in front of them has
// ended, which are refused while a graph is captured, and what is said to calls that are not valid.
//
// driver_facts [SECTION] [MILLISECONDS] [N]: one of the sections, or all, and of N facts one; a call waits if all was
// asleep for so long.
#include "captures.hpp"
#include "errors.hpp"
#include "facts.hpp"
#include "returns.hpp"

int main(int count, char** words) {
    using namespace facts;
    std::setvbuf(stdout, nullptr, _IOLBF, 4096);
    const std::string wanted = count > 1 ? words[1] : "all";
    const double patience_seconds = (count > 2 ? std::stod(words[2]) : 60) * 1e-3;
    if (count > 3) Facts::every = std::stol(words[3]);
    // The driver is opened in the sections' processes alone.
    const auto section = [&](const char* name, const std::function<void()>& work) {
        if (wanted == name || wanted == "all") Facts::section(name, work);
    };
    section("returns", [=] {
        World world;
        Gate gate(patience_seconds);
        Returns(world, gate).all();
    });
    section("captures", [] {
        World world;
        Captures(world).all();
    });
    section("errors", [] {
        World world;
        Errors(world).all();
    });
    return 0;
}
