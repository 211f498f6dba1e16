// Python's view of the rules by which devices are judged.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/errors.hpp"
#include "bindings/module.hpp"
#include "judge/styles.hpp"
#include "judge/verdict.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

using judging::Text;

// A field of a Device, a Link or a Rate of `isthmus`.
template <typename T>
void take(nb::handle from, const char* name, T& into) {
    into = nb::cast<T>(from.attr(name));
}

// What no link can have was not read.
std::optional<unsigned> reading(nb::handle value) {
    unsigned number = 0;
    if (value.is_none() || !nb::try_cast(value, number)) return std::nullopt;
    return number;
}

judging::Link link_of(nb::handle each) {
    judging::Link link;
    const nb::object in_use = each.attr("in_use");
    link.generation = reading(in_use[0]);
    link.width = reading(in_use[1]);
    link.max_generation = reading(each.attr("max_generation"));
    link.max_width = reading(each.attr("max_width"));
    link.replays = reading(each.attr("replays"));
    take(each, "read_under_load", link.is_loaded);
    take(each, "source", link.source);
    return link;
}

judging::Rate rate_of(nb::handle each, std::vector<double> alike) {
    judging::Rate rate;
    take(each, "memory", rate.memory);
    take(each, "direction", rate.direction);
    take(each, "method", rate.method);
    take(each, "bytes", rate.bytes);
    take(each, "rate", rate.rate);
    take(each, "noise", rate.noise);
    take(each, "size", rate.size);
    rate.alike = std::move(alike);
    if (const nb::object normal = each.attr("normal"); !normal.is_none()) take(normal, "typical", rate.typical);
    for (const nb::handle normal : each.attr("normals")) {
        const auto [basis, low, of, sources] =
            nb::cast<std::tuple<std::string, double, std::size_t, std::vector<std::string>>>(normal);
        rate.normals.push_back({basis, low, of, sources});
    }
    return rate;
}

nb::tuple tuple_of(const Text& text) {
    return nb::make_tuple(text.key, text.values);
}

nb::tuple tuple_of(const judging::Finding& finding) {
    nb::list cures;
    for (const Text& cure : finding.cures) cures.append(tuple_of(cure));
    const nb::object cause = finding.cause ? nb::object(tuple_of(*finding.cause)) : nb::none();
    return nb::make_tuple(judging::word_of(finding.level), finding.topic, tuple_of(finding.text), cause, cures);
}

nb::list list_of(const std::vector<judging::Normal>& normals) {
    nb::list all;
    for (const judging::Normal& each : normals) {
        all.append(nb::make_tuple(each.basis, each.low, each.of, nb::tuple(nb::cast(each.sources))));
    }
    return all;
}

nb::dict judge(nb::handle device, const nb::iterable& links,
               const std::vector<std::pair<nb::object, std::vector<double>>>& rates, const std::string& iommu,
               std::optional<int> bound_node, const std::optional<std::pair<std::string, std::string>>& reference) {
    judging::Subject subject;
    take(device, "backend", subject.backend);
    take(device, "name", subject.name);
    take(device, "vendor", subject.vendor);
    take(device, "uuid", subject.uuid);
    take(device, "pci_address", subject.pci_address);
    take(device, "crosses_link", subject.crosses_link);
    take(device, "conditions", subject.conditions);
    take(device, "numa_node", subject.near_node);
    for (const nb::handle link : links) subject.links.push_back(link_of(link));
    for (const auto& [rate, alike] : rates) subject.rates.push_back(rate_of(rate, alike));
    subject.iommu = iommu;
    subject.bound_node = bound_node;
    if (reference) std::tie(subject.reference, subject.reference_device) = *reference;
    const judging::Verdict verdict = judging::judged(subject);
    nb::list findings, normals;
    for (const judging::Finding& finding : verdict.findings) findings.append(tuple_of(finding));
    for (const judging::Rate& rate : verdict.rates) normals.append(list_of(rate.normals));
    nb::dict dict;
    dict["kind"] = verdict.kind;
    dict["findings"] = findings;
    dict["normals"] = normals;
    return dict;
}

template <typename T>
void take_known(const nb::dict& from, const char* name, T& into) {
    if (from.contains(name)) into = nb::cast<T>(from[name]);
}

judging::Shown shown_of(const nb::dict& each) {
    judging::Shown shown;
    shown.level = judging::level_of(nb::cast<std::string>(each["level"]));
    shown.is_failure = !each.contains("index");
    take_known(each, "mark", shown.mark);
    take_known(each, "reason", shown.reason);
    take_known(each, "device", shown.device);
    take_known(each, "host", shown.host);
    take_known(each, "name", shown.name);
    take_known(each, "uuid", shown.uuid);
    take_known(each, "index", shown.index);
    take_known(each, "replays", shown.replays);
    std::vector<std::tuple<std::string, std::string, double, double>> rates;
    take_known(each, "rates", rates);
    for (const auto& [memory, direction, rate, low] : rates) {
        judging::Rate made;
        made.memory = memory;
        made.direction = direction;
        made.rate = rate;
        if (low > 0) made.normals.push_back({"", low, 0, {}});
        shown.rates.push_back(std::move(made));
    }
    return shown;
}

nb::tuple styled(const std::vector<nb::dict>& devices, const std::string& style, bool strict) {
    std::vector<judging::Shown> all;
    all.reserve(devices.size());
    for (const nb::dict& device : devices) all.push_back(shown_of(device));
    if (!judging::is_style(style) || all.empty()) raise("UsageError", "no style '" + style + "' of these devices");
    const int code = judging::exit_code(all, style, strict);
    return nb::make_tuple(style == "json" ? std::string() : judging::styled(std::move(all), style), code);
}

}  // namespace

void bind_judge(nb::module_& module) {
    module.def("judge", &judge, nb::arg("device"), nb::arg("links"), nb::arg("rates"), nb::kw_only(),
               nb::arg("iommu") = "", nb::arg("bound_node") = nb::none(), nb::arg("reference") = nb::none());
    module.def("styled", &styled, nb::arg("devices"), nb::arg("style"), nb::arg("strict"));
}

}  // namespace isthmus::bindings
