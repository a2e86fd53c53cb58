// A pattern as instructions, in the order of preference, of which the automaton is built.
//
// K. Thompson, "Regular Expression Search Algorithm", CACM 1968; preference among alternatives as in R. Cox, "Regular
// Expression Matching: the Virtual Machine Approach", 2009. Used while a pre-tokenizer is made; any thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "tokenizer/pretokenize/symbol_map.h"
#include "tokenizer/text/regex_parser.h"

namespace octavo {

struct PatternProgram {
  struct Instruction {
    enum class Op : std::uint8_t {
      kTake,   // one symbol of `symbols`, then go to `next`
      kLook,   // go to `next` if the next symbol is one of `symbols`
      kSplit,  // go to `next`, else to `other`
      kMatch,
    };
    Op op;
    std::uint32_t next = 0;
    std::uint32_t other = 0;
    std::bitset<257> symbols{};  // [256] is the end of the text
  };
  static constexpr std::uint32_t kEnd = 256;
  static constexpr std::size_t kMaxInstructions = 8192;

  std::vector<Instruction> instructions;
  std::uint32_t start = 0;

  /// Error: the program has more than kMaxInstructions.
  static Result<PatternProgram> create(const RegexNode& pattern, const SymbolMap& map);
};

}  // namespace octavo
