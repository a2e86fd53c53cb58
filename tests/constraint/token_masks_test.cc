// Masks against brute force: a token is allowed if and only if some text of the grammar goes on with its bytes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "constraint/recogniser.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::allowed_tokens;
using test::make_vocabulary;
using test::Recogniser;

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

  bool is_beginning(const std::string& text) {
    ConfigurationSet set = stepper_.enter(automaton_.start());
    for (const char c : text) set = stepper_.after_byte(set.members, static_cast<std::uint8_t>(c));
    return !set.is_dead();
  }

 private:
  Automaton automaton_;
  CallStacks stacks_;
  ConfigurationStepper stepper_{automaton_, stacks_};
};

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
  ByteByByte truth(grammar);
  const auto vocabulary = make_vocabulary(random_texts());
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  std::string text;
  for (int step = 0; step < 8; ++step) {
    std::vector<TokenId> expected;
    for (std::size_t id = 0; id + 1 < vocabulary->size(); ++id)
      if (truth.is_beginning(text + std::string(vocabulary->at(static_cast<TokenId>(id)).bytes)))
        expected.push_back(static_cast<TokenId>(id));
    std::vector<TokenId> allowed = allowed_tokens(state, *vocabulary);
    std::erase(allowed, static_cast<TokenId>(vocabulary->size()) - 1);  // the end
    RC_ASSERT(allowed == expected);
    if (expected.empty()) return;
    const TokenId next = *rc::gen::elementOf(expected);
    RC_ASSERT(state.accept(next));
    text += vocabulary->at(next).bytes;
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
  const ExpressionId a = grammar.literal("a");
  std::vector<ExpressionId> ways;
  for (std::uint32_t i = 1; i < 5000; ++i) ways.push_back(grammar.sequence({a, grammar.repeat(a, i, i)}));
  grammar.set_root(grammar.alternatives(std::move(ways)));
  const auto compiled = CompiledConstraint::create(grammar, make_vocabulary({"a", "b"}));
  ASSERT_FALSE(compiled);
}

}  // namespace
}  // namespace octavo
