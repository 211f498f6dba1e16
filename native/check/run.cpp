// Facts as JSON: a device, its link and its cases, with the names that run files have for them.
#include "check/run.hpp"

#include <array>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <utility>

#include "judge/styles.hpp"

namespace isthmus::checking {
namespace {

using judging::joined;
using judging::quoted;

struct CaseName {
    const char *memory, *method, *direction;
};
constexpr std::array<CaseName, case_count> case_names{{{"pinned", "copy", "h2d"},
                                                       {"pinned", "copy", "d2h"},
                                                       {"pinned", "copy", "both"},
                                                       {"pageable", "copy", "h2d"},
                                                       {"pageable", "copy", "d2h"},
                                                       {"pageable", "isthmus", "h2d"},
                                                       {"pageable", "isthmus", "d2h"}}};

std::string enclosed(char begin, const std::vector<std::string>& parts, char end) {
    return std::string(1, begin).append(joined(parts, ",")).append(1, end);
}

// Members of an object; those without a value are left out.
class Object {
  public:
    Object& add(const char* name, std::string json) {
        parts_.push_back(quoted(name) + ":" + std::move(json));
        return *this;
    }
    Object& add_text(const char* name, const std::string& text) {
        return text.empty() ? *this : add(name, quoted(text));
    }
    template <typename Number>
    Object& add_known(const char* name, const std::optional<Number>& value) {
        return value ? add(name, std::to_string(*value)) : *this;
    }
    std::string text() const { return enclosed('{', parts_, '}'); }

  private:
    std::vector<std::string> parts_;
};

std::string link_json(const Facts& facts, const LinkReading& loaded, const std::optional<unsigned>& replays) {
    const LinkReading& rest = facts.info.link;
    Object link;
    link.add_known("generation", rest.generation).add_known("width", rest.width);
    link.add_known("max_generation", loaded.max_generation ? loaded.max_generation : rest.max_generation);
    link.add_known("max_width", loaded.max_width ? loaded.max_width : rest.max_width);
    link.add_known("generation_under_load", loaded.generation).add_known("width_under_load", loaded.width);
    link.add_known("replays", replays);
    return link.add_text("source", facts.link_source).text();
}

// As the devices of Python have one.
bool has_link(const Facts& facts) {
    return facts.info.link.generation && facts.info.link.width;
}

std::string device_of(const Facts& facts) {
    const DeviceInfo& info = facts.info;
    Object conditions, device;
    for (const auto& [name, value] : info.conditions) {
        if (name != "throttling" || facts.throttling.empty()) conditions.add(name.c_str(), quoted(value));
    }
    conditions.add_text("throttling", facts.throttling);
    device.add_text("backend", "cuda").add("index", std::to_string(info.index)).add("name", quoted(info.name));
    device.add_text("vendor", info.vendor).add_text("driver_version", info.driver_version);
    device.add_text("api_version", info.api_version).add_text("compute_capability", info.compute_capability);
    device.add_text("uuid", info.uuid).add_text("pci_address", info.pci_address);
    device.add("memory_bytes", std::to_string(info.memory_bytes)).add_known("numa_node", facts.near_node);
    device.add("shares_host_memory", info.shares_host_memory ? "true" : "false");
    device.add_known("copy_engines", info.copy_engines);
    if (has_link(facts)) device.add("link", link_json(facts, facts.begun, info.link.replays));
    return device.add("conditions", conditions.text()).text();
}

std::string series_of(const char* metric, const std::vector<double>& seconds) {
    std::vector<std::string> all;
    all.reserve(seconds.size());
    for (const double each : seconds) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%.9g", each);
        all.emplace_back(text.data());
    }
    return enclosed('[', {Object().add_text("metric", metric).add("samples", enclosed('[', all, ']')).text()}, ']');
}

Object case_of(const char* experiment, const CaseName& name, std::size_t bytes) {
    Object made;
    made.add_text("experiment", experiment).add_text("method", name.method).add_text("host_memory", name.memory);
    made.add_text("direction", name.direction).add("bytes", std::to_string(bytes));
    return made;
}

std::string cases_of(const Facts& facts, std::size_t devices) {
    std::vector<std::string> cases;
    for (unsigned which = 0; which < case_count; ++which) {
        const Repeats& repeats = facts.repeats[which];
        Object made = case_of("bandwidth", case_names[which], facts.bytes);
        if (!repeats.skipped.empty()) made.add("skipped", "true").add_text("note", repeats.skipped);
        if (!repeats.seconds.empty()) {
            made.add("series", series_of("host_seconds", repeats.seconds));
            made.add_text("verified", repeats.wrong.empty() ? "yes" : "no").add_text("note", repeats.wrong);
        }
        if (!repeats.skipped.empty() || !repeats.seconds.empty()) cases.push_back(made.text());
    }
    for (unsigned which = 0; which < facts.at_once.size(); ++which) {
        if (facts.at_once[which].empty()) continue;
        // As `isthmus measure peers` has what a device copies while all do.
        Object made = case_of("peers", {case_names[which].memory, "link", case_names[which].direction}, facts.bytes);
        made.add("devices", std::to_string(devices)).add_text("target", "cuda:" + std::to_string(facts.info.index));
        cases.push_back(made.add("series", series_of("device_seconds", facts.at_once[which])).text());
    }
    return enclosed('[', cases, ']');
}

}  // namespace

std::string as_runs(const std::vector<Facts>& all) {
    std::size_t at_once = 0;
    for (const Facts& facts : all) at_once += facts.at_once[0].empty() ? 0 : 1;
    std::vector<std::string> runs;
    for (const Facts& facts : all) {
        Object run;
        run.add("device", device_of(facts)).add("cases", cases_of(facts, at_once)).add_text("failure", facts.failure);
        if (has_link(facts)) run.add("link", link_json(facts, facts.loaded, facts.loaded.replays));
        run.add_known("bound_node", facts.bound_node).add("is_absent", facts.is_absent ? "true" : "false");
        runs.push_back(run.text());
    }
    return enclosed('[', runs, ']');
}

}  // namespace isthmus::checking
