// Reads the host backend's model from the device name that the user gives.
#include "backend/host/model.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/table.hpp"

namespace isthmus::host {
namespace {

using Units = std::initializer_list<std::pair<std::string_view, double>>;

// A number from 0 to `most`, in the units' base.
std::optional<double> parse_number(std::string_view text, Units units, double most) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    for (const auto& [unit, factor] : units) {
        const double number = value * factor;
        // Written so that it refuses NaN too, which from_chars reads.
        if (suffix == unit) return number >= 0 && number <= most ? std::optional(number) : std::nullopt;
    }
    return std::nullopt;
}

const Units rate_units{{"", 1}, {"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}};
const Units time_units{{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
const Units size_units{{"", 1}, {"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};

constexpr double most_rate = 1e18;
constexpr double most_seconds = 3600;
constexpr double most_bytes = 0x1p62;

// What a fault may be about, next to the kernels.
constexpr std::array operations{"allocate", "borrow", "identify", "copy",       "section", "prepare",
                                "batch",    "graph",  "prefetch", "set",        "stream",  "event",
                                "wait",     "gate",   "latch",    "synchronize"};

bool is_operation(std::string_view name) {
    for (const char* known : operations) {
        if (name == known) return true;
    }
    for (const KernelRow& kernel : kernel_rows) {
        if (name == kernel.operation) return true;
    }
    return false;
}

std::string expected_fault() {
    std::string text = "fault=OPERATION:KIND[@CALL], where OPERATION is ";
    for (const char* known : operations) text += std::string(known) + ", ";
    for (const KernelRow& kernel : kernel_rows) {
        text += (&kernel == &kernel_rows.back() ? "or " : "") + std::string(kernel.operation);
        text += &kernel == &kernel_rows.back() ? "" : ", ";
    }
    return text + ", and KIND is fail, out_of_memory, partial, slow or hang";
}

Status wrong(std::string_view part, const std::string& expected) {
    return invalid("host device: cannot read '" + std::string(part) + "'; expected " + expected);
}

Status parse_fault(std::string_view part, std::string_view text, Model& model) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return wrong(part, expected_fault());
    const std::string operation(text.substr(0, colon));
    std::string_view kind = text.substr(colon + 1);
    Fault fault;
    if (const auto at = kind.find('@'); at != std::string_view::npos) {
        const std::string_view number = kind.substr(at + 1);
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), fault.first);
        if (error != std::errc() || end != number.data() + number.size() || fault.first == 0)
            return wrong(part, expected_fault());
        kind = kind.substr(0, at);
    }
    bool known = is_operation(operation);
    if (kind == "fail") {
        fault.kind = FaultKind::fail;
    } else if (kind == "out_of_memory") {
        fault.kind = FaultKind::out_of_memory;
    } else if (kind == "partial") {
        fault.kind = FaultKind::partial;
    } else if (kind == "slow") {
        fault.kind = FaultKind::slow;
    } else if (kind == "hang") {
        fault.kind = FaultKind::hang;
    } else {
        known = false;
    }
    if (!known) return wrong(part, expected_fault());
    model.faults[operation] = fault;
    return {};
}

Status parse_part(std::string_view part, Model& model) {
    const auto equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view text = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    if (key == "fault") return parse_fault(part, text, model);
    if (key == "rate" || key == "h2d" || key == "d2h") {
        const auto rate = parse_number(text, rate_units, most_rate);
        if (!rate) return wrong(part, "a rate such as rate=25GB/s");
        if (key != "d2h") model.h2d_bytes_per_second = *rate;
        if (key != "h2d") model.d2h_bytes_per_second = *rate;
        return {};
    }
    if (key == "latency") {
        const auto latency = parse_number(text, time_units, most_seconds);
        if (!latency) return wrong(part, "a time such as latency=8us");
        model.latency_seconds = *latency;
        return {};
    }
    if (key == "memory" || key == "locked") {
        const auto bytes = parse_number(text, size_units, most_bytes);
        if (!bytes) return wrong(part, "a size such as memory=2GiB");
        (key == "memory" ? model.device_bytes : model.locked_bytes) = static_cast<std::size_t>(*bytes);
        return {};
    }
    return wrong(part, "rate=, h2d=, d2h=, latency=, memory=, locked= or fault=");
}

}  // namespace

Result<Model> Model::parse(const std::string& text) {
    Model model;
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        ISTHMUS_TRY(parse_part(rest.substr(0, comma), model));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    return model;
}

}  // namespace isthmus::host
