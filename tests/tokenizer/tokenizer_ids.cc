// Token ids of texts and texts of token ids, for tools/tokenizer_truth.py and bench/tokenizer.py:
//     tokenizer_ids VOCABULARY < texts > ids
//     tokenizer_ids VOCABULARY --decode < ids > texts
//     tokenizer_ids VOCABULARY --times N < texts > seconds
//     tokenizer_ids VOCABULARY --pairs N < texts > ids and types
// A vocabulary is a GGUF file, or a tokenizer.json whose name ends in .json.
//
// A text is its length, 32 bits little-endian, and its bytes; ids are their number and themselves, each 32 bits.
// Control tokens in a text are text, nothing is added to it. Seconds are a 64-bit float for each text: the least of N
// times of the processor that its encoding took. Pairs are texts by twos, cut to at most N tokens with those around
// them; each has its ids, and then as many types of a byte behind their number.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "source/open_model.h"
#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/tokenizer.h"

static_assert(std::endian::native == std::endian::little);

namespace {

octavo::Result<octavo::Tokenizer> load(const std::string& vocabulary) {
  if (vocabulary.ends_with(".json")) {
    OCTAVO_TRY(const auto words, octavo::TokenizerJson::open(vocabulary));
    return octavo::Tokenizer::load(words);
  }
  OCTAVO_TRY(const auto source, octavo::open_model(vocabulary));
  return octavo::Tokenizer::load(*source);
}

constexpr octavo::TokenizeOptions kPlain{.add_special = false, .parse_special = false};

/// The next 32 bits of the input; nothing at its end.
std::optional<std::uint32_t> read_number() {
  std::uint32_t number = 0;
  if (!std::cin.read(reinterpret_cast<char*>(&number), sizeof(number))) return std::nullopt;
  return number;
}

template <class T>
void write(const T* values, std::size_t count) {
  std::cout.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
}

/// Values, behind their number.
template <class Values>
void write_counted(const Values& values) {
  const auto count = static_cast<std::uint32_t>(values.size());
  write(&count, 1);
  write(values.data(), values.size());
}

/// Calls `use` with each text of the input. False: it ends within one, or `use` has failed.
template <class Use>
bool for_each_text(const Use& use) {
  std::string text;
  while (const auto size = read_number()) {
    text.resize(*size);
    if (!std::cin.read(text.data(), *size) || !use(text)) return false;
  }
  return true;
}

bool encode_all(const octavo::Tokenizer& tokenizer) {
  return for_each_text([&](const std::string& text) {
    const auto ids = tokenizer.encode(text, kPlain);
    if (ids) write_counted(*ids);
    if (!ids) std::cerr << ids.error().message << '\n';
    return ids.has_value();
  });
}

bool decode_all(const octavo::Tokenizer& tokenizer) {
  std::vector<octavo::TokenId> ids;
  while (const auto count = read_number()) {
    ids.resize(*count);
    if (!std::cin.read(reinterpret_cast<char*>(ids.data()), static_cast<std::streamsize>(*count * sizeof(ids[0]))))
      return false;
    write_counted(tokenizer.decode(ids));
  }
  return true;
}

bool encode_pairs(const octavo::Tokenizer& tokenizer, std::size_t max_tokens) {
  std::optional<std::string> first;
  return for_each_text([&](const std::string& text) {
    if (!first) {
      first = text;
      return true;
    }
    const auto tokens = tokenizer.encode_pair(*first, text, {.max_tokens = max_tokens, .cuts = true});
    first.reset();
    if (!tokens) {
      std::cerr << tokens.error().message << '\n';
      return false;
    }
    write_counted(tokens->ids);
    write_counted(tokens->types);
    return true;
  });
}

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool time_all(const octavo::Tokenizer& tokenizer, int times) {
  return for_each_text([&](const std::string& text) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < times; ++i) {
      const double begin = processor_seconds();
      if (!tokenizer.encode(text, kPlain)) return false;
      least = std::min(least, processor_seconds() - begin);
    }
    write(&least, 1);
    return true;
  });
}

int run(const std::string& vocabulary, const std::string& mode, int number) {
  const auto tokenizer = load(vocabulary);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  const bool done = mode == "--decode"  ? decode_all(*tokenizer)
                    : mode == "--times" ? time_all(*tokenizer, number)
                    : mode == "--pairs" ? encode_pairs(*tokenizer, static_cast<std::size_t>(number))
                                        : encode_all(*tokenizer);
  return done && std::cout.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[2] : "";
  const bool is_right =
      argc == 2 || (argc == 3 && mode == "--decode") || (argc == 4 && (mode == "--times" || mode == "--pairs"));
  if (!is_right) {
    std::cerr << "usage: tokenizer_ids VOCABULARY [--decode | --times N | --pairs N] < input > output\n";
    return 2;
  }
  std::ios::sync_with_stdio(false);
  return run(argv[1], mode, argc == 4 ? std::max(1, std::atoi(argv[3])) : 0);
}
