// How many links carry more than fewer would: where the host's memory ends it, further ones only burden their owners.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace isthmus {

// Copies of about the same size are compared with one another: what links take to begin weighs more in shorter ones.
class Ceiling {
  public:
    // Shorter copies say little of the rate of all links together.
    static constexpr std::size_t least_bytes = std::size_t{64} << 20;

    // How many of so many links the next copy takes, at least two; now and then one more than carry the most, to see
    // whether that has changed, and one fewer if `is_reached`: links are late, the own one too.
    std::size_t links(std::size_t bytes, std::size_t all, bool is_reached) const {
        const Size& size = sizes_[index(bytes)];
        all = std::min(all, most_links);
        const std::size_t best = size.enough(all);
        if (bytes < least_bytes || size.since_look < size.pause) return best;
        if (size.looks_up) return std::min(best + 1, all);
        return is_reached ? std::max(best - 1, std::min(least_links, all)) : best;
    }
    // A copy of so many bytes over so many links has ended.
    void moved(std::size_t bytes, std::size_t links, double seconds) {
        if (bytes < least_bytes || links > most_links || seconds <= 0) return;
        sizes_[index(bytes)].moved(links, static_cast<double>(bytes) / seconds);
    }

  private:
    static constexpr std::size_t least_links = 2, most_links = 64;
    // Copies from one look to the next, more after each that has changed nothing; and how many a look takes.
    static constexpr std::size_t least_pause = 7, most_pause = 28, look_copies = 2;
    // What one link more has to bring.
    static constexpr double least_gain = 1.03;

    struct Size {
        std::array<double, most_links + 1> rates{};  // bytes per second by the number of links; 0 where not known
        std::size_t last_links = 0, in_row = 0, since_look = 0, pause = least_pause;
        bool looks_up = false, has_tried = false;

        void moved(std::size_t links, double its) {
            const std::size_t before = enough(most_links);
            double& rate = rates[links];
            // A link that carried none for a while is not yet divided for as it will be; then it says most of what has
            // changed meanwhile.
            in_row = links == last_links ? in_row + 1 : links > last_links && last_links != 0 ? 0 : 1;
            last_links = links;
            if (rate == 0) {
                rate = its;
            } else if (in_row != 0) {
                rate += (its - rate) * (in_row == 1 ? 2.0 / 3 : 1.0 / 4);
            }
            if (enough(most_links) != before) pause = least_pause;
            has_tried = has_tried || (since_look >= pause && links > before);
            if (++since_look < pause + look_copies) return;
            since_look = 0;
            if (looks_up && has_tried) pause = std::min(2 * pause, most_pause);
            looks_up = !looks_up;
            has_tried = false;
        }
        // The fewest that carry about as much as the best known number of them; all until fewer were tried.
        std::size_t enough(std::size_t all) const {
            double most = 0;
            for (std::size_t links = least_links; links <= all; ++links) most = std::max(most, rates[links]);
            for (std::size_t links = least_links; links < all; ++links) {
                if (rates[links] * least_gain > most) return links;
            }
            return all;
        }
    };
    static constexpr std::size_t most_sizes = 6;
    static std::size_t index(std::size_t bytes) {
        const std::size_t times = std::max(bytes / least_bytes, std::size_t{1});
        return std::min<std::size_t>(std::bit_width(times), most_sizes) - 1;
    }

    std::array<Size, most_sizes> sizes_;  // below twice the least bytes, below four times, ...
};

}  // namespace isthmus
