// What templates answer when they are asked for their caps. tools/template_caps.py has those of real ones.
#include "chat/template_caps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace octavo::test {
namespace {

using System = TemplateCaps::System;

TemplateCaps caps_of(std::string_view source) {
  const auto compiled = jinja::Template::compile(source);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? probe_caps(*compiled, source) : TemplateCaps();
}

std::string each(std::string_view body) { return "{% for m in messages %}" + std::string(body) + "{% endfor %}"; }

TEST(TemplateCaps, SystemMessagesAreCounted) {
  EXPECT_EQ(caps_of(each("{{ m.content }}")).system, System::kAnywhere);
  EXPECT_EQ(caps_of(each("{% if m.role == 'system' and loop.index > 2 %}{{ raise_exception('late') }}{% endif %}"
                         "{{ m.content }}"))
                .system,
            System::kSeveral);
  EXPECT_EQ(caps_of(each("{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}{% endif %}"
                         "{{ m.content }}"))
                .system,
            System::kOne);
  EXPECT_EQ(caps_of(each("{% if m.role != 'system' %}{{ m.content }}{% endif %}")).system, System::kNone);
  EXPECT_FALSE(caps_of("{{ messages[-1].content if messages[-1].role == 'user' }}").system_alone);
}

TEST(TemplateCaps, ContentIsATextOrAList) {
  EXPECT_FALSE(caps_of(each("{{ m.content }}")).takes_parts);  // prints it as it is
  const TemplateCaps lists = caps_of(each("{% for p in m.content %}{{ p.text }}{% endfor %}"));
  EXPECT_FALSE(lists.takes_text);
  EXPECT_TRUE(lists.takes_parts);
  EXPECT_TRUE(caps_of(each("{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
                           "{{ p.text }}{% endfor %}{% endif %}"))
                  .takes_parts);
}

TEST(TemplateCaps, ArgumentsAreReadAsOneOrTheOther) {
  const auto arguments = [](std::string_view printed) {
    return caps_of(each("{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{{ " + std::string(printed) +
                        " }}{% endfor %}"))
        .arguments;
  };
  using Arguments = TemplateCaps::Arguments;
  EXPECT_EQ(arguments("c.function.arguments | tojson"), Arguments::kDict);
  EXPECT_EQ(arguments("c.function.arguments"), Arguments::kText);
  EXPECT_EQ(arguments("c.function.arguments if c.function.arguments is string else c.function.arguments | tojson"),
            Arguments::kEither);
}

TEST(TemplateCaps, ARoleIsThatOfResultsIfTheTemplateKnowsItOrKnowsOfTools) {
  const std::string any = each("[{{ m.role }}]{{ m.content }}");
  EXPECT_EQ(caps_of(any).result_role, "");  // would write any role that it is given
  EXPECT_EQ(caps_of("{% for t in tools %}{{ t }}{% endfor %}" + any).result_role, "tool");
  EXPECT_EQ(caps_of(each("{% if m.role in ['user', 'assistant', 'ipython'] %}{{ m.content }}{% endif %}")).result_role,
            "ipython");
}

TEST(TemplateCaps, TheFormatIsThatOfTheTemplateOrOfDescribedTools) {
  const std::string any = each("{{ m.content }}");
  EXPECT_EQ(caps_of(any).format->name, "described");
  EXPECT_FALSE(caps_of(any).takes_parallel);
  EXPECT_EQ(caps_of("{{ tools }}" + any).format->name, "generic");
  EXPECT_EQ(caps_of("{# <|tool_call|> #}" + any).format->name, "granite");
  EXPECT_TRUE(caps_of("{# <|tool_call|> #}" + any).takes_parallel);
  EXPECT_EQ(caps_of("{# <|tool_call|> #}{{ raise_exception('no') }}").format->name, "granite");
}

/// A template whose users and assistants take turns, of which the messages for which `counts` holds are counted.
std::string in_turns(const std::string& counts) {
  return "{{ tools }}{% set ns = namespace(count=0) %}" +
         each("{% if " + counts +
              " %}{% if (m.role in ['user', 'tool']) != (ns.count % 2 == 0) %}{{ raise_exception('turns') }}{% endif %}"
              "{% set ns.count = ns.count + 1 %}{% endif %}{{ m.content }}{% for c in m.tool_calls %}"
              "{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}");
}

TEST(TemplateCaps, TurnsAreCountedAsTheTemplateCountsThem) {
  const auto counts = [](const TemplateCaps& caps) {
    EXPECT_TRUE(caps.takes_turns && !caps.takes_repeats && caps.takes_calls);
    return std::pair(caps.counts_calls, caps.counts_results);
  };
  EXPECT_EQ(counts(caps_of(in_turns("m.role != 'system'"))), std::pair(true, true));
  EXPECT_EQ(counts(caps_of(in_turns("m.role in ['user', 'assistant']"))), std::pair(true, false));
  EXPECT_EQ(counts(caps_of(in_turns("m.role in ['user', 'assistant'] and not m.tool_calls"))), std::pair(false, false));
  EXPECT_FALSE(caps_of(in_turns("false")).takes_turns);
}

TEST(TemplateCaps, WhatATemplateRefusesOfOtherwiseGoodTurnsIsFound) {
  const auto refusing = [](const std::string& refused) {
    return caps_of("{{ tools }}" + each("{% if " + refused +
                                        " %}{{ raise_exception('no') }}{% endif %}{{ m.content }}"
                                        "{% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}"));
  };
  EXPECT_EQ(refusing("m.role == 'assistant' and not m.content").least_answer, " ");
  EXPECT_EQ(refusing("m.role == 'assistant' and not m.content | trim").least_answer, ".");
  EXPECT_EQ(refusing("false").least_answer, "");
  EXPECT_TRUE(refusing("not messages | selectattr('role', 'equalto', 'user') | list").needs_user);
  EXPECT_FALSE(refusing("false").needs_user);
  EXPECT_FALSE(refusing("m.role == 'tool' and not messages[loop.index0 - 1].tool_calls").takes_lone_result);
  EXPECT_TRUE(refusing("false").takes_lone_result);
}

TEST(TemplateCaps, ReasoningIsFoundUnderItsName) {
  EXPECT_EQ(caps_of(each("{{ m.content }}")).reasoning, TemplateCaps::Reasoning::kNone);
  for (const std::string name : {"reasoning_content", "reasoning", "thinking"})
    EXPECT_EQ(caps_of(each("{{ m." + name + " }}{{ m.content }}")).reasoning_name, name);
  EXPECT_EQ(caps_of(each("{{ m.reasoning if enable_thinking }}{{ m.content }}")).reasoning_name, "reasoning");
}

TEST(TemplateCaps, ATemplateThatRendersNothingChangesNothing) {
  const TemplateCaps caps = caps_of("{{ raise_exception('no') }}");
  EXPECT_EQ(caps.system, System::kAnywhere);
  EXPECT_TRUE(caps.takes_calls && caps.takes_repeats && caps.takes_text);
}

TEST(TemplateCaps, ATemplateThatTakesLongIsAskedLittle) {
  const auto begin = std::chrono::steady_clock::now();
  const TemplateCaps caps =
      caps_of("{% for i in range(90000) %}{% for j in range(3) %}{% endfor %}{% endfor %}" + each("{{ m.content }}"));
  EXPECT_EQ(caps.system, System::kAnywhere);
  EXPECT_TRUE(caps.takes_calls);  // nobody has asked
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace octavo::test
