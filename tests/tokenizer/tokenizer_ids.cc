// Token ids of texts, for tools/tokenizer_truth.py: `tokenizer_ids VOCABULARY < texts > ids`. A vocabulary is a GGUF
// file, or a tokenizer.json whose name ends in .json.
//
// A text is its length, 32 bits little-endian, and its bytes; ids are their number and themselves, each 32 bits.
// Control tokens in a text are text, nothing is added to it.
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include "source/open_model.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_json.h"

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

int run(const char* vocabulary) {
  const auto tokenizer = load(vocabulary);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  std::uint32_t size = 0;
  std::string text;
  while (std::cin.read(reinterpret_cast<char*>(&size), sizeof(size))) {
    text.resize(size);
    if (!std::cin.read(text.data(), size)) return 1;
    const auto ids = tokenizer->encode(text, {.add_special = false, .parse_special = false});
    if (!ids) {
      std::cerr << ids.error().message << '\n';
      return 1;
    }
    const auto count = static_cast<std::uint32_t>(ids->size());
    std::cout.write(reinterpret_cast<const char*>(&count), sizeof(count));
    std::cout.write(reinterpret_cast<const char*>(ids->data()),
                    static_cast<std::streamsize>(count * sizeof((*ids)[0])));
  }
  return std::cout.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tokenizer_ids VOCABULARY < texts > ids\n";
    return 2;
  }
  std::ios::sync_with_stdio(false);
  return run(argv[1]);
}
