// The verdict on a device: what is a fault, what costs the user, and what to do about it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "judge/link.hpp"
#include "judge/normal.hpp"
#include "judge/table.hpp"
#include "judge/verdict.hpp"

namespace isthmus::judging {
namespace {

using Values = std::map<std::string, Value>;
using Cures = std::vector<Text>;

// Repeats that differ by more say nothing for certain.
constexpr double wild_noise = 0.25;
// Repeats of smaller copies differ on a quiet machine, too.
constexpr double large_bytes = double{1 << 26};

constexpr std::array<const char*, 5> words{"FAULT", "ATTENTION", "none", "OK", "note"};

class Judge {
  public:
    explicit Judge(const Subject& subject) : subject_(subject), kind_(kind_of(subject.name)) {
        verdict_.rates = subject.rates;
        if (kind_ != nullptr) verdict_.kind = kind_->name;
        for (Rate& rate : verdict_.rates) {
            if (rate.memory != "pinned") continue;
            std::ranges::move(normals_of(subject, kind_, rate), std::back_inserter(rate.normals));
            if (rate.direction == "both") continue;
            if (best_ == nullptr || rate.rate > best_->rate) best_ = &rate;
            typical_ = std::max(typical_, rate.typical);
        }
    }

    Verdict judged() {
        judge();
        std::ranges::stable_sort(verdict_.findings, {}, &Finding::level);
        verdict_.level = verdict_.findings.front().level;
        return std::move(verdict_);
    }

  private:
    void add(Level level, const char* topic, Text text, Cures cures = {}) {
        verdict_.findings.push_back({level, topic, std::move(text), std::move(cures), std::nullopt});
    }
    void add(std::vector<Finding> findings) { std::ranges::move(findings, std::back_inserter(verdict_.findings)); }
    double fastest() const { return best_ != nullptr ? best_->rate : 0; }
    // Rates that others' work may explain say nothing of the link.
    bool is_in_use() const { return std::atof(condition("utilization").c_str()) >= rules().busy_percent; }
    std::string condition(const char* name) const {
        const auto value = subject_.conditions.find(name);
        return value == subject_.conditions.end() ? std::string() : value->second;
    }

    void judge() {
        if (subject_.is_wrong) {
            add(Level::fault, "verification", {"health.wrong_data", {}}, {{"health.wrong_data_do", {}}});
        }
        if (!subject_.failure.empty()) {
            return add(Level::none, "unasked", {"health.unasked", {{"reason", subject_.failure}}});
        }
        if (!subject_.crosses_link) return add(Level::none, "no_link", {"health.no_link", {}});
        if (condition("vgpu") == "on" || condition("mig") == "on") {
            return add(Level::none, "part", {"health.part", {}});
        }
        if (!subject_.reference_device.empty() && subject_.reference_device != subject_.name) {
            add(Level::attention, "other_device",
                {"compare.other_device",
                 {{"name", subject_.reference}, {"expected", subject_.reference_device}, {"device", subject_.name}}});
        }
        const std::vector<Finding> link = link_findings(subject_, kind_, fastest(), typical_);
        add(link);
        add(error_findings(subject_));
        judge_surroundings();
        const auto is_fault = [](const Finding& finding) { return finding.level == Level::fault; };
        if (best_ == nullptr) {
            if (link.empty()) add(Level::none, "nothing_pinned", {"health.nothing_pinned", {}});
        } else if (std::ranges::none_of(link, is_fault)) {
            judge_rates();
        }
    }

    void judge_surroundings() {
        const auto &bound = subject_.bound_node, &near = subject_.near_node;
        if (bound && near && *bound != *near) {
            add(Level::attention, "far_node",
                {"health.far_node", {{"bound", std::to_string(*bound)}, {"near", std::to_string(*near)}}},
                {{"compare_causes.why_placement", {}}});
        }
        if (condition("confidential_computing") == "on") {
            add(Level::attention, "confidential", {"health.confidential", {}});
        }
    }

    void judge_rates() {
        const auto before = static_cast<std::ptrdiff_t>(verdict_.findings.size());
        bool is_pinned_slow = false, is_other_slow = false;
        for (const Rate& rate : verdict_.rates) {
            if (rate.direction == "both" || rate.normals.empty() || !judge_rate(rate)) continue;
            (rate.memory == "pinned" ? is_pinned_slow : is_other_slow) = true;
        }
        const bool is_both_slow = !is_pinned_slow && judge_both();
        if (is_in_use() && (is_pinned_slow || is_both_slow || is_other_slow)) {
            const Values values{{"percent", std::to_string(std::atoi(condition("utilization").c_str()))}};
            return add(Level::none, "in_use", {"health.in_use", values});
        }
        if (noise_ > 0) {
            add(Level::attention, "busy", {"health.busy", {{"percent", 100 * noise_}}}, {{"health.busy_do", {}}});
            // It is to be known before rates are read.
            std::ranges::rotate(verdict_.findings.begin() + before, verdict_.findings.end() - 1,
                                verdict_.findings.end());
        }
        if (!is_pinned_slow) summarise();
    }

    // What it may be without what slows some repeats.
    static double at_best(const Rate& rate) {
        constexpr double most_by_noise = 3, most_noise = 0.1;  // a few repeats that were held up say no more
        return rate.rate * (1 + most_by_noise * std::min(rate.noise, most_noise));
    }

    // A fault only where two classes of evidence agree.
    static bool is_fault(const Rate& rate, const std::vector<Normal>& normals) {
        const auto below = std::ranges::count_if(normals, [&](const Normal& each) { return rate.rate < each.low; });
        return rate.noise <= wild_noise && at_best(rate) < rules().faulty_ratio * normals.front().low && below > 1;
    }

    // Whether others may have slowed copies that reach less than `low`: a slow link is as slow each time.
    bool is_by_others(const Rate& rate, double low, double steady) {
        if (rate.bytes < large_bytes || rate.noise <= steady || at_best(rate) < low) return false;
        noise_ = std::max(noise_, rate.noise);
        return true;
    }

    // A rate, the least that is normal, and the share of the link that it is; 0 where no link is known.
    Values values_of(const Rate& rate) const {
        const Speed link = link_of_theory(subject_, kind_);
        const double usual = usual_share(subject_, kind_, link.generation, rate.method);
        std::string direction = rate.direction;
        for (char& each : direction) each = each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
        return {{"memory", rate.memory},
                {"direction", std::move(direction)},
                {"size", rate.size},
                {"rate", rate_in_words(rate.rate)},
                {"low", rate_in_words(rate.normals.empty() ? 0 : rate.normals.front().low)},
                {"percent", link.carries() > 0 ? 100 * rate.rate / link.carries() : 0},
                {"usual", link.carries() > 0 ? 100 * usual : 0}};
    }

    // Whether a share is of the link that was read, and not of the one that the card has.
    bool is_link_read() const { return link_of_theory(subject_, nullptr).carries() > 0; }

    // Whether it is slow, which is reported unless others use the device.
    bool judge_rate(const Rate& rate) {
        const bool is_pinned = rate.memory == "pinned";
        // A busy machine must not hide a slow link.
        const double room = is_pinned ? std::min(rate.noise, rules().steady_width) : rate.noise;
        if (rate.rate * (1 + room) >= rate.normals.front().low) return false;
        if (is_in_use() || (is_pinned && is_by_others(rate, rate.normals.front().low, rules().steady_width)))
            return true;
        if (is_pinned && rate.noise > wild_noise) noise_ = std::max(noise_, rate.noise);
        const std::string& basis = rate.normals.front().basis;
        const bool is_of_link = basis == "theory" && is_link_read();
        const char* const key = is_of_link                             ? "health.below_theory"
                                : basis == "theory" || basis == "card" ? "health.below_card"
                                                                       : "health.slow";
        const Level level = is_pinned && is_fault(rate, rate.normals) ? Level::fault : Level::attention;
        add(level, "rate", {key, values_of(rate)}, causes(is_pinned));
        if (is_pinned) verdict_.findings.back().cause = like_links(subject_, kind_, rate.rate);
        return true;
    }

    // What to look at, in the order of likelihood.
    Cures causes(bool is_pinned) const {
        if (!is_pinned) return {{"health.slow_pageable_do", {}}};
        Cures all;
        if (const std::string reasons = condition("throttling"); !reasons.empty() && reasons != "none") {
            all.push_back({"health.throttled_do", {{"reasons", reasons}}});
        }
        if (subject_.iommu == "on, translated") all.push_back({"compare_causes.why_iommu", {}});
        all.push_back({"health.slow_pinned_do", {}});
        return all;
    }

    // No link carries less of both directions than of one; how much more depends on the platform.
    bool judge_both() {
        const auto both = std::ranges::find_if(
            verdict_.rates, [](const Rate& each) { return each.memory == "pinned" && each.direction == "both"; });
        if (both == verdict_.rates.end() || fastest() <= 0 || (kind_ != nullptr && !kind_->is_pcie)) return false;
        std::vector<Normal> normals = both->normals;
        normals.push_back({"theory", fastest(), 0, {}});
        const double low = normals.front().low;
        // References are of few platforms, by which this differs more than by card.
        const double least = low * (normals.front().basis == "measured" ? rules().faulty_ratio : 1.0);
        if (both->rate * (1 + std::min(both->noise, rules().busy_width)) >= least) return false;
        if (is_in_use() || is_by_others(*both, least, rules().busy_width)) return true;
        const Values values{
            {"rate", rate_in_words(both->rate)}, {"low", rate_in_words(low)}, {"alone", rate_in_words(fastest())}};
        add(is_fault(*both, normals) ? Level::fault : Level::attention, "both", {"health.both_slow", values},
            {{"health.both_slow_do", {}}});
        return true;
    }

    // What is right, or that nothing is known that could tell.
    void summarise() {
        Values values = values_of(*best_);
        if (best_->normals.empty()) {
            return add(Level::none, "rate", {"health.link_unread", values}, {{"health.link_unread_do", {}}});
        }
        const std::string& basis = best_->normals.front().basis;
        const bool is_references = basis != "theory" && !subject_.reference_device.empty();
        values["device"] = is_references ? subject_.reference_device : subject_.name;
        const bool has_share = link_of_theory(subject_, kind_).carries() > 0;
        const char* const key = basis == "theory" && is_link_read()    ? "health.ok_theory"
                                : basis == "theory" || basis == "card" ? "health.ok_card"
                                : !has_share                           ? "health.slow"
                                : is_link_read()                       ? "health.ok"
                                                                       : "health.ok_of_card";
        add(Level::ok, "rate", {key, values});
    }

    const Subject& subject_;
    const Kind* kind_;
    Verdict verdict_;
    const Rate* best_ = nullptr;  // the fastest of pinned memory in one direction
    double typical_ = 0, noise_ = 0;
};

}  // namespace

const char* word_of(Level level) {
    return words[static_cast<unsigned>(level)];
}

Level level_of(std::string_view word) {
    const auto at = std::ranges::find(words, word);
    return at == words.end() ? Level::none : static_cast<Level>(at - words.begin());
}

Verdict judged(const Subject& subject) {
    return Judge(subject).judged();
}

}  // namespace isthmus::judging
