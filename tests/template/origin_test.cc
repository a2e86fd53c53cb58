// Text keeps where it came from, whatever a template does with it.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "template/support.h"

namespace octavo {
namespace {

using jinja::Origin;
using jinja::RenderedSpan;

constexpr std::array kOrigins = {Origin::kTemplate, Origin::kSystem, Origin::kUser, Origin::kTool, Origin::kModel};
// The marks of texts by origin: no template writes them, and no change of case makes one of another.
constexpr std::array<std::string_view, 5> kMarks = {"", "@", "$", "^", "~"};

std::vector<RenderedSpan> render(std::string_view source, const jinja::TemplateInput& input) {
  const auto compiled = jinja::Template::compile(source);
  EXPECT_TRUE(compiled.has_value()) << compiled.error().message;
  if (!compiled) return {};
  auto spans = compiled->render(input, std::tm{});
  EXPECT_TRUE(spans.has_value()) << source << spans.error().message;
  return spans ? *spans : std::vector<RenderedSpan>{};
}

std::vector<std::pair<std::string, Origin>> pairs_of(const std::vector<RenderedSpan>& spans) {
  std::vector<std::pair<std::string, Origin>> pairs;
  for (const RenderedSpan& span : spans) pairs.emplace_back(span.text, span.origin);
  return pairs;
}

TEST(TemplateOrigin, PartsAndJoinsKeepIt) {
  jinja::TemplateInput input;
  input.set("s", input.text("sys", Origin::kSystem));
  input.set("u", input.text("a\"b", Origin::kUser));
  using ::testing::ElementsAre;
  using ::testing::Pair;
  EXPECT_THAT(pairs_of(render("<{{ s ~ '|' ~ u }}>", input)),
              ElementsAre(Pair("<", Origin::kTemplate), Pair("sys", Origin::kSystem), Pair("|", Origin::kTemplate),
                          Pair("a\"b", Origin::kUser), Pair(">", Origin::kTemplate)));
  EXPECT_THAT(pairs_of(render("{{ (s ~ u)[2:4] }}", input)),
              ElementsAre(Pair("s", Origin::kSystem), Pair("a", Origin::kUser)));
  EXPECT_THAT(pairs_of(render("{{ {'k': u}|tojson }}", input)),
              ElementsAre(Pair("{\"k\": \"", Origin::kTemplate), Pair("a\\\"b", Origin::kUser),
                          Pair("\"}", Origin::kTemplate)));
  EXPECT_THAT(pairs_of(render("{{ u.split('\"')|join(s)|upper }}", input)),
              ElementsAre(Pair("A", Origin::kUser), Pair("SYS", Origin::kSystem), Pair("B", Origin::kUser)));
  EXPECT_THAT(pairs_of(render("{{ u|replace('\"', s) }}{% set x %}{{ s }}{% endset %}{{ x[0] }}", input)),
              ElementsAre(Pair("a", Origin::kUser), Pair("sys", Origin::kSystem), Pair("b", Origin::kUser),
                          Pair("s", Origin::kSystem)));
  EXPECT_THAT(pairs_of(render("{{ '%s={}'.format(s) % u }}", input)),
              ElementsAre(Pair("a\"b", Origin::kUser), Pair("=", Origin::kTemplate), Pair("sys", Origin::kSystem)));
}

// What is done to the texts a to d, one after another. "x" is the text so far.
constexpr std::string_view kOperations[] = {
    "x ~ a",
    "b ~ x",
    "x + c",
    "x|replace('o', d)",
    "x|replace(' ', '')",
    "x.split(' ')|join(a)",
    "x[1:]",
    "x[::-1]",
    "x[:-2] ~ b",
    "x|upper",
    "x|title",
    "x|capitalize",
    "x|trim",
    "x.strip('q' ~ b)",
    "[x, c]|tojson|string",
    "'%s-%s' % (x, d)",
    "'{:>9}{}'.format(a, x)",
    "x|center(30)",
    "x|indent(2, true)",
    "(x ~ '\n' ~ b).splitlines()|join('/')",
    "x|list|join(c[:1])",
    "{x: a}|string",
    "x|truncate(40, true, d[:3])",
    "x|e|string",
    "x.partition('o')|join('-')",
    "x * 2",
    "x.rsplit('o', 1)|last",
    "'\n'.join([x, a])",
    "x|reverse",
    "x.expandtabs()",
    "x|lower|tojson(ensure_ascii=true)",
};

RC_GTEST_PROP(TemplateOrigin, EachMarkIsInARunOfItsOrigin, ()) {
  jinja::TemplateInput input;
  for (std::size_t i = 0; i < 4; ++i) {
    std::string text;
    for (const std::string_view piece :
         *rc::gen::container<std::vector<std::string_view>>(rc::gen::element<std::string_view>(
             " ", "o", "q", "\u00E9", "\"", "\\", "\t", "\n", "<", "\u00DF", kMarks[i + 1])))
      text += piece;
    input.set(std::string(1, static_cast<char>('a' + i)), input.text(text, kOrigins[i + 1]));
  }
  std::string source = "{% set x = a %}";
  const auto steps = *rc::gen::container<std::vector<std::string_view>>(
      rc::gen::elementOf(std::vector<std::string_view>(std::begin(kOperations), std::end(kOperations))));
  std::size_t count = 0;
  for (const std::string_view step : steps)
    if (++count <= 8) source += "{% set x = " + std::string(step) + " %}";
  const auto compiled = jinja::Template::compile(source + "{{ x }}");
  RC_ASSERT(compiled.has_value());
  const auto spans = compiled->render(input, std::tm{});
  RC_ASSERT(spans.has_value());
  Origin before = spans->empty() ? Origin::kTemplate : Origin{255};
  for (const RenderedSpan& span : *spans) {
    RC_ASSERT(!span.text.empty());
    RC_ASSERT(span.origin != before);  // neighbours of one origin are one span
    before = span.origin;
    for (std::size_t i = 1; i < kMarks.size(); ++i)
      if (span.text.find(kMarks[i]) != std::string::npos) RC_ASSERT(span.origin == kOrigins[i]);
  }
}

}  // namespace
}  // namespace octavo
