// Transfer tables as text: a line for each rule, of words that say what they are.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/names.hpp"
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
constexpr std::array<std::string_view, 2> memories{"pinned", "pageable"};
constexpr std::array<std::string_view, 2> layouts{"regular", "scattered"};
constexpr std::array<std::string_view, 2> answers{"no", "yes"};

ISTHMUS_ENUM(Apart, host, device, both)

// One line that is read: its words are taken one after another, each a name, "=" and a value.
class Line {
  public:
    Line(std::size_t number, std::string_view text) : number_(number), rest_(text) {}

    Status wrong(const std::string& text, const std::string& expected) const {
        return invalid("line " + std::to_string(number_) + ": found " + text + "; expected " + expected);
    }

    template <typename Number>
    Status count(std::string_view name, Number& number, std::size_t least, std::size_t most) {
        const std::string expected =
            std::string(name) + "=NUMBER from " + std::to_string(least) + " to " + std::to_string(most);
        ISTHMUS_TRY_ASSIGN(value, take(name, expected));
        std::size_t read = 0;
        if (!is_number(value, read) || read < least || read > most) return wrong_value(name, value, expected);
        number = static_cast<Number>(read);
        return {};
    }

    Status seconds(double& number) {
        const std::string expected = "seconds=NUMBER above 0";
        ISTHMUS_TRY_ASSIGN(value, take("seconds", expected));
        const bool possible = is_number(value, number) && number > 0 && number < most_seconds;
        return possible ? Status() : wrong_value("seconds", value, expected);
    }

    Status flag(std::string_view name, std::span<const std::string_view> words, bool& is_second) {
        std::size_t place = 0;
        ISTHMUS_TRY(choice(name, words, place));
        is_second = place == 1;
        return {};
    }

    template <typename Enum>
    Status value(std::string_view name, Enum& value) {
        std::size_t place = 0;
        ISTHMUS_TRY(choice(name, names_of<Enum>, place));
        value = static_cast<Enum>(place);
        return {};
    }

    Status word(std::string_view name, std::string& text, const std::string& expected) {
        ISTHMUS_TRY_ASSIGN(value, take(name, expected));
        text = value;
        return value.empty() ? wrong_value(name, value, expected) : Status();
    }

    Status end() const {
        if (rest_.empty()) return {};
        return wrong(quoted(rest_), "the end of the line");
    }

  private:
    static std::string quoted(std::string_view words) { return "'" + std::string(words) + "'"; }

    template <typename Number>
    static bool is_number(std::string_view text, Number& number) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc() && end == text.data() + text.size();
    }

    Status wrong_value(std::string_view name, std::string_view value, const std::string& expected) const {
        return wrong(quoted(std::string(name) + "=" + std::string(value)), expected);
    }

    // The index of the word that is there.
    Status choice(std::string_view name, std::span<const std::string_view> words, std::size_t& index) {
        std::string expected(name);
        for (const std::string_view word : words) (expected += word == words[0] ? '=' : '|') += word;
        ISTHMUS_TRY_ASSIGN(value, take(name, expected));
        const auto place = std::find(words.begin(), words.end(), value);
        if (place == words.end()) return wrong_value(name, value, expected);
        index = static_cast<std::size_t>(place - words.begin());
        return {};
    }

    Result<std::string_view> take(std::string_view name, const std::string& expected) {
        const std::string_view word = rest_.substr(0, rest_.find(' '));
        if (word.empty()) return wrong("the end of the line", expected);
        if (word.substr(0, word.find('=')) != name || word.size() <= name.size()) return wrong(quoted(word), expected);
        rest_.remove_prefix(std::min(rest_.size(), word.size() + 1));
        return word.substr(name.size() + 1);
    }

    std::size_t number_;
    std::string_view rest_;
};

// One line that is written, by the same calls.
class Words {
  public:
    explicit Words(std::string_view kind) : text_(kind) {}

    template <typename Number>
    Status count(std::string_view name, Number number, std::size_t, std::size_t) {
        return word(name, std::to_string(number));
    }
    Status seconds(double number) {
        // The shortest digits that are this number again.
        std::array<char, 32> digits{};
        return word("seconds",
                    {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr});
    }
    Status flag(std::string_view name, std::span<const std::string_view> words, bool is_second) {
        return word(name, std::string(words[is_second ? 1 : 0]));
    }
    template <typename Enum>
    Status value(std::string_view name, Enum value) {
        return word(name, std::string(name_of(value)));
    }
    Status word(std::string_view name, const std::string& text, std::string_view = {}) {
        text_.append(" ").append(name).append("=").append(text);
        return {};
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

// What the lines of each kind of rule hold, in this order, read by Line and written by Words.
template <typename Text>
Status fields(Text& text, BufferRule& rule) {
    ISTHMUS_TRY(text.flag("direction", directions, rule.to_device));
    ISTHMUS_TRY(text.count("from", rule.from_bytes, 0, most_bytes));
    ISTHMUS_TRY(text.value("method", rule.method));
    if (rule.method == BufferMethod::staged) {
        ISTHMUS_TRY(text.count("threads", rule.threads, 1, most_threads));
        ISTHMUS_TRY(text.count("chunk", rule.chunk_bytes, least_page, most_bytes_of_chunk));
        ISTHMUS_TRY(text.value("stores", rule.stores));
    }
    return text.seconds(rule.seconds);
}

template <typename Text>
Status fields(Text& text, DirectTime& time) {
    ISTHMUS_TRY(text.flag("direction", directions, time.to_device));
    ISTHMUS_TRY(text.count("bytes", time.bytes, 1, most_bytes));
    return text.seconds(time.seconds);
}

template <typename Text>
Status fields(Text& text, KernelRule& rule) {
    ISTHMUS_TRY(text.flag("direction", directions, rule.to_device));
    return text.count("blocks", rule.blocks, 1, most_kernel_blocks);
}

template <typename Text>
Status fields(Text& text, PieceRule& rule) {
    Apart apart = !rule.apart_on_device ? Apart::host : !rule.apart_on_host ? Apart::device : Apart::both;
    ISTHMUS_TRY(text.flag("direction", directions, rule.to_device));
    ISTHMUS_TRY(text.flag("memory", memories, rule.pageable));
    ISTHMUS_TRY(text.value("apart", apart));
    ISTHMUS_TRY(text.flag("layout", layouts, rule.scattered));
    ISTHMUS_TRY(text.count("width", rule.width_bytes, 1, most_bytes));
    ISTHMUS_TRY(text.count("count", rule.pieces, 1, most_bytes));
    ISTHMUS_TRY(text.value("method", rule.method));
    if (packs_on_threads(rule.method)) ISTHMUS_TRY(text.count("threads", rule.threads, 1, most_threads));
    rule.apart_on_host = apart != Apart::device;
    rule.apart_on_device = apart != Apart::host;
    return text.seconds(rule.seconds);
}

template <typename Text>
Status fields(Text& text, LinkRule& rule) {
    ISTHMUS_TRY(text.flag("direction", directions, rule.to_device));
    ISTHMUS_TRY(text.word("device", rule.pci_address, "device=ADDRESS on the PCI bus, such as 0000:1b:00.0"));
    ISTHMUS_TRY(text.flag("gains", answers, rule.gains));
    ISTHMUS_TRY(text.count("from", rule.from_bytes, 0, most_bytes));
    ISTHMUS_TRY(text.count("bytes", rule.bytes, 1, most_bytes));
    return text.seconds(rule.seconds);
}

// Whether a rule may come after those before: sizes ascend in each direction.
template <typename Rule>
Status ascends(const Line& line, std::string_view name, std::size_t Rule::*size, const Rule& rule,
               const std::vector<Rule>& before) {
    const bool first = before.empty() || before.back().to_device != rule.to_device;
    if (first || rule.*size > before.back().*size) return {};
    return line.wrong(std::string(name) + "=" + std::to_string(rule.*size),
                      "more than the " + std::to_string(before.back().*size) + " of the rule before");
}

Status check(const Line& line, const BufferRule& rule, const std::vector<BufferRule>& before) {
    const bool first = before.empty() || before.back().to_device != rule.to_device;
    if (!first || rule.from_bytes == 0) return ascends(line, "from", &BufferRule::from_bytes, rule, before);
    return line.wrong("from=" + std::to_string(rule.from_bytes), "from=0 in the first rule of a direction");
}

Status check(const Line& line, const DirectTime& time, const std::vector<DirectTime>& before) {
    return ascends(line, "bytes", &DirectTime::bytes, time, before);
}

Status check(const Line& line, const KernelRule& rule, const std::vector<KernelRule>& before) {
    for (const KernelRule& other : before) {
        if (other.to_device != rule.to_device) continue;
        return line.wrong("a second line for kernels with direction=" + std::string(directions[rule.to_device ? 1 : 0]),
                          "one for each direction");
    }
    return {};
}

Status check(const Line&, const PieceRule&, const std::vector<PieceRule>&) {
    return {};
}

Status check(const Line& line, const LinkRule& rule, const std::vector<LinkRule>& before) {
    for (const LinkRule& other : before) {
        if (other.to_device != rule.to_device || other.pci_address != rule.pci_address) continue;
        return line.wrong("a second line for the way by " + rule.pci_address +
                              " with direction=" + std::string(directions[rule.to_device ? 1 : 0]),
                          "one for each direction and device");
    }
    return {};
}

template <typename Rule>
Status add(Line line, std::vector<Rule>& rules) {
    Rule rule;
    ISTHMUS_TRY(fields(line, rule));
    ISTHMUS_TRY(line.end());
    ISTHMUS_TRY(check(line, rule, rules));
    rules.push_back(std::move(rule));
    return {};
}

template <typename Rule>
void write(std::string& text, std::string_view kind, const std::vector<Rule>& rules) {
    for (Rule rule : rules) {
        Words words(kind);
        (void)fields(words, rule);
        text += words.text() + "\n";
    }
}

Status check_title(std::string_view line) {
    if (line.substr(0, title.size()) != title) {
        return invalid("line 1: not a transfer table; expected '" + std::string(title) + std::string(version) +
                       "', as `isthmus calibrate` writes it");
    }
    if (const std::string_view text = line.substr(title.size()); text != version) {
        return invalid("line 1: found version '" + std::string(text) + "' of the format; expected " +
                       std::string(version) + "; run `isthmus calibrate` with this release");
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
        return {};
    }
    if (begins(line, "buffer")) return add({number, line}, table.buffers);
    if (begins(line, "direct")) return add({number, line}, table.direct);
    if (begins(line, "kernel")) return add({number, line}, table.kernels);
    if (begins(line, "pieces")) return add({number, line}, table.pieces);
    if (begins(line, "way")) return add({number, line}, table.links);
    return Line(number, line)
        .wrong("'" + std::string(whole.substr(0, 60)) + "'",
               "a line that begins with origin, buffer, direct, kernel, pieces, way or end");
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
    write(text, "buffer", buffers);
    write(text, "direct", direct);
    write(text, "kernel", kernels);
    write(text, "pieces", pieces);
    write(text, "way", links);
    return text + std::string(last_line) + "\n";
}

}  // namespace isthmus
