// What is known of a device, whatever measured or read it, and the verdict on it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace isthmus::judging {

// A text of src/isthmus/language by its key. Numbers are formatted by the text; lists are joined by who says it, and
// "memory" is a kind of memory, which each language has its own word for.
using Value = std::variant<double, std::string, std::vector<std::string>>;
struct Text {
    std::string key;
    std::map<std::string, Value> values;
};

// The gravest first; what cannot be judged is never OK.
enum class Level { fault, attention, none, ok, note };
const char* word_of(Level level);
// The level that a word of `word_of` names; none for other words.
Level level_of(std::string_view word);

struct Finding {
    Level level;
    std::string topic;
    Text text;
    std::vector<Text> cures;
    std::optional<Text> cause;
};

// A reading of the link: what it runs at, under load where it was read so, and what it can do.
struct Link {
    std::optional<unsigned> generation, width, max_generation, max_width, replays;
    bool is_loaded = false;
    std::string source;  // of a tool that reads less than both ends: "nvidia-smi", "lspci", "lspci with port"
};

// The least that is normal in bytes per second, and what says so: "measured", "public", "theory", "alike" or "card";
// `of` are runs, outputs or devices.
struct Normal {
    std::string basis;
    double low = 0;
    std::size_t of = 0;
    std::vector<std::string> sources;
};

// Bytes per second of copies; of direction "both" the sum. `noise` is half the
// distance from the slowest to the fastest tenth of repeats, as a share of the median.
struct Rate {
    std::string memory, direction, method;
    double bytes = 0, rate = 0, noise = 0;
    std::string size;             // in words
    double typical = 0;           // as measured on healthy machines; 0 where it was not
    std::vector<double> alike;    // the same of all devices of its kind in its machine
    std::vector<Normal> normals;  // what was measured for this project; judging adds the other classes
};

struct Subject {
    std::string backend, name, vendor, uuid, pci_address;
    bool crosses_link = true, is_wrong = false;
    // As a run's fingerprint has them, and what the kernel logged: "aer_corrected" and the like.
    std::map<std::string, std::string> conditions;
    std::vector<Link> links;  // before and after the copies
    std::vector<Rate> rates;
    std::optional<int> bound_node, near_node;
    std::string iommu;
    std::string reference, reference_device;  // named by the user
    std::string failure;                      // why nothing was measured; all else may be empty then
};

struct Verdict {
    Level level = Level::none;
    std::vector<Finding> findings;  // the gravest first; not empty
    std::vector<Rate> rates;        // of the subject, each with all that says what is normal, the best evidence first
    std::string kind;               // of the card in the table; empty where it has none
};

Verdict judged(const Subject& subject);

}  // namespace isthmus::judging
