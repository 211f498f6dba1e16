// What Model::parse makes of rates, times and faults, number by number.
#include "backend/host/model.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

using isthmus::host::Fault;
using isthmus::host::FaultKind;
using isthmus::host::Model;

Model parse(const char* text) {
    auto model = Model::parse(text);
    if (model.ok()) return model.value();
    std::printf("%s: %s\n", text, model.take_status().message().c_str());
    std::exit(1);
}

void expect(bool condition, const char* text) {
    if (condition) return;
    std::printf("not as written: %s\n", text);
    std::exit(1);
}

void expect_rates(const char* text, double h2d, double d2h) {
    const Model model = parse(text);
    expect(model.h2d_bytes_per_second == h2d && model.d2h_bytes_per_second == d2h, text);
}

void expect_latency(const char* text, double seconds) {
    expect(std::abs(parse(text).latency_seconds - seconds) <= 1e-12 * seconds, text);
}

void expect_fault(const char* text, const char* operation, FaultKind kind, std::uint64_t first) {
    const Model model = parse(text);
    const auto found = model.faults.find(operation);
    expect(found != model.faults.end() && found->second.kind == kind && found->second.first == first, text);
}

}  // namespace

int main() {
    expect_rates("", 0, 0);
    expect_rates("rate=0", 0, 0);
    expect_rates("rate=25GB/s", 25e9, 25e9);
    expect_rates("h2d=12e9,d2h=13MB/s", 12e9, 13e6);
    expect_rates("rate=2B/s,d2h=5kB/s", 2, 5e3);
    expect_rates("d2h=5,rate=2", 2, 2);

    expect_latency("", 0);
    expect_latency("latency=1", 1);
    expect_latency("latency=2s", 2);
    expect_latency("latency=0.5ms", 0.5e-3);
    expect_latency("latency=8us", 8e-6);
    expect_latency("latency=250ns", 250e-9);

    expect_fault("fault=copy:fail", "copy", FaultKind::fail, 1);
    expect_fault("fault=verify:partial@5", "verify", FaultKind::partial, 5);
    expect_fault("fault=set:slow@2,fault=fill:out_of_memory", "fill", FaultKind::out_of_memory, 1);
    expect_fault("fault=synchronize:hang@7", "synchronize", FaultKind::hang, 7);
    expect_fault("fault=copy:slow,fault=copy:fail@3", "copy", FaultKind::fail, 3);
    std::puts("as written");
}
