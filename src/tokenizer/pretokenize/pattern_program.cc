#include "tokenizer/pretokenize/pattern_program.h"

namespace octavo {

namespace {

using Op = PatternProgram::Instruction::Op;
using Kind = RegexNode::Kind;

/// Writes instructions from the end of the pattern to its beginning: each knows the one that follows it. A visited node
/// writes at least one, as no node within a repeat reads nothing; so kMaxInstructions bounds the visits.
class Writer {
 public:
  explicit Writer(const SymbolMap& map) : map_(map) {}

  Result<PatternProgram> write(const RegexNode& pattern) {
    const std::uint32_t match = add({.op = Op::kMatch});
    program_.start = write_node(pattern, match);
    if (is_full_) return fail("the pattern becomes more than {} instructions", PatternProgram::kMaxInstructions);
    return std::move(program_);
  }

 private:
  std::uint32_t add(PatternProgram::Instruction instruction) {
    if (program_.instructions.size() == PatternProgram::kMaxInstructions) {
      is_full_ = true;
      return 0;
    }
    program_.instructions.push_back(instruction);
    return static_cast<std::uint32_t>(program_.instructions.size()) - 1;
  }

  std::bitset<257> symbols_of(const RegexNode& node) const {
    std::bitset<257> symbols;
    const std::bitset<256> set = map_.symbols_of(node.set);
    for (std::size_t i = 1; i < map_.num_symbols(); ++i) symbols[i] = set[i] != (node.kind == Kind::kNotNext);
    symbols[PatternProgram::kEnd] = node.kind == Kind::kNotNext || node.kind == Kind::kEnd;
    return symbols;
  }

  /// Writes `node`, which goes on to `next`, and gives its first instruction.
  std::uint32_t write_node(const RegexNode& node, std::uint32_t next) {
    switch (node.kind) {
      case Kind::kSet: return add({.op = Op::kTake, .next = next, .symbols = symbols_of(node)});
      case Kind::kNext:
      case Kind::kNotNext:
      case Kind::kEnd: return add({.op = Op::kLook, .next = next, .symbols = symbols_of(node)});
      case Kind::kSequence:
        for (std::size_t i = node.children.size(); i-- > 0;) next = write_node(node.children[i], next);
        return next;
      case Kind::kAlternatives: {
        std::uint32_t first = write_node(node.children.back(), next);
        for (std::size_t i = node.children.size() - 1; i-- > 0;) {
          first = add({.op = Op::kSplit, .next = write_node(node.children[i], next), .other = first});
        }
        return first;
      }
      case Kind::kRepeat: return write_repeat(node, next);
      case Kind::kBegin: break;  // no pattern has this node
    }
    return next;
  }

  std::uint32_t split(bool is_lazy, std::uint32_t inside, std::uint32_t outside) {
    return is_lazy ? add({.op = Op::kSplit, .next = outside, .other = inside})
                   : add({.op = Op::kSplit, .next = inside, .other = outside});
  }

  std::uint32_t write_repeat(const RegexNode& node, std::uint32_t next) {
    const RegexNode& child = node.children.front();
    std::uint32_t first = next;
    if (node.max == RegexNode::kAnyNumber) {
      const std::uint32_t loop = split(node.is_lazy, next, next);
      const std::uint32_t inside = write_node(child, loop);
      (node.is_lazy ? program_.instructions[loop].other : program_.instructions[loop].next) = inside;
      first = loop;
    } else {
      for (std::uint32_t i = node.min; i < node.max && !is_full_; ++i) {
        first = split(node.is_lazy, write_node(child, first), next);
      }
    }
    for (std::uint32_t i = 0; i < node.min && !is_full_; ++i) first = write_node(child, first);
    return first;
  }

  const SymbolMap& map_;
  PatternProgram program_;
  bool is_full_ = false;
};

}  // namespace

Result<PatternProgram> PatternProgram::create(const RegexNode& pattern, const SymbolMap& map) {
  return Writer(map).write(pattern);
}

}  // namespace octavo
