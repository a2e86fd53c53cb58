// A pattern as instructions, in the order of preference, from which the automaton is built.
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
      kTake,   // takes one symbol of `symbols`, then goes to `next`
      kLook,   // goes to `next` if the next symbol is one of `symbols`
      kSplit,  // goes to `next`, or else to `other`
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

  /// Makes the program. Error: it has more than kMaxInstructions.
  static Result<PatternProgram> create(const RegexNode& pattern, const SymbolMap& map);
};

}  // namespace octavo
