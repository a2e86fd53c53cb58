#include "cli/options/named_templates.h"

#include <algorithm>
#include <iterator>

namespace octavo::cli {
namespace {

struct NamedTemplate {
  std::string_view name;
  std::string_view text;
};

// clang-format off: a line of a template is a line
constexpr NamedTemplate kTemplates[] = {
    {"chatml",
     "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
    {"llama2",
     "{% for m in messages %}{% if loop.first or loop.previtem.role == 'assistant' %}{{ '[INST] ' }}{% endif %}"
     "{% if m.role == 'system' %}{{ m.content + '\\n' }}{% elif m.role == 'user' %}{{ m.content + ' [/INST]' }}"
     "{% else %}{{ m.content + '</s>' }}{% endif %}{% endfor %}"},
    {"llama2-sys",
     "{% for m in messages %}{% if loop.first or loop.previtem.role == 'assistant' %}{{ '[INST] ' }}{% endif %}"
     "{% if m.role == 'system' %}{{ '<<SYS>>\\n' + m.content + '\\n<</SYS>>\\n\\n' }}"
     "{% elif m.role == 'user' %}{{ m.content + ' [/INST]' }}{% else %}{{ m.content + '</s>' }}{% endif %}{% endfor %}"},
    {"llama3",
     "{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}"
     "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"},
    {"mistral-v1",
     "{% for m in messages %}{% if loop.first or loop.previtem.role == 'assistant' %}{{ ' [INST] ' }}{% endif %}"
     "{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}{% elif m.role == 'user' %}{{ m.content + ' [/INST]' }}"
     "{% else %}{{ ' ' + m.content + '</s>' }}{% endif %}{% endfor %}"},
    {"mistral-v3",
     "{% for m in messages %}{% if loop.first or loop.previtem.role == 'assistant' %}{{ '[INST] ' }}{% endif %}"
     "{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}{% elif m.role == 'user' %}{{ m.content + '[/INST]' }}"
     "{% else %}{{ ' ' + m.content | trim + '</s>' }}{% endif %}{% endfor %}"},
    {"mistral-v3-tekken",
     "{% for m in messages %}{% if loop.first or loop.previtem.role == 'assistant' %}{{ '[INST]' }}{% endif %}"
     "{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}{% elif m.role == 'user' %}{{ m.content + '[/INST]' }}"
     "{% else %}{{ m.content + '</s>' }}{% endif %}{% endfor %}"},
    {"mistral-v7",
     "{% for m in messages %}{% if m.role == 'system' %}{{ '[SYSTEM_PROMPT] ' + m.content + '[/SYSTEM_PROMPT]' }}"
     "{% elif m.role == 'user' %}{{ '[INST] ' + m.content + '[/INST]' }}{% else %}{{ ' ' + m.content + '</s>' }}"
     "{% endif %}{% endfor %}"},
    {"mistral-v7-tekken",
     "{% for m in messages %}{% if m.role == 'system' %}{{ '[SYSTEM_PROMPT]' + m.content + '[/SYSTEM_PROMPT]' }}"
     "{% elif m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}{% else %}{{ m.content + '</s>' }}"
     "{% endif %}{% endfor %}"},
    {"gemma",
     "{% set state = namespace(system='') %}{% for m in messages %}"
     "{% if m.role == 'system' %}{% set state.system = state.system + m.content | trim %}{% else %}"
     "{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' }}"
     "{% if state.system and m.role != 'assistant' %}{{ state.system + '\\n\\n' }}{% set state.system = '' %}{% endif %}"
     "{{ m.content | trim + '<end_of_turn>\\n' }}{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"},
    {"phi3",
     "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"},
    {"phi4",
     "{% for m in messages %}{{ '<|im_start|>' + m.role + '<|im_sep|>' + m.content + '<|im_end|>' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"},
    {"falcon3",
     "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '\\n' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"},
    {"zephyr",
     "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|endoftext|>\\n' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"},
    {"openchat",
     "{% for m in messages %}{% if m.role != 'system' %}{{ 'GPT4 Correct ' + m.role | capitalize + ': ' }}{% endif %}"
     "{{ m.content + '<|end_of_turn|>' }}{% endfor %}{% if add_generation_prompt %}{{ 'GPT4 Correct Assistant:' }}{% endif %}"},
    {"vicuna",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}"
     "{% elif m.role == 'user' %}{{ 'USER: ' + m.content + '\\n' }}{% else %}{{ 'ASSISTANT: ' + m.content + '</s>\\n' }}"
     "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"},
    {"deepseek",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
     "{% elif m.role == 'user' %}{{ '### Instruction:\\n' + m.content + '\\n' }}"
     "{% else %}{{ '### Response:\\n' + m.content + '\\n<|EOT|>\\n' }}{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}{{ '### Response:\\n' }}{% endif %}"},
    {"deepseek3",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}"
     "{% elif m.role == 'user' %}{{ '<｜User｜>' + m.content }}"
     "{% else %}{{ '<｜Assistant｜>' + m.content + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %}"},
};
// clang-format on

}  // namespace

std::optional<std::string_view> named_chat_template(std::string_view name) {
  const auto found = std::ranges::find(kTemplates, name, &NamedTemplate::name);
  return found == std::end(kTemplates) ? std::nullopt : std::optional(found->text);
}

std::vector<std::string_view> named_chat_templates() {
  std::vector<std::string_view> names;
  for (const NamedTemplate& row : kTemplates) names.push_back(row.name);
  return names;
}

bool is_template_text(std::string_view text) { return text.contains("{%") || text.contains("{{"); }

}  // namespace octavo::cli
