"""Names of the fields that requests may have. A name that stands in none of these lists is an error, as Python's own
functions have it: a server only looks at what it knows."""
from __future__ import annotations

from typing import Any, Collection, Dict, Mapping

from .sampling import StructuredOutputs

# Those of /v1/chat/completions and /v1/completions alike, without the conversation and the prompt.
_ANSWER = """
    model stream return_progress stream_options return_token_ids skip_special_tokens logprobs_after_mask
    cache_salt temperature top_k top_p min_p seed repetition_penalty repeat_penalty frequency_penalty
    presence_penalty logit_bias typical_p top_n_sigma xtc_probability xtc_threshold dynatemp_range
    dynatemp_exponent repeat_last_n dry_multiplier dry_base dry_allowed_length dry_penalty_last_n
    dry_sequence_breakers mirostat mirostat_mode mirostat_tau mirostat_eta samplers allowed_token_ids bad_words
    min_tokens ignore_eos stop stop_token_ids priority deadline_s n audio web_search_options chat_template
    truncate_prompt_tokens use_beam_search include_stop_str_in_output logits_processors guided_decoding
    prompt_embeds image_data lora modalities length_penalty tfs_z top_a epsilon_cutoff eta_cutoff best_of
    speculation prediction resume_from response_format structured_outputs guided_regex guided_grammar guided_choice
    guided_json additional_properties grammar json_schema regex ebnf structural_tag reasoning_budget
    reasoning_budget_tokens thinking_budget_tokens thinking_token_budget max_tokens max_completion_tokens
    n_predict logprobs return_tokens_as_token_ids echo prompt_logprobs suffix functions function_call tools
    tool_choice continue_final_message documents user metadata store service_tier safety_identifier
    prompt_cache_key reasoning_effort chat_template_kwargs format parameters extra_body sampling_params
    grammar_lazy guided_decoding_backend guided_options guided_whitespace_pattern image_min_tokens image_max_tokens
""".split()

# The ways to say whether an answer thinks, and whether its thoughts stand apart.
_OF_THINKING = """
    enable_thinking think thinking reasoning separate_reasoning
""".split()

# Those of one of them, and of /apply-template.
_OF_CHATS = """
    reasoning_format include_reasoning top_logprobs parallel_tool_calls add_generation_prompt
""".split()
_OF_TEXTS = """
    add_special_tokens
""".split()
_OF_TEMPLATES = """
    model functions tools add_generation_prompt continue_final_message documents reasoning_effort
    chat_template_kwargs image_min_tokens image_max_tokens
""".split()

CHAT = frozenset(_ANSWER + _OF_THINKING + _OF_CHATS)
TEXT = frozenset(_ANSWER + _OF_THINKING + _OF_TEXTS)
TEMPLATE = frozenset(_OF_TEMPLATES + _OF_THINKING)

# Names of variables of chat templates that are arguments too, as transformers has them.
_OF_KWARGS = ("enable_thinking", )


def check_names(function: str, names: Collection[str], known: Collection[str]) -> None:
    """Raises TypeError for a name that is not known."""
    for name in names:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}: found no field of that name, "
                            "expected one of docs/server/fields.md and of the API")


def drop_idle(function: str, given: Mapping[str, Any], idle: Mapping[str, Collection[Any]]) -> Dict[str, Any]:
    """The given arguments, without those whose value asks for nothing. idle: names of arguments that other libraries
    have, with these values. Raises ValueError for other values of them."""
    kept: Dict[str, Any] = {}
    for name, value in given.items():
        if name not in idle:
            kept[name] = value
        elif not any(value is one or (type(value) is type(one) and value == one) for one in idle[name]):
            expected = " or ".join(repr(one) for one in idle[name])
            raise ValueError(f"{name}: found {value!r:.60}, expected {expected}: {function}() has nothing else of it")
    return kept


def checked_fields(function: str, given: Mapping[str, Any], known: Collection[str]) -> Dict[str, Any]:
    """The fields of a body that are given by name. Variables of the chat template go into `chat_template_kwargs`.
    Raises TypeError for a name that no field has."""
    fields = dict(given)
    if "chat_template_kwargs" in known:
        variables = {name: fields.pop(name) for name in _OF_KWARGS if name in fields}
        if variables:
            fields["chat_template_kwargs"] = {**variables, **(fields.get("chat_template_kwargs") or {})}
    check_names(function, fields, known)
    form = fields.get("structured_outputs")
    if form is not None:
        fields["structured_outputs"] = StructuredOutputs.of(form).fields()
    return fields
