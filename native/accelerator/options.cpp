// What the environment asks of the library that accelerates.
#include "accelerator/options.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "interpose/environment.hpp"

namespace isthmus::accelerator {

Options Options::from_environment() {
    Options options;
    for (const std::string& word : interpose::words_of("ISTHMUS_ACCELERATE_OPTIONS", ',')) {
        const std::size_t equals = std::min(word.find('='), word.size());
        const std::string_view name = std::string_view(word).substr(0, equals);
        const std::string_view text = std::string_view(word).substr(std::min(equals + 1, word.size()));
        std::size_t number = 0;
        const bool is_number = std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
        if (name == "verify") options.verify = true;
        if (name == "eager") options.eager = true;
        if (name == "pinned") {
            options.host_pages = text == "off"    ? HostPageChoice::off
                                 : text == "huge" ? HostPageChoice::huge
                                                  : HostPageChoice::automatic;
        }
        if (!is_number) continue;
        if (name == "min") options.least_bytes = std::max<std::size_t>(number, 1);
        if (name == "budget") options.pinned_budget_bytes = number;
        if (name == "threads") options.threads = number;
        if (name == "sample") options.sample_every = std::max<std::size_t>(number, 2);
    }
    options.folder = interpose::folder_in("ISTHMUS_ACCELERATE_FOLDER");
    return options;
}

}  // namespace isthmus::accelerator
