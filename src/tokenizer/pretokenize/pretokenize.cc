#include "tokenizer/pretokenize/pretokenize.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "tokenizer/pretokenize/pattern.h"

namespace octavo {

/// One text on its way to words.
struct PreTokenizer::Run {
  const Visit& visit;
  std::uint64_t max_steps;
  const Scratch& scratch;
  std::uint64_t num_steps = 0;
};

Result<PreTokenizer> PreTokenizer::create(std::string_view name) {
  const PreTokenizerKind* kind = find_pre_tokenizer(name.empty() ? "default" : name);
  if (kind == nullptr) {
    return fail("the pre-tokenizer {} is not supported; supported are: {}", quote(name), all_pre_tokenizer_names());
  }
  const auto end = std::ranges::find_if(kind->stages, [](const CutStage& stage) { return stage.pattern.empty(); });
  auto result = create({kind->stages.begin(), end}, kind->normalization, kind->ignore_merges);
  OCTAVO_CHECK(result.has_value(), "{}: {}", name, result.error().message);
  result->add_bos_ = kind->add_bos;
  return result;
}

Result<PreTokenizer> PreTokenizer::create(std::span<const CutStage> stages, Normalization normalization,
                                          bool ignore_merges) {
  std::vector<RegexNode> patterns;
  for (const CutStage& stage : stages) {
    const bool is_groups = stage.pattern == DigitGroups::kPattern;
    OCTAVO_TRY(patterns.emplace_back(), is_groups ? DigitGroups::characters() : parse_pattern(stage.pattern));
  }
  OCTAVO_TRY(SymbolMap map, SymbolMap::create(patterns));
  std::vector<Stage> made;
  std::uint64_t num_build_steps = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    OCTAVO_TRY(Stage stage, make_stage(stages[i], patterns[i], map, num_build_steps));
    made.push_back(std::move(stage));
  }
  PreTokenizer result(std::move(map), std::move(made));
  result.normalization_ = normalization;
  result.ignore_merges_ = ignore_merges;
  return result;
}

Result<PreTokenizer::Stage> PreTokenizer::make_stage(const CutStage& how, const RegexNode& pattern,
                                                     const SymbolMap& map, std::uint64_t& num_build_steps) {
  CutStage kept = how;
  kept.pattern = {};
  if (how.pattern == DigitGroups::kPattern) return Stage{DigitGroups(map), kept};
  auto automaton = WordAutomaton::create(pattern, map, num_build_steps);
  if (!automaton) return fail("{}: {}", quote(how.pattern), automaton.error().message);
  return Stage{std::move(*automaton), kept};
}

bool PreTokenizer::leaves_out() const {
  return std::ranges::any_of(stages_, [](const Stage& stage) { return stage.how.behavior == CutBehavior::kRemoved; });
}

// A stage's pieces, which are its matches and the gaps between them, are cut by the next stage.
Result<bool> PreTokenizer::cut(std::size_t stage, Run& run, std::uint32_t begin, std::uint32_t end) const {
  if (stage == stages_.size()) return run.visit(begin, end);
  const auto& [finder, how] = stages_[stage];
  const auto* automaton = std::get_if<WordAutomaton>(&finder);
  std::uint32_t run_end = 0;
  const std::uint8_t* symbols = (how.is_on_bytes ? run.scratch.byte_symbols : run.scratch.symbols).data();
  Piece pending;
  while (begin < end) {
    const auto match = automaton != nullptr
                           ? automaton->find(symbols, begin, end, run.max_steps, run.num_steps)
                           : std::get<DigitGroups>(finder).find(symbols, begin, end, run_end, run.num_steps);
    if (run.num_steps > run.max_steps) {
      return fail("the pattern of cut {} looked at bytes {} times, and came to byte {} of {}; at most {} are allowed",
                  stage + 1, run.num_steps, begin, run.scratch.symbols.size(), run.max_steps);
    }
    const std::uint32_t match_begin = match ? match->begin : end;
    if (match_begin > begin) {
      OCTAVO_TRY(const bool goes_on, pass_on(stage, run, {begin, match_begin, how.is_inverted}, pending));
      if (!goes_on) return false;
    }
    if (!match) break;
    OCTAVO_CHECK(match->end > match->begin && match->end <= end);
    OCTAVO_TRY(const bool goes_on, pass_on(stage, run, {match->begin, match->end, !how.is_inverted}, pending));
    if (!goes_on) return false;
    begin = match->end;
  }
  if (pending.begin == pending.end) return true;
  return cut(stage + 1, run, pending.begin, pending.end);
}

Result<bool> PreTokenizer::pass_on(std::size_t stage, Run& run, Piece piece, Piece& pending) const {
  const auto joins = [&pending, &piece](CutBehavior behavior) {
    switch (behavior) {
      case CutBehavior::kContiguous: return pending.is_match == piece.is_match;
      case CutBehavior::kMergedWithPrevious: return !pending.is_match && piece.is_match;
      case CutBehavior::kMergedWithNext: return pending.is_match && !piece.is_match;
      default: return false;
    }
  };
  const CutBehavior behavior = stages_[stage].how.behavior;
  if (behavior == CutBehavior::kIsolated) return cut(stage + 1, run, piece.begin, piece.end);
  if (behavior == CutBehavior::kRemoved && piece.is_match) return true;
  if (behavior == CutBehavior::kRemoved) return cut(stage + 1, run, piece.begin, piece.end);
  if (pending.begin != pending.end) {
    if (joins(behavior)) {
      piece.begin = pending.begin;
    } else {
      OCTAVO_TRY(const bool goes_on, cut(stage + 1, run, pending.begin, pending.end));
      if (!goes_on) return false;
    }
  }
  pending = piece;
  return true;
}

Result<std::uint64_t> PreTokenizer::for_each_word(std::string_view text, const Visit& visit, Scratch& scratch) const {
  OCTAVO_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max());
  if (text.empty()) return 0;
  Run run{.visit = visit, .max_steps = kMaxStepsPerByte * (text.size() + 64), .scratch = scratch};
  map_.translate(text, scratch.symbols);
  if (std::ranges::any_of(stages_, [](const Stage& stage) { return stage.how.is_on_bytes; }))
    map_.translate_bytes(text, scratch.byte_symbols);
  OCTAVO_TRY_VOID(cut(0, run, 0, static_cast<std::uint32_t>(text.size())));
  return run.num_steps;
}

Result<std::vector<std::uint32_t>> PreTokenizer::split(std::string_view text) const {
  std::vector<std::uint32_t> ends;
  Scratch scratch;
  const auto note = [&ends](std::uint32_t, std::uint32_t end) {
    ends.push_back(end);
    return true;
  };
  OCTAVO_TRY_VOID(for_each_word(text, note, scratch));
  return ends;
}

}  // namespace octavo
