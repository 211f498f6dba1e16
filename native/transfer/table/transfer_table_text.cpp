// Transfer tables as text: a line for each rule, of words that say what they are.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/pages.hpp"
#include "transfer/table/transfer_table.hpp"

namespace isthmus {
namespace {

constexpr std::string_view title = "isthmus transfer table ";
constexpr std::string_view version = "1";
// A file that was cut off lacks it.
constexpr std::string_view last_line = "end";

// Far beyond what any machine has or measures; what is beyond these was not measured.
constexpr std::size_t most_threads = 4096;
constexpr std::size_t most_bytes = std::size_t{1} << 50;
constexpr std::size_t most_bytes_of_chunk = std::size_t{1} << 30;
constexpr std::size_t most_kernel_blocks = 65536;
constexpr double most_seconds = 1e6;

constexpr std::array<std::string_view, 2> directions{"d2h", "h2d"};
constexpr std::array<std::string_view, 2> buffer_methods{"driver", "staged"};
constexpr std::array<std::string_view, 2> memories{"pinned", "pageable"};
constexpr std::array<std::string_view, 3> sides{"host", "device", "both"};
constexpr std::array<std::string_view, 2> layouts{"regular", "scattered"};
constexpr std::array<std::string_view, 2> answers{"no", "yes"};

// One line: its words are taken one after another, each a name, "=" and a value.
class Line {
  public:
    Line(std::size_t number, std::string_view text) : number_(number), rest_(text) {}

    Status wrong(const std::string& text, const std::string& expected) const {
        return {Code::invalid_argument,
                "line " + std::to_string(number_) + ": found " + text + "; expected " + expected};
    }

    Result<std::size_t> count(std::string_view name, std::size_t least, std::size_t most) {
        const std::string expected =
            std::string(name) + "=NUMBER from " + std::to_string(least) + " to " + std::to_string(most);
        ISTHMUS_TRY_ASSIGN(value, take(name, expected));
        std::size_t number = 0;
        if (!is_number(value, number) || number < least || number > most) return wrong_value(name, value, expected);
        return number;
    }

    Result<double> seconds() {
        const std::string expected = "seconds=NUMBER above 0";
        ISTHMUS_TRY_ASSIGN(value, take("seconds", expected));
        double number = 0;
        if (!is_number(value, number) || !(number > 0 && number < most_seconds)) {
            return wrong_value("seconds", value, expected);
        }
        return number;
    }

    // The index of the word that is there.
    Result<std::size_t> choice(std::string_view name, std::span<const std::string_view> words) {
        std::string expected(name);
        for (const std::string_view word : words) (expected += word == words[0] ? '=' : '|') += word;
        ISTHMUS_TRY_ASSIGN(value, take(name, expected));
        const auto place = std::find(words.begin(), words.end(), value);
        if (place == words.end()) return wrong_value(name, value, expected);
        return static_cast<std::size_t>(place - words.begin());
    }

    Result<std::string> word(std::string_view name, const std::string& expected) {
        ISTHMUS_TRY_ASSIGN(value, take(name, expected));
        if (value.empty()) return wrong_value(name, value, expected);
        return std::string(value);
    }

    Result<PieceMethod> piece_method() {
        const std::string expected = "method=METHOD, such as pack_threads";
        ISTHMUS_TRY_ASSIGN(value, take("method", expected));
        const auto method = value_of<PieceMethod>(value);
        if (!method) return wrong_value("method", value, expected);
        return *method;
    }

    Status end() const {
        if (rest_.empty()) return {};
        return wrong(quoted(rest_), "the end of the line");
    }

  private:
    static std::string quoted(std::string_view words) {
        std::string text(1, '\'');
        text += words;
        text += '\'';
        return text;
    }

    template <typename Number>
    static bool is_number(std::string_view text, Number& number) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc() && end == text.data() + text.size();
    }

    Status wrong_value(std::string_view name, std::string_view value, const std::string& expected) const {
        return wrong(quoted(std::string(name) + "=" + std::string(value)), expected);
    }

    Result<std::string_view> take(std::string_view name, const std::string& expected) {
        const std::string_view word = rest_.substr(0, rest_.find(' '));
        if (word.empty()) return wrong("the end of the line", expected);
        if (word.substr(0, word.find('=')) != name || word.size() <= name.size()) {
            return wrong(quoted(word), expected);
        }
        rest_.remove_prefix(std::min(rest_.size(), word.size() + 1));
        return word.substr(name.size() + 1);
    }

    std::size_t number_;
    std::string_view rest_;
};

Result<BufferRule> buffer_rule(Line line, const BufferRule* last) {
    BufferRule rule;
    ISTHMUS_TRY_ASSIGN(direction, line.choice("direction", directions));
    rule.to_device = direction == 1;
    const bool first = last == nullptr || last->to_device != rule.to_device;
    ISTHMUS_TRY_ASSIGN(from, line.count("from", 0, most_bytes));
    rule.from_bytes = from;
    if (first && from != 0) {
        return line.wrong("from=" + std::to_string(from), "from=0 in the first rule of a direction");
    }
    if (!first && from <= last->from_bytes) {
        return line.wrong("from=" + std::to_string(from),
                          "more than the " + std::to_string(last->from_bytes) + " of the rule before");
    }
    ISTHMUS_TRY_ASSIGN(method, line.choice("method", buffer_methods));
    rule.method = method == 1 ? BufferMethod::staged : BufferMethod::driver;
    if (rule.method == BufferMethod::staged) {
        ISTHMUS_TRY_ASSIGN(threads, line.count("threads", 1, most_threads));
        ISTHMUS_TRY_ASSIGN(chunk, line.count("chunk", least_page, most_bytes_of_chunk));
        ISTHMUS_TRY_ASSIGN(stores, line.choice("stores", names_of<Stores>));
        rule.threads = threads;
        rule.chunk_bytes = chunk;
        rule.stores = static_cast<Stores>(stores);
    }
    ISTHMUS_TRY_ASSIGN(seconds, line.seconds());
    rule.seconds = seconds;
    ISTHMUS_TRY(line.end());
    return rule;
}

Result<DirectTime> direct_time(Line line, const DirectTime* last) {
    ISTHMUS_TRY_ASSIGN(direction, line.choice("direction", directions));
    const bool first = last == nullptr || last->to_device != (direction == 1);
    ISTHMUS_TRY_ASSIGN(bytes, line.count("bytes", first ? 1 : last->bytes + 1, most_bytes));
    ISTHMUS_TRY_ASSIGN(seconds, line.seconds());
    ISTHMUS_TRY(line.end());
    return DirectTime{direction == 1, bytes, seconds};
}

Result<KernelRule> kernel_rule(Line line, const std::vector<KernelRule>& before) {
    ISTHMUS_TRY_ASSIGN(direction, line.choice("direction", directions));
    const bool to_device = direction == 1;
    for (const KernelRule& rule : before) {
        if (rule.to_device == to_device) {
            return line.wrong("a second line for kernels with direction=" + std::string(directions[direction]),
                              "one for each direction");
        }
    }
    ISTHMUS_TRY_ASSIGN(blocks, line.count("blocks", 1, most_kernel_blocks));
    ISTHMUS_TRY(line.end());
    return KernelRule{to_device, static_cast<std::uint32_t>(blocks)};
}

Result<PieceRule> piece_rule(Line line) {
    PieceRule rule;
    ISTHMUS_TRY_ASSIGN(direction, line.choice("direction", directions));
    ISTHMUS_TRY_ASSIGN(memory, line.choice("memory", memories));
    ISTHMUS_TRY_ASSIGN(apart, line.choice("apart", sides));
    ISTHMUS_TRY_ASSIGN(layout, line.choice("layout", layouts));
    ISTHMUS_TRY_ASSIGN(width, line.count("width", 1, most_bytes));
    ISTHMUS_TRY_ASSIGN(count, line.count("count", 1, most_bytes));
    ISTHMUS_TRY_ASSIGN(method, line.piece_method());
    if (packs_on_threads(method)) {
        ISTHMUS_TRY_ASSIGN(threads, line.count("threads", 1, most_threads));
        rule.threads = threads;
    }
    ISTHMUS_TRY_ASSIGN(seconds, line.seconds());
    ISTHMUS_TRY(line.end());
    rule.to_device = direction == 1;
    rule.pageable = memory == 1;
    rule.apart_on_host = apart != 1;
    rule.apart_on_device = apart != 0;
    rule.scattered = layout == 1;
    rule.width_bytes = width;
    rule.pieces = count;
    rule.method = method;
    rule.seconds = seconds;
    return rule;
}

Result<LinkRule> link_rule(Line line, const std::vector<LinkRule>& before) {
    LinkRule rule;
    ISTHMUS_TRY_ASSIGN(direction, line.choice("direction", directions));
    rule.to_device = direction == 1;
    ISTHMUS_TRY_ASSIGN(address, line.word("device", "device=ADDRESS on the PCI bus, such as 0000:1b:00.0"));
    rule.pci_address = address;
    for (const LinkRule& other : before) {
        if (other.to_device == rule.to_device && other.pci_address == rule.pci_address) {
            return line.wrong("a second line for the way by " + rule.pci_address +
                                  " with direction=" + std::string(directions[direction]),
                              "one for each direction and device");
        }
    }
    ISTHMUS_TRY_ASSIGN(gains, line.choice("gains", answers));
    rule.gains = gains == 1;
    ISTHMUS_TRY_ASSIGN(from, line.count("from", 0, most_bytes));
    ISTHMUS_TRY_ASSIGN(bytes, line.count("bytes", 1, most_bytes));
    ISTHMUS_TRY_ASSIGN(seconds, line.seconds());
    ISTHMUS_TRY(line.end());
    rule.from_bytes = from;
    rule.bytes = bytes;
    rule.seconds = seconds;
    return rule;
}

Status check_title(std::string_view line) {
    if (line.substr(0, title.size()) != title) {
        return {Code::invalid_argument, "line 1: not a transfer table; expected '" + std::string(title) +
                                            std::string(version) + "', as `isthmus calibrate` writes it"};
    }
    if (const std::string_view text = line.substr(title.size()); text != version) {
        return {Code::invalid_argument, "line 1: found version '" + std::string(text) + "' of the format; expected " +
                                            std::string(version) + "; run `isthmus calibrate` with this release"};
    }
    return {};
}

// A word of the line and a space, if it begins with them, are taken from it.
bool begins(std::string_view& line, std::string_view word) {
    if (line.substr(0, word.size()) != word || line.substr(word.size(), 1) != " ") return false;
    line.remove_prefix(word.size() + 1);
    return true;
}

Status read_line(TransferTable& table, std::size_t number, std::string_view line) {
    const std::string_view whole = line;
    if (begins(line, "origin")) {
        table.origin = line;
    } else if (begins(line, "buffer")) {
        ISTHMUS_TRY_ASSIGN(rule, buffer_rule({number, line}, table.buffers.empty() ? nullptr : &table.buffers.back()));
        table.buffers.push_back(rule);
    } else if (begins(line, "direct")) {
        ISTHMUS_TRY_ASSIGN(time, direct_time({number, line}, table.direct.empty() ? nullptr : &table.direct.back()));
        table.direct.push_back(time);
    } else if (begins(line, "kernel")) {
        ISTHMUS_TRY_ASSIGN(rule, kernel_rule({number, line}, table.kernels));
        table.kernels.push_back(rule);
    } else if (begins(line, "pieces")) {
        ISTHMUS_TRY_ASSIGN(rule, piece_rule({number, line}));
        table.pieces.push_back(rule);
    } else if (begins(line, "way")) {
        ISTHMUS_TRY_ASSIGN(rule, link_rule({number, line}, table.links));
        table.links.push_back(std::move(rule));
    } else {
        return Line(number, line)
            .wrong("'" + std::string(whole.substr(0, 60)) + "'",
                   "a line that begins with origin, buffer, direct, kernel, pieces, way or end");
    }
    return {};
}

// Shortest digits that are this number again.
std::string digits(double number) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return {text.data(), end};
}

std::string line_of(const BufferRule& rule) {
    std::string line = "buffer direction=" + std::string(directions[rule.to_device]) +
                       " from=" + std::to_string(rule.from_bytes) + " method=";
    if (rule.method == BufferMethod::staged) {
        line += "staged threads=" + std::to_string(rule.threads) + " chunk=" + std::to_string(rule.chunk_bytes) +
                " stores=" + std::string(name_of(rule.stores));
    } else {
        line += "driver";
    }
    return line + " seconds=" + digits(rule.seconds) + "\n";
}

std::string line_of(const DirectTime& time) {
    return "direct direction=" + std::string(directions[time.to_device]) + " bytes=" + std::to_string(time.bytes) +
           " seconds=" + digits(time.seconds) + "\n";
}

std::string line_of(const KernelRule& rule) {
    return "kernel direction=" + std::string(directions[rule.to_device]) + " blocks=" + std::to_string(rule.blocks) +
           "\n";
}

std::string line_of(const PieceRule& rule) {
    const std::size_t side = !rule.apart_on_device ? 0 : !rule.apart_on_host ? 1 : 2;
    std::string line = "pieces direction=" + std::string(directions[rule.to_device]) +
                       " memory=" + std::string(memories[rule.pageable]) + " apart=" + std::string(sides[side]) +
                       " layout=" + std::string(layouts[rule.scattered]) +
                       " width=" + std::to_string(rule.width_bytes) + " count=" + std::to_string(rule.pieces) +
                       " method=" + std::string(name_of(rule.method));
    if (packs_on_threads(rule.method)) line += " threads=" + std::to_string(rule.threads);
    return line + " seconds=" + digits(rule.seconds) + "\n";
}

std::string line_of(const LinkRule& rule) {
    return "way direction=" + std::string(directions[rule.to_device]) + " device=" + rule.pci_address +
           " gains=" + std::string(answers[rule.gains]) + " from=" + std::to_string(rule.from_bytes) +
           " bytes=" + std::to_string(rule.bytes) + " seconds=" + digits(rule.seconds) + "\n";
}

bool has_both_directions(const TransferTable& table) {
    const auto changes = [](const BufferRule& one, const BufferRule& next) { return one.to_device != next.to_device; };
    const auto change = std::adjacent_find(table.buffers.begin(), table.buffers.end(), changes);
    return change != table.buffers.end() &&
           std::adjacent_find(change + 1, table.buffers.end(), changes) == table.buffers.end();
}

}  // namespace

Result<TransferTable> TransferTable::parse(std::string_view text) {
    TransferTable table;
    table.built_in = false;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        ++number;
        if (number == 1) {
            ISTHMUS_TRY(check_title(line));
        } else if (line == last_line) {
            if (!text.empty()) return Line(number + 1, text).wrong("more", "nothing after 'end'");
            if (has_both_directions(table)) return table;
            return Line(number, line).wrong("'end'", "rules for buffers first, those of each direction together");
        } else if (!line.empty() && line[0] != '#') {
            ISTHMUS_TRY(read_line(table, number, line));
        }
    }
    if (number == 0) ISTHMUS_TRY(check_title({}));
    return Line(number + 1, {}).wrong("the end of the text", "'end': the table was cut off");
}

std::string TransferTable::text() const {
    std::string text = std::string(title) + std::string(version) + "\norigin " + origin;
    std::replace(text.begin() + title.size() + version.size() + 1, text.end(), '\n', ' ');
    text += '\n';
    for (const BufferRule& rule : buffers) text += line_of(rule);
    for (const DirectTime& time : direct) text += line_of(time);
    for (const KernelRule& rule : kernels) text += line_of(rule);
    for (const PieceRule& rule : pieces) text += line_of(rule);
    for (const LinkRule& rule : links) text += line_of(rule);
    return text + std::string(last_line) + "\n";
}

}  // namespace isthmus
