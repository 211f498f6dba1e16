// How many links carry more than fewer would: where the host's memory ends it, further ones only burden their owners.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace isthmus {

class Ceiling {
  public:
    // How many of so many links the next copy takes, at least two; now and then one more than carry the most, to see
    // whether that has changed, and one fewer if `is_reached`: links are late, the own one too.
    std::size_t links(std::size_t all, bool is_reached) const {
        all = std::min(all, most_links);
        const std::size_t best = enough(all);
        if ((copies_ + 1) % copies_a_look != 0) return best;
        const bool looks_up = copies_ / copies_a_look % 2 == 0;
        if (looks_up) return std::min(best + 1, all);
        return is_reached ? std::max(best - 1, std::min(least_links, all)) : best;
    }
    // A large copy over so many links has ended.
    void moved(std::size_t links, std::size_t bytes, double seconds) {
        if (links > most_links || seconds <= 0) return;
        ++copies_;
        double& rate = rates_[links];
        const double its = static_cast<double>(bytes) / seconds;
        rate = rate == 0 ? its : rate + (its - rate) / 4;
    }

  private:
    static constexpr std::size_t least_links = 2, most_links = 64, copies_a_look = 8;
    // What one link more has to bring.
    static constexpr double least_gain = 1.03;

    // The fewest that carry about as much as the best known number of them; all until fewer were tried.
    std::size_t enough(std::size_t all) const {
        double most = 0;
        for (std::size_t links = least_links; links <= all; ++links) most = std::max(most, rates_[links]);
        for (std::size_t links = least_links; links < all; ++links) {
            if (rates_[links] * least_gain > most) return links;
        }
        return all;
    }

    std::array<double, most_links + 1> rates_{};  // bytes per second by the number of links; 0 where it is not known
    std::size_t copies_ = 0;
};

}  // namespace isthmus
