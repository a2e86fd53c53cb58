// The chat templates that have names.
#include "cli/options/named_templates.h"

#include <gmock/gmock.h>

#include "template/conversation_json.h"
#include "template/support.h"

namespace octavo::cli {
namespace {

std::string rendered(std::string_view name, bool add_generation_prompt = true) {
  jinja::TemplateInput input;
  const auto messages = boost::json::parse(R"([{"role": "system", "content": "Be brief."},
      {"role": "user", "content": "Hi"}, {"role": "assistant", "content": " Hello "}, {"role": "user", "content": "Bye"}])");
  input.set("messages", test::to_value(input, messages, jinja::Origin::kUser));
  input.set("add_generation_prompt", jinja::Value::boolean(add_generation_prompt));
  return test::render_or_error(*named_chat_template(name), input);
}

// As llama.cpp's server writes the same conversation.
TEST(NamedTemplates, WriteTheFormatsOfTheirFamilies) {
  const std::vector<std::pair<std::string_view, std::string_view>> expected = {
      {"chatml",
       "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n Hello "
       "<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"},
      {"llama2", "[INST] Be brief.\nHi [/INST] Hello </s>[INST] Bye [/INST]"},
      {"llama2-sys", "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s>[INST] Bye [/INST]"},
      {"llama3",
       "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
       "Hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>user"
       "<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"mistral-v1", " [INST] Be brief.\n\nHi [/INST]  Hello </s> [INST] Bye [/INST]"},
      {"mistral-v3", "[INST] Be brief.\n\nHi[/INST] Hello</s>[INST] Bye[/INST]"},
      {"mistral-v3-tekken", "[INST]Be brief.\n\nHi[/INST] Hello </s>[INST]Bye[/INST]"},
      {"mistral-v7", "[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT][INST] Hi[/INST]  Hello </s>[INST] Bye[/INST]"},
      {"mistral-v7-tekken", "[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hi[/INST] Hello </s>[INST]Bye[/INST]"},
      {"gemma",
       "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello<end_of_turn>\n<start_of_turn>"
       "user\nBye<end_of_turn>\n<start_of_turn>model\n"},
      {"phi3",
       "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\n Hello <|end|>\n<|user|>\nBye<|end|>\n"
       "<|assistant|>\n"},
      {"phi4",
       "<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>Hi<|im_end|><|im_start|>assistant"
       "<|im_sep|> Hello <|im_end|><|im_start|>user<|im_sep|>Bye<|im_end|><|im_start|>assistant<|im_sep|>"},
      {"falcon3", "<|system|>\nBe brief.\n<|user|>\nHi\n<|assistant|>\n Hello \n<|user|>\nBye\n<|assistant|>\n"},
      {"zephyr",
       "<|system|>\nBe brief.<|endoftext|>\n<|user|>\nHi<|endoftext|>\n<|assistant|>\n Hello <|endoftext|>\n<|user|>\n"
       "Bye<|endoftext|>\n<|assistant|>\n"},
      {"openchat",
       "Be brief.<|end_of_turn|>GPT4 Correct User: Hi<|end_of_turn|>GPT4 Correct Assistant:  Hello <|end_of_turn|>GPT4 "
       "Correct User: Bye<|end_of_turn|>GPT4 Correct Assistant:"},
      {"vicuna", "Be brief.\n\nUSER: Hi\nASSISTANT:  Hello </s>\nUSER: Bye\nASSISTANT:"},
      {"deepseek",
       "Be brief.### Instruction:\nHi\n### Response:\n Hello \n<|EOT|>\n### Instruction:\nBye\n### Response:\n"},
      {"deepseek3", "Be brief.\n\n<｜User｜>Hi<｜Assistant｜> Hello <｜end▁of▁sentence｜><｜User｜>Bye<｜Assistant｜>"},
  };
  std::vector<std::string_view> names;
  for (const auto& [name, text] : expected) {
    EXPECT_EQ(rendered(name), text) << name;
    names.push_back(name);
  }
  EXPECT_THAT(named_chat_templates(), ::testing::ElementsAreArray(names));
  EXPECT_FALSE(rendered("chatml", false).ends_with("assistant\n"));
}

TEST(NamedTemplates, ANameIsNoText) {
  EXPECT_FALSE(named_chat_template("ChatML"));
  EXPECT_FALSE(is_template_text("chatml"));
  EXPECT_TRUE(is_template_text("{{ messages }}"));
}

}  // namespace
}  // namespace octavo::cli
