// The verdict on a device: what is a fault, what costs the user, and what to do about it.
#include <algorithm>
#include <cstdio>

#include "check/facts.hpp"
#include "check/table.hpp"

namespace isthmus::checking {
namespace {

using Values = std::map<std::string, std::string>;

std::string number(double value, const char* format) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

// Three digits, as `format_rate` of src/isthmus/record/units.py.
std::string gigabytes(double rate) {
    const bool is_less = rate < 0.9995e9;
    const double value = rate / (is_less ? 1e6 : 1e9);
    const char* const digits = value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f";
    return number(value, digits) + (is_less ? " MB/s" : " GB/s");
}

// "5,000".
std::string grouped(unsigned count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

std::string percent(double share) {
    return number(100 * share, "%.0f");
}

// A text of the catalogue with its values in their places, which are formatted before: "{percent:.0f}" is "{percent}".
std::string say(std::string_view key, const Values& values = {}) {
    std::string sentence;
    std::string_view text = text_of(key);
    while (!text.empty()) {
        const std::size_t open = std::min(text.find('{'), text.size());
        sentence += text.substr(0, open);
        text.remove_prefix(open);
        const std::size_t close = text.find('}');
        if (close == std::string_view::npos) return sentence.append(text);
        const std::string name(text.substr(1, std::min(close, text.find(':')) - 1));
        const auto value = values.find(name);
        sentence += value != values.end() ? value->second : name;
        text.remove_prefix(close + 1);
    }
    return sentence;
}

// As `link_name` of src/isthmus/analysis/machine.py.
std::string link_name(unsigned generation, unsigned width) {
    const auto known = [](unsigned part) { return part == 0 ? std::string("?") : std::to_string(part); };
    return "PCIe " + known(generation) + ".0 x" + known(width);
}

class Judge {
  public:
    Judge(const Facts& facts, const Alike& alike) : facts_(facts), alike_(alike), kind_(kind_of(facts.info.name)) {
        most_generation_ = facts.loaded.max_generation.value_or(0);
        most_width_ = facts.loaded.max_width.value_or(0);
        if (kind_ != nullptr && is_module(facts.info.name) && most_generation_ == 0)
            most_generation_ = kind_->generation;
        if (kind_ != nullptr && is_module(facts.info.name) && most_width_ == 0) most_width_ = kind_->width;
    }

    Verdict judged() {
        judge();
        std::ranges::stable_sort(verdict_.findings, {}, &Finding::level);
        verdict_.level = verdict_.findings.front().level;
        return std::move(verdict_);
    }

  private:
    using Cures = std::vector<std::string>;

    void add(Level level, const char* topic, std::string text, Cures cures = {}) {
        verdict_.findings.push_back({level, topic, std::move(text), std::move(cures)});
    }
    bool has_fault() const {
        return std::ranges::any_of(verdict_.findings, [](const Finding& each) { return each.level == Level::fault; });
    }
    const Rate& at(RateOf which) const { return facts_.rates[which]; }
    double fastest() const { return std::max(at(pinned_h2d).rate, at(pinned_d2h).rate); }
    double noise() const { return std::max(at(pinned_h2d).noise, at(pinned_d2h).noise); }
    bool is_busy() const { return noise() > rules().busy_width; }
    // Rates that others' work may explain say nothing of the link.
    bool is_in_use() const { return facts_.use.busy_percent.value_or(0) >= rules().busy_percent; }
    bool is_on(const char* condition) const {
        const auto value = facts_.info.conditions.find(condition);
        return value != facts_.info.conditions.end() && value->second == "on";
    }

    Cures mended() const {
        const Values values{{"uuid", facts_.info.uuid}, {"address", facts_.info.pci_address}};
        return {say(is_module(facts_.info.name) ? "reseat_module" : "reseat"), say("vendor_asks", values)};
    }

    void judge() {
        if (facts_.is_wrong) add(Level::fault, "verification", say("wrong_data"), {say("wrong_data_do")});
        if (!facts_.failure.empty()) {
            return add(Level::none, "unasked", say("unasked", {{"reason", facts_.failure}}));
        }
        if (facts_.info.shares_host_memory || (kind_ != nullptr && !kind_->is_pcie)) {
            return add(Level::none, "no_link", say("no_link"));
        }
        if (facts_.use.is_virtual || is_on("mig")) return add(Level::none, "part", say("part"));
        if (is_busy() && !is_in_use()) {
            add(Level::attention, "busy", say("busy", {{"percent", percent(noise())}}), {say("busy_do")});
        }
        judge_link();
        judge_errors();
        judge_surroundings();
        if (!has_fault()) judge_rates();
        if (verdict_.findings.empty()) add(Level::none, "nothing_pinned", say("nothing_pinned"));
    }

    // Under load it runs at what both ends can do, else somewhere a lane or a speed was lost.
    void judge_link() {
        const unsigned generation = facts_.loaded.generation.value_or(0);
        const unsigned width = facts_.loaded.width.value_or(0);
        const bool is_slower = generation != 0 && most_generation_ > generation;
        const bool is_narrower = width != 0 && most_width_ > width;
        if (!is_slower && !is_narrower) return;
        const std::string now = link_name(generation, width);
        const double carries = wire_rate(generation, width);
        if (carries > 0 && fastest() > rules().above * carries) {
            const Values values{{"now", now}, {"rate", gigabytes(fastest())}};
            return add(Level::attention, "link_reading", say("link_unlike_rate", values));
        }
        const bool is_measured = is_like_kind() && kind_->measured_typical > 0;
        const double full = is_measured ? kind_->measured_typical : wire_rate(most_generation_, most_width_);
        const Values values{{"now", now},
                            {"best", link_name(most_generation_, most_width_)},
                            {"rate", gigabytes(fastest())},
                            {"percent", percent(full > 0 ? fastest() / full : 0)},
                            {"full", gigabytes(full)}};
        add(Level::fault, "link", say(full > 0 ? "link_degraded_rate" : "link_degraded", values), mended());
    }

    void judge_errors() {
        const auto counted = [](unsigned long count) { return Values{{"count", std::to_string(count)}}; };
        if (facts_.fatal > 0) {
            add(Level::fault, "aer", say("aer_fatal", counted(facts_.fatal)), mended());
        } else if (facts_.nonfatal > 0) {
            add(Level::attention, "aer", say("aer_nonfatal", counted(facts_.nonfatal)), mended());
        } else if (static_cast<double>(facts_.corrected) > rules().many_corrected) {
            add(Level::attention, "aer", say("aer_corrected", counted(facts_.corrected)), mended());
        } else if (facts_.corrected > 0) {
            add(Level::note, "aer", say("aer_few", counted(facts_.corrected)));
        }
        if (!facts_.info.link.replays || !facts_.loaded.replays) return;
        if (const unsigned before = *facts_.info.link.replays; *facts_.loaded.replays > before) {
            add(Level::attention, "replays", say("replays", counted(*facts_.loaded.replays - before)), mended());
        } else if (before >= rules().many_replays) {
            add(Level::note, "replays_before", say("replays_before", {{"count", grouped(before)}}));
        }
    }

    void judge_surroundings() {
        if (facts_.bound_node && facts_.near_node && *facts_.bound_node != *facts_.near_node) {
            const Values values{{"bound", std::to_string(*facts_.bound_node)},
                                {"near", std::to_string(*facts_.near_node)}};
            add(Level::attention, "far_node", say("far_node", values));
        }
        if (is_on("confidential_computing")) add(Level::attention, "confidential", say("confidential"));
    }

    // The least that is normal by each class of evidence, the one that is relied on first; theory alone where copies
    // are encrypted.
    std::vector<std::pair<double, const char*>> normals(RateOf which) const {
        std::vector<std::pair<double, const char*>> all;
        if (is_like_kind() && kind_->measured_low[which] > 0) all.emplace_back(kind_->measured_low[which], "measured");
        if (which >= pageable_h2d) return all;
        if (kind_ != nullptr && kind_->public_low[which] > 0) all.emplace_back(kind_->public_low[which], "public");
        if (which == pinned_both) return all;
        if (const auto [generation, width] = link_of_theory(); wire_rate(generation, width) > 0) {
            all.emplace_back(usual_share(generation) * wire_rate(generation, width), "theory");
        }
        if (static_cast<double>(alike_.size()) >= rules().least_alike) {
            std::vector<double> rates;
            for (const auto& each : alike_) rates.push_back(each[which]);
            std::ranges::sort(rates);
            const std::size_t middle = rates.size() / 2;
            const double median = rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
            all.emplace_back(rules().alike * median, "alike");
        }
        // In a slot that may have less than the card: never enough for a fault.
        if (all.empty() && kind_ != nullptr && wire_rate(kind_->generation, kind_->width) > 0) {
            const double carries = wire_rate(kind_->generation, kind_->width);
            all.emplace_back(usual_share(kind_->generation) * carries, "card");
        }
        return all;
    }

    // What was measured for this project was measured at the link of the table, without encryption.
    bool is_like_kind() const {
        if (kind_ == nullptr || is_on("confidential_computing")) return false;
        const bool reads = facts_.loaded.max_generation && facts_.loaded.max_width;
        return !reads || (most_generation_ == kind_->generation && most_width_ == kind_->width);
    }

    std::pair<unsigned, unsigned> link_of_theory() const {
        const LinkReading& read = facts_.loaded;
        const unsigned generation = read.max_generation.value_or(read.generation.value_or(0));
        const unsigned width = read.max_width.value_or(read.width.value_or(0));
        if (wire_rate(generation, width) > 0) return {generation, width};
        return kind_ != nullptr && kind_->full_host ? std::pair(kind_->generation, kind_->width) : std::pair(0U, 0U);
    }

    bool is_fault(double rate, const std::vector<std::pair<double, const char*>>& all) const {
        const auto below = std::ranges::count_if(all, [rate](const auto& each) { return rate < each.first; });
        return !is_busy() && rate < rules().faulty_ratio * all.front().first && below > 1;
    }

    // A rate, and the least that is normal.
    Values values_of(RateOf which, double low) const {
        const auto [generation, width] = link_of_theory();
        const double carries = wire_rate(generation, width);
        return {{"size", std::to_string(facts_.bytes >> 20) + " MiB"},
                {"rate", gigabytes(at(which).rate)},
                {"low", gigabytes(low)},
                {"percent", percent(carries > 0 ? at(which).rate / carries : 0)},
                {"usual", percent(usual_share(generation))}};
    }

    // Whether it was slow.
    bool judge_rate(RateOf which, const char* memory, const char* direction) {
        const auto all = normals(which);
        if (all.empty() || at(which).rate <= 0) return false;
        verdict_.normal[which] = all.front();
        const double low = all.front().first;
        const bool is_pinned = which < pageable_h2d;
        const double room = is_pinned ? std::min(at(which).noise, rules().busy_width) : at(which).noise;
        if (at(which).rate * (1 + room) >= low) return false;
        if (is_in_use()) return true;
        const std::string_view basis = all.front().second;
        Values values = values_of(which, low);
        values["memory"] = memory;
        values["direction"] = direction;
        const Level level = is_pinned && is_fault(at(which).rate, all) ? Level::fault : Level::attention;
        add(level, "rate",
            say(basis == "theory" ? "below_theory"
                : basis == "card" ? "below_card"
                                  : "slow",
                values),
            causes(is_pinned));
        return true;
    }

    Cures causes(bool is_pinned) const {
        if (!is_pinned) return {say("slow_pageable_do")};
        Cures all;
        if (!facts_.throttling.empty() && facts_.throttling != "none") {
            all.push_back(say("throttled_do", {{"reasons", facts_.throttling}}));
        }
        all.push_back(say("slow_pinned_do"));
        return all;
    }

    // No link carries less of both directions than of one; how much more depends on the platform.
    bool judge_both() {
        auto all = normals(pinned_both);
        const double rate = at(pinned_both).rate;
        if (rate <= 0 || fastest() <= 0) return false;
        all.emplace_back(fastest(), "theory");
        verdict_.normal[pinned_both] = all.front();
        const bool is_measured = std::string_view(all.front().second) == "measured";
        const double least = all.front().first * (is_measured ? rules().faulty_ratio : 1.0);
        if (rate * (1 + std::min(at(pinned_both).noise, rules().busy_width)) >= least) return false;
        if (is_in_use()) return true;
        const Values values{
            {"rate", gigabytes(rate)}, {"low", gigabytes(all.front().first)}, {"alone", gigabytes(fastest())}};
        add(is_fault(rate, all) ? Level::fault : Level::attention, "both", say("both_slow", values),
            {say("both_slow_do")});
        return true;
    }

    void judge_rates() {
        if (fastest() <= 0) return;
        bool is_slow = judge_rate(pinned_h2d, "Pinned", "H2D");
        is_slow = judge_rate(pinned_d2h, "Pinned", "D2H") || is_slow;
        bool is_pageable_slow = judge_rate(pageable_h2d, "Pageable memory", "H2D");
        is_pageable_slow = judge_rate(pageable_d2h, "Pageable memory", "D2H") || is_pageable_slow;
        const bool is_both_slow = !is_slow && judge_both();
        if (is_in_use() && (is_slow || is_both_slow || is_pageable_slow)) {
            return add(Level::none, "in_use", say("in_use", {{"percent", std::to_string(*facts_.use.busy_percent)}}));
        }
        if (!is_slow) summarise();
    }

    void summarise() {
        const RateOf best = at(pinned_h2d).rate >= at(pinned_d2h).rate ? pinned_h2d : pinned_d2h;
        const auto all = normals(best);
        Values values = values_of(best, all.empty() ? 0 : all.front().first);
        values["device"] = facts_.info.name;
        if (all.empty()) return add(Level::none, "rate", say("link_unread", values), {say("link_unread_do")});
        values["memory"] = "Pinned";
        values["direction"] = best == pinned_h2d ? "H2D" : "D2H";
        const auto [generation, width] = link_of_theory();
        const std::string_view basis = all.front().second;
        const bool has_share = wire_rate(generation, width) > 0;
        const char* const text = basis == "card"     ? "ok_card"
                                 : basis == "theory" ? "ok_theory"
                                 : has_share         ? "ok"
                                                     : "slow";
        add(Level::ok, "rate", say(text, values));
    }

    const Facts& facts_;
    const Alike& alike_;
    const Kind* kind_;
    unsigned most_generation_, most_width_;
    Verdict verdict_;
};

}  // namespace

Verdict judged(const Facts& facts, const Alike& alike) {
    return Judge(facts, alike).judged();
}

}  // namespace isthmus::checking
