// Masks against brute force: a token is allowed if and only if some text of the grammar goes on with its bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>

#include "constraint/grammar/json_grammar.h"
#include "constraint/recogniser.h"
#include "constraint/regex/regex.h"
#include "constraint/schema/json_schema.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::allowed_tokens;
using test::make_vocabulary;
using test::Recogniser;
using ::testing::HasSubstr;

/// Characters of one to four bytes, so that tokens end inside of them.
constexpr std::uint32_t kCharacters[] = {'a', 'b', 'c', 0xE9, 0x20AC, 0x20AD, 0x1F600};

class RandomGrammar {
 public:
  Grammar make() {
    const int num_rules = *rc::gen::inRange(1, 4);
    for (int i = 0; i < num_rules; ++i) grammar_.declare("r");
    // A rule that reads a character first never begins with itself.
    for (int i = 0; i < num_rules; ++i)
      grammar_.define(static_cast<RuleId>(i),
                      grammar_.alternatives({grammar_.sequence({set(), expression(0)}), set()}));
    grammar_.set_root(expression(0));
    return std::move(grammar_);
  }

 private:
  static std::uint32_t character() { return kCharacters[*rc::gen::inRange(0, 7)]; }

  ExpressionId set() {
    CodePointSet set(character());
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) set.add(character());
    return grammar_.set(set);
  }

  ExpressionId expression(int depth) {
    switch (*rc::gen::inRange(0, depth > 3 ? 3 : 7)) {
      case 0: return set();
      case 1: {
        std::string text;
        for (int i = *rc::gen::inRange(0, 3); i > 0; --i) append_utf8(text, character());
        return grammar_.literal(text);
      }
      case 2:
        return grammar_.call(static_cast<RuleId>(*rc::gen::inRange(0, static_cast<int>(grammar_.rules().size()))));
      case 3: return grammar_.sequence({expression(depth + 1), expression(depth + 1)});
      case 4: return grammar_.alternatives({expression(depth + 1), expression(depth + 1)});
      case 5: return grammar_.sequence({expression(depth + 1), expression(depth + 1), expression(depth + 1)});
      default: {
        const auto min = static_cast<std::uint32_t>(*rc::gen::inRange(0, 3));
        const auto more = static_cast<std::uint32_t>(*rc::gen::inRange(0, 3));
        return grammar_.repeat(expression(depth + 1), min, more == 2 ? Grammar::kAnyNumber : min + more);
      }
    }
  }

  Grammar grammar_;
};

std::vector<std::string> random_texts() {
  std::string all;
  for (const std::uint32_t character : kCharacters) append_utf8(all, character);
  std::vector<std::string> texts;
  for (const char c : all) texts.emplace_back(1, c);
  for (int i = 0; i < 24; ++i) {
    std::string text;
    for (int j = *rc::gen::inRange(1, 5); j > 0; --j) append_utf8(text, kCharacters[*rc::gen::inRange(0, 7)]);
    const int from = *rc::gen::inRange(0, 2);
    if (text.size() > 2)
      text = text.substr(static_cast<std::size_t>(from),
                         text.size() - static_cast<std::size_t>(*rc::gen::inRange(0, 2)) - 1);
    texts.push_back(text);
  }
  return texts;
}

/// Along a random text, all tokens are allowed that some text of the grammar goes on with, and no others.
void check_masks(const Grammar& grammar) {
  const auto vocabulary = make_vocabulary(random_texts());
  const auto compiled = CompiledConstraint::create(grammar, vocabulary);
  if (!compiled) {
    RC_ASSERT(!Recogniser(grammar, "").is_beginning());
    return;
  }
  ConstraintState state;
  state.begin(*compiled, std::nullopt);
  std::string text;
  for (int step = 0; step < 8; ++step) {
    const std::vector<TokenId> allowed = allowed_tokens(state, *vocabulary);
    std::vector<TokenId> expected;
    for (std::size_t id = 0; id + 1 < vocabulary->size(); ++id)
      if (Recogniser(grammar, text + std::string(vocabulary->at(static_cast<TokenId>(id)).bytes)).is_beginning())
        expected.push_back(static_cast<TokenId>(id));
    if (Recogniser(grammar, text).is_whole()) expected.push_back(static_cast<TokenId>(vocabulary->size()) - 1);
    RC_ASSERT(allowed == expected);
    RC_ASSERT(state.may_end() == Recogniser(grammar, text).is_whole());
    if (expected.empty() || expected.front() + 1 == static_cast<TokenId>(vocabulary->size())) return;
    const TokenId next = *rc::gen::elementOf(expected);
    if (next + 1 == static_cast<TokenId>(vocabulary->size())) return;
    RC_ASSERT(state.accept(next));
    text += vocabulary->at(next).bytes;
  }
}

RC_GTEST_PROP(TokenMasks, AllowExactlyTheTokensThatATextOfTheGrammarGoesOnWith, ()) {
  check_masks(RandomGrammar().make());
}

/// The set that a text has come to, byte by byte.
class ByteByByte {
 public:
  explicit ByteByByte(const Grammar& grammar) : automaton_(Automaton::build(grammar).value()) {}

  bool goes_on(std::string_view bytes) { return !after(bytes).is_dead(); }
  void move(std::string_view bytes) { set_ = after(bytes); }

 private:
  ConfigurationSet after(std::string_view bytes) {
    ConfigurationSet set = set_;
    for (const char c : bytes) set = stepper_.after_byte(set.members, static_cast<std::uint8_t>(c));
    return set;
  }

  Automaton automaton_;
  CallStacks stacks_;
  ConfigurationStepper stepper_{automaton_, stacks_};
  ConfigurationSet set_ = stepper_.enter(automaton_.start());
};

/// Along a random text, byte by byte.
void check_against_bytes(const Grammar& grammar, const std::vector<std::string>& texts) {
  ByteByByte truth(grammar);
  const auto vocabulary = make_vocabulary(texts);
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  for (int step = 0; step < 8; ++step) {
    std::vector<TokenId> expected;
    for (std::size_t id = 0; id + 1 < vocabulary->size(); ++id)
      if (truth.goes_on(vocabulary->at(static_cast<TokenId>(id)).bytes)) expected.push_back(static_cast<TokenId>(id));
    std::vector<TokenId> allowed = allowed_tokens(state, *vocabulary);
    std::erase(allowed, static_cast<TokenId>(vocabulary->size()) - 1);  // the end
    RC_ASSERT(allowed == expected);
    if (expected.empty()) return;
    const TokenId next = *rc::gen::elementOf(expected);
    RC_ASSERT(state.accept(next));
    truth.move(vocabulary->at(next).bytes);
  }
}

/// Whole subtrees of tokens are taken at once there.
RC_GTEST_PROP(TokenMasks, AllowExactlyTheTokensThatAStringGoesOnWith, ()) {
  CodePointSet set(kCharacters[*rc::gen::inRange(0, 7)]);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) set.add(kCharacters[*rc::gen::inRange(0, 7)]);
  const auto min = static_cast<std::uint32_t>(*rc::gen::inRange(0, 4));
  const auto more = static_cast<std::uint32_t>(*rc::gen::inRange(0, 8));
  Grammar grammar;
  const ExpressionId character = grammar.set(*rc::gen::inRange(0, 3) == 0 ? set : set.complement());
  const ExpressionId inside = grammar.repeat(character, min, more == 7 ? Grammar::kAnyNumber : min + more);
  const ExpressionId end = grammar.set(CodePointSet(kCharacters[*rc::gen::inRange(0, 7)]));
  grammar.set_root(grammar.sequence({grammar.named("string", inside), end, grammar.optional(inside)}));
  check_against_bytes(grammar, random_texts());
}

/// Tokens of plain text are known by their lengths there, others are looked at.
RC_GTEST_PROP(TokenMasks, AllowExactlyTheTokensThatAStringOfJsonGoesOnWith, ()) {
  CodePointSet others('"');
  if (*rc::gen::inRange(0, 4) != 0) others.add(0, 0x20);
  if (*rc::gen::inRange(0, 4) != 0) others.add('\\');
  if (*rc::gen::inRange(0, 4) == 0) others.add(kCharacters[*rc::gen::inRange(0, 7)]);
  const auto min = static_cast<std::uint32_t>(*rc::gen::inRange(0, 4));
  const auto more =
      static_cast<std::uint32_t>(*rc::gen::elementOf(std::vector<int>{0, 1, 2, 3, 22, 23, 24, 25, 30, 300}));
  Grammar grammar;
  ExpressionId character = grammar.set(others.complement());
  if (*rc::gen::inRange(0, 2) == 0) character = grammar.named("character", character);
  const ExpressionId quote = grammar.literal("\"");
  const ExpressionId inside = grammar.repeat(character, min, more == 30 ? Grammar::kAnyNumber : min + more);
  const ExpressionId string = grammar.named("string", grammar.sequence({quote, inside, quote}));
  grammar.set_root(grammar.sequence({string, grammar.repeat(grammar.sequence({grammar.literal(","), string}), 0, 3)}));
  std::vector<std::string> texts = random_texts();
  texts.insert(texts.end(), {"\"", "\",", ",\"", "a\",\"b", "\"\"", "\n", "a\n", "\\", "a\\b", "\x7F", ",", "b\","});
  for (const std::size_t length : {22, 23, 24, 25, 26}) {
    texts.emplace_back(length, 'a');
    texts.push_back(std::string(length, 'b') + "\",");
    texts.push_back("\"" + std::string(length, 'c') + "\n");
    std::string euros;
    for (std::size_t i = 0; i < length; ++i) append_utf8(euros, 0x20AC);
    texts.push_back(euros);
    texts.push_back(euros.substr(0, euros.size() - 1));
  }
  check_against_bytes(grammar, texts);
}

/// Of so many states at once those in loops are looked at before the others.
RC_GTEST_PROP(TokenMasks, AllowExactlyTheTokensThatManyLoopsGoOnWith, ()) {
  Grammar grammar;
  const auto set = [&grammar] {
    CodePointSet some(kCharacters[*rc::gen::inRange(0, 7)]);
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) some.add(kCharacters[*rc::gen::inRange(0, 7)]);
    return grammar.set(*rc::gen::inRange(0, 3) == 0 ? some.complement() : some);
  };
  std::vector<ExpressionId> ways;
  for (int i = 0; i < 14; ++i) {
    const auto count = static_cast<std::uint32_t>(*rc::gen::inRange(1, 8));
    const ExpressionId tail = grammar.sequence({set(), grammar.repeat(set(), count, count)});
    if (*rc::gen::inRange(0, 3) == 0) {
      const RuleId rule = grammar.declare("loop");  // that calls itself at its end
      grammar.define(rule, grammar.alternatives({grammar.sequence({set(), grammar.call(rule)}), tail}));
      ways.push_back(grammar.call(rule));
    } else {
      const ExpressionId character = *rc::gen::inRange(0, 2) == 0 ? set() : grammar.named("character", set());
      ways.push_back(grammar.sequence({grammar.repeat(character, 0, Grammar::kAnyNumber), tail}));
    }
  }
  const ExpressionId all = grammar.alternatives(std::move(ways));
  grammar.set_root(*rc::gen::inRange(0, 2) == 0 ? all : grammar.sequence({grammar.named("inside", all), set()}));
  check_against_bytes(grammar, random_texts());
}

TEST(TokenMasks, CountTheCharactersOfALongString) {
  Grammar grammar;
  const ExpressionId quote = grammar.literal("\"");
  const ExpressionId character = grammar.named("character", grammar.set(CodePointSet('"').complement()));
  grammar.set_root(grammar.sequence({quote, grammar.repeat(character, 270, 300), quote}));
  std::vector<std::string> texts = {"\"", "x", "x\""};
  for (const std::size_t length : {5, 23, 24, 25, 64, 70}) {
    texts.emplace_back(length, 'x');
    texts.push_back(std::string(length, 'x') + "\"");
  }
  const auto vocabulary = make_vocabulary(texts);
  const auto compiled = CompiledConstraint::create(grammar, vocabulary).value();
  for (std::size_t count = 0; count <= 300; ++count) {
    ConstraintState state;
    state.begin(compiled, std::nullopt);
    ASSERT_TRUE(state.accept(0));
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(state.accept(1));
    std::vector<TokenId> expected;
    for (std::size_t id = 0; id < texts.size(); ++id) {
      const bool ends = texts[id].back() == '"';
      const std::size_t then = count + texts[id].size() - (ends ? 1 : 0);
      if (then <= 300 && (!ends || then >= 270)) expected.push_back(static_cast<TokenId>(id));
    }
    ASSERT_EQ(allowed_tokens(state, *vocabulary), expected) << "behind " << count;
  }
}

TEST(TokenMasks, AreTheSameFromWhatIsKeptAndAnew) {
  Grammar grammar;
  const RuleId list = grammar.declare("list");
  const ExpressionId item = grammar.alternatives({grammar.call(list), grammar.literal("a")});
  grammar.define(list, grammar.sequence(
                           {grammar.literal("["), grammar.repeat(item, 0, Grammar::kAnyNumber), grammar.literal("]")}));
  grammar.set_root(grammar.call(list));
  const auto vocabulary = make_vocabulary({"[", "]", "a", "[[", "]]", "]]]", "a]", "a]]a", "[]", "][", "b"});
  const auto warm = CompiledConstraint::create(grammar, vocabulary).value();
  ConstraintState followed;
  followed.begin(warm, std::nullopt);
  std::string text;
  for (const TokenId token : {3, 3, 6, 7, 8, 1}) {
    ASSERT_TRUE(followed.accept(token)) << text;
    text += vocabulary->at(token).bytes;
    const auto cold = CompiledConstraint::create(grammar, vocabulary).value();
    ConstraintState anew;
    anew.begin(cold, std::nullopt);
    for (const char c : text) ASSERT_TRUE(anew.accept(c == '[' ? 0 : c == ']' ? 1 : 2));
    EXPECT_EQ(allowed_tokens(followed, *vocabulary), allowed_tokens(anew, *vocabulary)) << text;
  }
  EXPECT_EQ(allowed_tokens(followed, *vocabulary), std::vector<TokenId>{11});
}

/// Words as a text of English has them, with a space in front or none, and what stands between them.
std::vector<std::string> words_of_texts() {
  std::vector<std::string> texts;
  for (int byte = 0x20; byte < 0x7F; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  std::uint64_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    std::string word = i % 2 == 0 ? " " : "";
    for (std::uint64_t length = 2 + i % 9; length > 0; --length) {
      state = state * 6364136223846793005 + 1442695040888963407;
      word += static_cast<char>('a' + (state >> 33) % 26);
    }
    texts.push_back(std::move(word));
  }
  return texts;
}

/// Follows a text of words that the pattern takes, and gives the work of each mask.
std::vector<std::uint64_t> work_along_text(const Grammar& grammar, const std::vector<std::string>& texts,
                                           std::size_t num_tokens, std::string_view left_out) {
  const auto vocabulary = make_vocabulary(texts);
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  std::vector<MaskWord> mask(mask_words(vocabulary->size()));
  std::vector<std::uint64_t> work;
  for (TokenId token = 100; work.size() < num_tokens; token += 7) {
    if (texts[static_cast<std::size_t>(token)].find_first_of(left_out) != std::string::npos) continue;
    if (!state.accept(token)) break;
    std::ranges::fill(mask, 0);
    const FoundMask found = state.allow(mask);
    EXPECT_TRUE(found);
    work.push_back(found.work);
  }
  return work;
}

Grammar regex(std::string_view pattern) {
  Grammar grammar;
  grammar.set_root(read_regex(pattern, RegexReach::kWhole, grammar).value());
  return grammar;
}

Grammar schema(std::string_view text) {
  Grammar grammar;
  JsonGrammar json(grammar);
  std::vector<std::string> warnings;
  grammar.set_root(read_json_schema(text, SchemaStrictness::kStrict, json, warnings).value());
  return grammar;
}

// Each takes sets of states that never come again, most of which are covered by one that does.
TEST(TokenMasks, CountedTailsTakeFewSteps) {
  const std::vector<std::string> texts = words_of_texts();
  const std::uint64_t most = 10 * texts.size();
  const auto check = [&](const Grammar& grammar, std::size_t num_tokens, std::string_view left_out,
                         std::string_view name) {
    const std::vector<std::uint64_t> work = work_along_text(grammar, texts, num_tokens, left_out);
    ASSERT_EQ(work.size(), num_tokens) << name;
    for (const std::uint64_t steps : work) EXPECT_LT(steps, most) << name;
  };
  check(regex("[^qz\n]*[aeioubcd ][^qz\n]{80}"), 60, "qz", "an exact number");
  check(regex("[^<>]*[A-Za-f][^<>]{8,64}$"), 60, "", "at least and at most");
  check(regex(".{0,300}(yes|no|a).{0,300}"), 60, "", "in front and behind");
}

// Their tails end at different places, so that none covers another, and each letter begins one more.
TEST(TokenMasks, PatternsSideBySideTakeFewSteps) {
  const std::vector<std::string> texts = words_of_texts();
  std::string pattern;
  for (int i = 0; i < 22; ++i)
    pattern += fmt::format("{}[a-z]*{}[a-z0-9]{{{}}}", i > 0 ? "|" : "", static_cast<char>('a' + i), i + 2);
  const auto vocabulary = make_vocabulary(texts);
  ConstraintState state;
  state.begin(CompiledConstraint::create(regex(pattern), vocabulary).value(), std::nullopt);
  std::vector<MaskWord> mask(mask_words(vocabulary->size()));
  for (TokenId token = 100; token < 400; token += 6) {
    ASSERT_TRUE(state.accept(token));  // those of even places have no space in front
    std::ranges::fill(mask, 0);
    const FoundMask found = state.allow(mask);
    ASSERT_TRUE(found) << found.work;
    EXPECT_LT(found.work, 6 * texts.size());
  }
}

TEST(TokenMasks, CountedTailsInStringsTakeFewSteps) {
  std::vector<std::string> texts = words_of_texts();
  for (const std::string_view pattern : {"^[^<>]*[A-Za-f][^<>]{8,64}$", "^.{0,300}(yes|no|a).{0,300}$"}) {
    const Grammar grammar = schema(fmt::format(R"({{"type": "string", "pattern": "{}"}})", pattern));
    const auto vocabulary = make_vocabulary(texts);
    ConstraintState state;
    state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
    ASSERT_TRUE(state.accept('"' - 0x20));
    std::vector<MaskWord> mask(mask_words(vocabulary->size()));
    for (TokenId token = 100; token < 400; token += 7) {
      ASSERT_TRUE(state.accept(token)) << pattern;
      std::ranges::fill(mask, 0);
      const FoundMask found = state.allow(mask);
      ASSERT_TRUE(found);
      EXPECT_LT(found.work, 20 * texts.size()) << pattern;
    }
  }
}

// What is charged must not tell who asked before.
RC_GTEST_PROP(TokenMasks, TheirWorkAndTheyThemselvesDoNotDependOnWhatIsKept, ()) {
  const Grammar grammar = RandomGrammar().make();
  const auto vocabulary = make_vocabulary(random_texts());
  const auto warm = CompiledConstraint::create(grammar, vocabulary);
  if (!warm) return;
  ConstraintState followed, again;
  followed.begin(*warm, std::nullopt);
  std::vector<TokenId> tokens;
  for (int step = 0; step < 6; ++step) {
    std::vector<MaskWord> mask(mask_words(vocabulary->size())), anew = mask;
    const FoundMask found = followed.allow(mask);
    const auto cold = CompiledConstraint::create(grammar, vocabulary).value();
    ConstraintState state;
    state.begin(cold, std::nullopt);
    for (const TokenId token : tokens) RC_ASSERT(state.accept(token));
    RC_ASSERT(state.allow(anew).work == found.work);
    RC_ASSERT(mask == anew);
    const std::vector<TokenId> allowed = allowed_tokens(followed, *vocabulary);
    if (allowed.empty() || allowed.front() + 1 == static_cast<TokenId>(vocabulary->size())) return;
    tokens.push_back(allowed[*rc::gen::inRange<std::size_t>(0, allowed.size())]);
    if (tokens.back() + 1 == static_cast<TokenId>(vocabulary->size())) return;
    RC_ASSERT(followed.accept(tokens.back()));
    RC_ASSERT(followed.work() == [&] {
      ConstraintState other;
      other.begin(cold, std::nullopt);
      for (const TokenId token : tokens) other.accept(token);
      return other.work();
    }());
  }
}

TEST(TokenMasks, AreGivenUpAndFoundLaterWithTheSameWork) {
  const std::vector<std::string> texts = words_of_texts();
  const auto vocabulary = make_vocabulary(texts);
  const auto compiled = CompiledConstraint::create(regex("[a-z ]{1,9}x?[^b]{2,9}|[^q]{7}c"), vocabulary).value();
  ConstraintState state;
  state.begin(compiled, std::nullopt);
  ASSERT_TRUE(state.accept('a' - 0x20));
  std::vector<MaskWord> mask(mask_words(vocabulary->size()));
  EXPECT_EQ(state.allow(mask, {.waits = false, .walks = false}).outcome, FoundMask::Outcome::kNotReady);
  EXPECT_FALSE(state.is_mask_kept());
  const std::atomic<bool> stop = true;
  EXPECT_EQ(state.allow(mask, {.stop = &stop}).outcome, FoundMask::Outcome::kNotReady);
  EXPECT_EQ(state.allow(mask, {.until = MaskSearch::Clock::now()}).outcome, FoundMask::Outcome::kNotReady);
  EXPECT_FALSE(state.is_mask_kept());
  std::ranges::fill(mask, 0);
  const FoundMask found = state.allow(mask);
  ASSERT_TRUE(found);
  std::vector<MaskWord> kept(mask.size());
  EXPECT_EQ(state.allow(kept, {.waits = false, .walks = false}).work, found.work);
  EXPECT_EQ(kept, mask);
  EXPECT_TRUE(state.is_mask_kept());
}

TEST(TokenMasks, AreKeptOncePartsOfThemAreThatComeFromElsewhere) {
  // Behind each call of the word its mask consists of the word's own and of what stands behind the call.
  Grammar grammar;
  const ExpressionId word = grammar.literal("ab");
  const RuleId rule = grammar.declare("word");
  grammar.define(rule, grammar.repeat(word, 1, 3));
  grammar.set_root(grammar.sequence({grammar.call(rule), grammar.literal("c"), grammar.call(rule)}));
  const auto vocabulary = make_vocabulary({"a", "b", "ab", "abc", "c", "ba"});
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  std::vector<MaskWord> mask(mask_words(vocabulary->size()));
  for (const TokenId token : {TokenId{0}, TokenId{1}, TokenId{4}, TokenId{2}}) {
    const bool was_kept = state.allow(mask, {.waits = false, .walks = false}).outcome != FoundMask::Outcome::kNotReady;
    EXPECT_EQ(state.is_mask_kept(), was_kept);
    ASSERT_TRUE(state.allow(mask));
    EXPECT_TRUE(state.is_mask_kept());
    ASSERT_TRUE(state.accept(token));
  }
}

TEST(TokenMasks, DropTheSpaceThatTheWordsDropAtTheBeginningOfAText) {
  Grammar grammar;
  grammar.set_root(grammar.literal("ab c"));
  const auto vocabulary = make_vocabulary({" ", " a", "a", " ab", "b", " c", "c"}, true);
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  EXPECT_EQ(allowed_tokens(state, *vocabulary), (std::vector<TokenId>{1, 2, 3}));
  ASSERT_TRUE(state.accept(3));
  EXPECT_EQ(allowed_tokens(state, *vocabulary), (std::vector<TokenId>{0, 5}));
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), TokenId{2});
  EXPECT_EQ(allowed_tokens(state, *vocabulary), std::vector<TokenId>{2}) << "a text goes on behind a word";
}

TEST(TokenMasks, GiveUpWhereTooManyPlacesAreAlive) {
  // Every text of a and b can be read in more ways than are followed.
  Grammar grammar;
  const ExpressionId a = grammar.literal("a"), b = grammar.literal("b");
  std::vector<ExpressionId> ways;
  for (int i = 0; i < 9000; ++i) ways.push_back(grammar.sequence({grammar.repeat(a, 0, Grammar::kAnyNumber), b}));
  grammar.set_root(grammar.alternatives(std::move(ways)));
  const auto compiled = CompiledConstraint::create(grammar, make_vocabulary({"a", "b"}));
  ASSERT_FALSE(compiled);
  EXPECT_THAT(compiled.error().message, HasSubstr("is too ambiguous to be followed: its first token takes more than"));
}

}  // namespace
}  // namespace octavo
