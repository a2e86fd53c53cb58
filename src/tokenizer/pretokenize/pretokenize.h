// Cuts text into the words that byte-level BPE merges within.
//
// A text is cut in stages: the matches of a pattern and the gaps between them are the pieces that the next stage cuts.
// Patterns run as automata over symbols (symbol_map.h), one look-up a byte, so time is linear for the patterns of the
// table; one of a tokenizer.json that looks far ahead again and again ends with an error. Memory is two bytes a byte.
// Owned by the Tokenizer; immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "tokenizer/pretokenize/digit_groups.h"
#include "tokenizer/pretokenize/pretokenizers.h"
#include "tokenizer/pretokenize/symbol_map.h"
#include "tokenizer/pretokenize/word_automaton.h"

namespace octavo {

class PreTokenizer {
 public:
  /// The most look-ups for a byte in all stages together; the patterns of the table need a quarter.
  static constexpr std::uint64_t kMaxStepsPerByte = 64;

  /// The pre-tokenizer that tokenizer.ggml.pre names; "" stands for a missing key. Error: an unknown name, with the
  /// list of known ones.
  static Result<PreTokenizer> create(std::string_view name);
  /// A pre-tokenizer of other stages. Error: a pattern that is not supported.
  static Result<PreTokenizer> create(std::span<const CutStage> stages, Normalization normalization, bool ignore_merges);

  /// Whether a word that is a token becomes that token without merging (the tokenizers of Llama 3 and its kin).
  bool ignore_merges() const { return ignore_merges_; }
  /// Whether BOS is added where the file has no tokenizer.ggml.add_bos_token.
  bool add_bos() const { return add_bos_; }
  /// Whether a stage leaves out its matches.
  bool leaves_out() const;
  /// The normalization of a text before it is cut.
  Normalization normalization() const { return normalization_; }

  /// Called with a word's begin and end; it gives false where it wants no further word.
  using Visit = std::function<bool(std::uint32_t begin, std::uint32_t end)>;

  /// Memory that cutting reuses from text to text.
  struct Scratch {
    std::vector<std::uint8_t> symbols;       // [bytes of the text]
    std::vector<std::uint8_t> byte_symbols;  // [bytes of the text], for stages on bytes

    std::size_t bytes() const { return symbols.capacity() + byte_symbols.capacity(); }
  };

  /// Cuts `text` and shows each word as soon as it is known. Words come in order, and every byte belongs to one, except
  /// for bytes that a stage leaves out. `text` consists of whole characters (surrogates included) and has less than 4
  /// GiB. Gives the number of look-ups. Error: more than kMaxStepsPerByte allows.
  Result<std::uint64_t> for_each_word(std::string_view text, const Visit& visit, Scratch& scratch) const;
  /// The words' ends; the last is the size of `text`.
  Result<std::vector<std::uint32_t>> split(std::string_view text) const;

 private:
  struct Stage {
    std::variant<WordAutomaton, DigitGroups> finder;
    CutStage how;  // the stage's cut, without its pattern
  };
  struct Run;
  struct Piece {
    std::uint32_t begin = 0, end = 0;
    bool is_match = false;
  };

  PreTokenizer(SymbolMap map, std::vector<Stage> stages) : map_(std::move(map)), stages_(std::move(stages)) {}
  /// A stage with the pattern. Error: it becomes too large.
  static Result<Stage> make_stage(const CutStage& how, const RegexNode& pattern, const SymbolMap& map,
                                  std::uint64_t& num_build_steps);
  /// Cuts run.text[begin, end) by the stages from `stage` on. False: visit() wants no further word.
  Result<bool> cut(std::size_t stage, Run& run, std::uint32_t begin, std::uint32_t end) const;
  /// Passes a match of `stage`, or a gap, to the next stage; or it waits in `pending`, where the piece behind it may
  /// join it.
  Result<bool> pass_on(std::size_t stage, Run& run, Piece piece, Piece& pending) const;

  SymbolMap map_;  // the symbols of all stages
  std::vector<Stage> stages_;
  Normalization normalization_ = Normalization::kNone;
  bool ignore_merges_ = false;
  bool add_bos_ = false;
};

}  // namespace octavo
