#include "tokenizer/words/neighbours.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"

namespace octavo {

namespace {

constexpr unsigned kSlotBits = 20;

std::size_t length_of_first(std::string_view text) {
  return std::min(utf8_announced_length(text.front()), text.size());
}

/// The bytes of the first character, as a number.
std::uint32_t first_of(std::string_view text, std::size_t length) {
  std::uint32_t character = 0;
  std::memcpy(&character, text.data(), length);
  return character;
}

}  // namespace

std::uint32_t Neighbours::slot(std::uint32_t left, std::uint32_t right) {
  return ((left * 0x9E3779B1U) ^ (right * 0x85EBCA77U)) * 0xC2B2AE3DU >> (32 - kSlotBits);
}

Neighbours::Neighbours(const Vocab& vocab) : stand_together_(std::size_t{1} << kSlotBits) {
  for (TokenId id = 0; id < vocab.size(); ++id) {
    std::string_view text = vocab.text(id);
    if (text.empty()) continue;
    std::size_t length = length_of_first(text);
    std::uint32_t left = first_of(text, length);
    for (text.remove_prefix(length); !text.empty(); text.remove_prefix(length)) {
      length = length_of_first(text);
      const std::uint32_t right = first_of(text, length);
      stand_together_[slot(left, right)] = true;
      left = right;
    }
  }
}

std::size_t Neighbours::piece(std::string_view text) const {
  std::size_t end = length_of_first(text);
  std::uint32_t left = first_of(text, end);
  while (end < text.size()) {
    const std::string_view rest = text.substr(end);
    const std::size_t length = length_of_first(rest);
    const std::uint32_t right = first_of(rest, length);
    if (!stand_together_[slot(left, right)]) break;
    left = right;
    end += length;
  }
  return end;
}

}  // namespace octavo
