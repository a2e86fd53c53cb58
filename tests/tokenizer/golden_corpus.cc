#include "tokenizer/golden_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <stdexcept>

#include "support/source_dir.h"

namespace octavo::test {

namespace {

std::uint64_t fnv1a(std::span<const TokenId> ids) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const TokenId id : ids) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (static_cast<std::uint32_t>(id) >> shift & 0xFF)) * 0x100000001B3;
    }
  }
  return hash;
}

template <class T>
T number(std::string_view text, int base = 10) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) throw std::runtime_error("no number: " + shown(text));
  return value;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
    } else if (text.at(++i) == '\\') {
      out.push_back('\\');
    } else {
      out.push_back(static_cast<char>(number<unsigned>(text.substr(i + 1, 2), 16)));
      i += 2;
    }
  }
  return out;
}

GoldenText parse_text(std::string_view line) {
  const std::size_t tab = line.find('\t');
  const std::string_view flags = line.substr(0, tab);
  const std::string unit = unescape(line.substr(tab + 1));
  GoldenText result{"", flags.front() == 'p'};
  const int repeat = flags.size() > 1 ? number<int>(flags.substr(2)) : 1;
  for (int i = 0; i < repeat; ++i) result.text += unit;
  return result;
}

GoldenIds parse_ids(std::string_view line) {
  GoldenIds result;
  if (line.starts_with('#')) {
    const std::size_t space = line.find(' ');
    result.is_hashed = true;
    result.count = number<std::size_t>(line.substr(1, space - 1));
    result.hash = number<std::uint64_t>(line.substr(space + 1), 16);
    return result;
  }
  while (!line.empty()) {
    const std::string_view item = line.substr(0, line.find(' '));
    const std::size_t star = item.find('*');
    const auto times = star == std::string_view::npos ? 1 : number<std::size_t>(item.substr(star + 1));
    result.ids.insert(result.ids.end(), times, number<TokenId>(item.substr(0, star)));
    line.remove_prefix(std::min(item.size() + 1, line.size()));
  }
  return result;
}

}  // namespace

bool GoldenIds::matches(std::span<const TokenId> got) const {
  return is_hashed ? got.size() == count && fnv1a(got) == hash : std::ranges::equal(got, ids);
}

std::filesystem::path golden_folder() { return std::filesystem::path(test::source_dir()) / "tests/data/tokenizer"; }

std::vector<GoldenText> read_corpus() {
  std::vector<GoldenText> corpus;
  for (const std::string& line : read_lines(golden_folder() / "corpus.txt")) corpus.push_back(parse_text(line));
  return corpus;
}

std::vector<GoldenIds> read_golden_ids(std::string_view name) {
  std::vector<GoldenIds> all;
  for (const std::string& line : read_lines(golden_folder() / fmt::format("{}.ids", name))) {
    all.push_back(parse_ids(line));
  }
  return all;
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 200)) {
    if (c >= ' ' && c <= '~') {
      out.push_back(c);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text.size() > 200 ? fmt::format("{}... ({} bytes)", out, text.size()) : out;
}

}  // namespace octavo::test
