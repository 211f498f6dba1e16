// The table by which links are judged: how a card is looked up in it.
#include "judge/table.hpp"

#include <algorithm>
#include <cctype>

namespace isthmus::judging {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool same(char one, char other) {
    return std::tolower(static_cast<unsigned char>(one)) == std::tolower(static_cast<unsigned char>(other));
}

// Whether it has the part as words of its own.
bool has(std::string_view name, std::string_view part) {
    for (auto from = name.begin();; ++from) {
        from = std::search(from, name.end(), part.begin(), part.end(), same);
        if (from == name.end()) return false;
        const auto behind = from + static_cast<std::ptrdiff_t>(part.size());
        const bool begins = from == name.begin() || (!is_word(from[-1]) && from[-1] != '_');
        if (begins && (behind == name.end() || !is_word(*behind))) return true;
    }
}

// A laptop's card has other links than the desktop's of that name.
bool is_laptop(std::string_view name) {
    constexpr std::array<std::string_view, 3> words{"Laptop", "Max-Q", "Mobile"};
    return std::ranges::any_of(words, [name](std::string_view word) {
        return std::search(name.begin(), name.end(), word.begin(), word.end(), same) != name.end();
    });
}

}  // namespace

const Kind* kind_of(std::string_view name) {
    const Kind* best = nullptr;
    for (const Kind& kind : kinds()) {
        const bool is_longer = best == nullptr || kind.match.size() > best->match.size();
        if (is_longer && is_laptop(name) == is_laptop(kind.match) && has(name, kind.match)) best = &kind;
    }
    return best;
}

Public outputs_of(const Kind& kind, std::string_view method, std::string_view direction) {
    constexpr std::array<std::string_view, 3> directions{"h2d", "d2h", "both"};
    const auto at = static_cast<std::size_t>(std::ranges::find(directions, direction) - directions.begin());
    if (at == directions.size() || (method != "copy" && method != "kernel")) return {};
    return method == "copy" ? kind.by_copy.at(at) : kind.by_kernel.at(at);
}

bool is_module(std::string_view name) {
    constexpr std::array<std::string_view, 5> words{"B200", "B300", "GB200", "GB300", "GH200"};
    const bool has_word = std::ranges::any_of(words, [name](std::string_view word) { return has(name, word); });
    const bool is_h200 = name.ends_with("H200") && has(name, "H200");
    const std::size_t instinct = name.find(" MI3");
    const bool is_mi300 = instinct != std::string_view::npos && instinct + 5 < name.size() &&
                          std::isdigit(static_cast<unsigned char>(name[instinct + 4])) != 0 &&
                          std::isdigit(static_cast<unsigned char>(name[instinct + 5])) != 0;
    return has_word || is_h200 || is_mi300 || name.ends_with("HBM3") || name.find("SXM") != std::string_view::npos;
}

double wire_rate(unsigned generation, unsigned width) {
    // Transfers per second times the share that line coding leaves: 8b/10b, 128b/130b, 242 of 256 bytes of a flit.
    constexpr std::array<double, 8> lane{0,
                                         2.5e9 * 8 / 10 / 8,
                                         5e9 * 8 / 10 / 8,
                                         8e9 * 128 / 130 / 8,
                                         16e9 * 128 / 130 / 8,
                                         32e9 * 128 / 130 / 8,
                                         64e9 * 242 / 256 / 8,
                                         128e9 * 242 / 256 / 8};
    return generation < lane.size() ? lane[generation] * width : 0.0;
}

}  // namespace isthmus::judging
