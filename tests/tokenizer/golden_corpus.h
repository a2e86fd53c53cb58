// The corpus of tests/data/tokenizer and its ids: llama.cpp's (written by tools/make_tokenizer_golden.py, which
// describes the files), and where it differs from the original those of `tokenizers` (tools/tokenizer_compare_hf.py).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/engine.h"

namespace octavo::test {

struct GoldenText {
  std::string text;
  bool parse_special;
};

/// Ids as the file keeps them: written out, or as their count and hash.
struct GoldenIds {
  std::vector<TokenId> ids;
  std::size_t count = 0;
  std::uint64_t hash = 0;
  bool is_hashed = false;

  bool matches(std::span<const TokenId> got) const;
};

std::filesystem::path golden_folder();
std::vector<GoldenText> read_corpus();
std::vector<GoldenIds> read_golden_ids(std::string_view name);

/// A text for a message: printable ASCII as it is, other bytes as \xNN, cut to 200 bytes.
std::string shown(std::string_view text);

}  // namespace octavo::test
