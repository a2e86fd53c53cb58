#include "constraint/constraint_compiler.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text.h"
#include "constraint/constraint_rules.h"
#include "constraint/grammar/json_grammar.h"
#include "constraint/regex/regex.h"
#include "constraint/schema/json_schema.h"

namespace octavo {
namespace {

using WorkPointer = std::shared_ptr<CompileWork>;

Result<Grammar> read_choices(const std::vector<std::string>& choices, const WorkPointer& work) {
  if (choices.empty() || choices.size() > ConstraintCompiler::kMaxChoices)
    return fail("found {} choices, expected 1 to {}", choices.size(), ConstraintCompiler::kMaxChoices);
  Grammar grammar(work);
  std::vector<ExpressionId> texts;
  std::size_t num_bytes = 0;
  for (const std::string& choice : choices) {
    if (!is_valid_utf8(choice)) return fail("found the choice {}, expected UTF-8", quote(choice));
    num_bytes += choice.size();
    texts.push_back(grammar.literal(choice));
  }
  if (num_bytes > ConstraintCompiler::kMaxChoiceBytes)
    return fail("found choices of {} bytes, expected at most {}", num_bytes, ConstraintCompiler::kMaxChoiceBytes);
  grammar.set_root(grammar.alternatives(std::move(texts)));
  return grammar;
}

Result<Grammar> read_schema(const ConstraintSource& source, const WorkPointer& work,
                            std::vector<std::string>& warnings) {
  const auto strictness = source.is_strict ? SchemaStrictness::kStrict : SchemaStrictness::kLoose;
  Grammar grammar(work);
  JsonGrammar json(grammar);
  OCTAVO_TRY(const ExpressionId root, read_json_schema(source.text, strictness, json, warnings, others_of(source)));
  grammar.set_root(root);
  return grammar;
}

Result<Grammar> read_source(const ConstraintSource& source, const TokenNames& tokens, const WorkPointer& work,
                            std::vector<std::string>& warnings) {
  Grammar grammar(work);
  switch (source.kind) {
    case ConstraintKind::kRegex: {
      OCTAVO_TRY(const ExpressionId root, read_regex(source.text, RegexReach::kWhole, grammar));
      grammar.set_root(root);
      return grammar;
    }
    case ConstraintKind::kGrammar: {
      OCTAVO_TRY(grammar, read_gbnf(source.text, tokens, std::move(grammar)));
      OCTAVO_TRY_VOID(define_rules(source, grammar, warnings));
      return grammar;
    }
    case ConstraintKind::kJsonObject: grammar.set_root(JsonGrammar(grammar).object()); return grammar;
    case ConstraintKind::kChoice: return read_choices(source.choices, work);
    case ConstraintKind::kJsonSchema: return read_schema(source, work, warnings);
  }
  return fail("found a constraint of kind {}, expected 0 to 4", static_cast<int>(source.kind));
}

std::string key_of(const ConstraintSource& source) {
  std::string key = fmt::format("{}\n{}\n{}\n{}", static_cast<int>(source.kind), source.is_strict,
                                source.closes_objects, source.text);
  for (const std::string& choice : source.choices) key += fmt::format("\n{}\n{}", choice.size(), choice);
  for (const std::string& schema : source.schemas) key += fmt::format("\n{}\n{}", schema.size(), schema);
  for (const ConstraintRule& rule : source.rules) {
    key += fmt::format("\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", rule.name, rule.origin.size(), rule.origin,
                       static_cast<int>(rule.kind), rule.schema, rule.place.size(), rule.place, rule.is_strict,
                       static_cast<int>(rule.notation), rule.mark_token, rule.texts.size());
    for (const std::string& text : rule.texts) key += fmt::format("\n{}\n{}", text.size(), text);
  }
  return key;
}

constexpr std::size_t kNameBytes = 60;  // the most bytes of a source in an error

/// A text in quotes, cut to the whole characters for which there is room.
std::string beginning(std::string_view text) {
  std::size_t size = std::min(text.size(), kNameBytes);
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return quote(text.substr(0, size)) + (size < text.size() ? "..." : "");
}

std::string name_of(const ConstraintSource& source) {
  switch (source.kind) {
    case ConstraintKind::kRegex: return fmt::format("the regular expression {}", beginning(source.text));
    case ConstraintKind::kGrammar: return fmt::format("the grammar {}", beginning(source.text));
    case ConstraintKind::kJsonObject: return "the constraint to a JSON object";
    case ConstraintKind::kChoice: return fmt::format("the choice of {} texts", source.choices.size());
    case ConstraintKind::kJsonSchema: return fmt::format("the JSON schema {}", beginning(source.text));
  }
  return "a constraint";
}

}  // namespace

Result<std::shared_ptr<const CompiledConstraint>> ConstraintCompiler::compile(const ConstraintSource& source,
                                                                              std::stop_token stop) {
  std::string key = key_of(source);
  if (auto kept = find(key)) return kept;
  const auto work = std::make_shared<CompileWork>(stop, max_steps_);
  if (!work->may_go_on()) return std::unexpected(work->error());
  std::vector<std::string> warnings;
  Result<Grammar> grammar = read_source(source, tokens_, work, warnings);
  if (!work->may_go_on()) return std::unexpected(work->error());  // this is the reason, whatever the reader says
  if (!grammar) return std::unexpected(std::move(grammar.error()));
  OCTAVO_TRY(auto compiled, CompiledConstraint::create(*grammar, {.vocabulary = vocabulary_,
                                                                  .warnings = std::move(warnings),
                                                                  .name = name_of(source),
                                                                  .memory = memory_,
                                                                  .make_room = [this] { return forget_one(); },
                                                                  .stop = std::move(stop)}));
  keep(std::move(key), compiled);
  return compiled;
}

std::shared_ptr<const CompiledConstraint> ConstraintCompiler::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::ranges::find(kept_, key, &Kept::first);
  if (kept == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, kept);
  return kept->second;
}

void ConstraintCompiler::keep(std::string key, std::shared_ptr<const CompiledConstraint> compiled) {
  const std::lock_guard lock(mutex_);
  num_text_bytes_ += key.size();
  kept_.emplace_front(std::move(key), std::move(compiled));
  while (kept_.size() > 1 && (kept_.size() > kMaxKept || num_text_bytes_ > kMaxKeptText)) {
    num_text_bytes_ -= kept_.back().first.size();
    kept_.pop_back();
  }
}

/// Forgets the least recently used constraint that nobody else holds. False: there is none.
bool ConstraintCompiler::forget_one() {
  const std::lock_guard lock(mutex_);
  const auto is_unused = [](const Kept& kept) { return kept.second.use_count() == 1; };
  const auto oldest = std::ranges::find_if(kept_.rbegin(), kept_.rend(), is_unused);
  if (oldest == kept_.rend()) return false;
  num_text_bytes_ -= oldest->first.size();
  kept_.erase(std::prev(oldest.base()));
  return true;
}

}  // namespace octavo
