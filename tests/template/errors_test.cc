// Errors say where, what was found and what was expected.
#include <gmock/gmock.h>

#include "template/support.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TemplateErrors, NameThePlaceOfASyntaxError) {
  EXPECT_EQ(test::render_or_error("a\n  {{ x y }}"), "chat template, line 2, column 8: found 'y', expected '}}'");
  EXPECT_EQ(test::render_or_error("{% if x %}\n\n"),
            "chat template, line 2, column 1: found the end of the template, expected {% elif %} or {% else %} or "
            "{% endif %}");
  EXPECT_EQ(test::render_or_error("ü{{ ) }}"), "chat template, line 1, column 6: unexpected ')', which closes nothing");
  EXPECT_THAT(test::render_or_error("{{ 1|nosuch }}"),
              AllOf(StartsWith("chat template, line 1, column 6"), HasSubstr("No filter named 'nosuch'")));
  EXPECT_THAT(test::render_or_error("{% include 'x' %}"), HasSubstr("'include' is not supported"));
  EXPECT_THAT(test::render_or_error("\xFF"), HasSubstr("UTF-8"));
}

TEST(TemplateErrors, NameThePlaceOfWhatFailsLater) {
  EXPECT_EQ(test::render_or_error("{{ 1 }}\n{% if true %}\n {{ 'a' + 1 }}{% endif %}"),
            "chat template, line 3, column 5: unsupported operand types for +: 'str' and 'int'");
  EXPECT_EQ(test::render_or_error("{% macro f(a) %}\n{{ a.b.c }}{% endmacro %}\n{{ f({}) }}"),
            "chat template, line 2, column 7: 'dict object' has no attribute 'b'");
  EXPECT_EQ(test::render_or_error("{{ raise_exception('Roles must alternate') }}"),
            "chat template, line 1, column 19: the template refuses the conversation: Roles must alternate");
}

TEST(TemplateErrors, AFailureLeavesTheTemplateAsItWas) {
  const auto compiled = jinja::Template::compile("{{ messages[0] }}");
  ASSERT_TRUE(compiled.has_value());
  jinja::TemplateInput nothing, one;
  one.set("messages", one.list({{one.text("hello", jinja::Origin::kUser)}}));
  EXPECT_FALSE(compiled->render(nothing, std::tm{}).has_value());
  const auto spans = compiled->render(one, std::tm{});
  ASSERT_TRUE(spans.has_value());
  ASSERT_EQ(spans->size(), 1U);
  EXPECT_EQ(spans->front().text, "hello");
  EXPECT_EQ(spans->front().origin, jinja::Origin::kUser);
}

TEST(TemplateErrors, BrokenTextOfAMessageIsRepaired) {
  jinja::TemplateInput input;
  input.set("a", input.text("x\xFFy\xE4\xB8z\xED\xA0\x80", jinja::Origin::kUser));
  EXPECT_EQ(test::render_or_error("{{ a }}", input), "x\uFFFDy\uFFFDz\uFFFD\uFFFD\uFFFD");
}

}  // namespace
}  // namespace octavo
