"""A model of lm-evaluation-harness, in this process.

    import octavo.lm_eval                    # registers the model "octavo"
    lm_eval.simple_evaluate(model="octavo", model_args="model=model.gguf,threads=4", tasks=["lambada_openai"])

Log-likelihoods are those of the exact token ids that the harness asks about.
"""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.models.utils import handle_stop_sequences

from .llm import LLM
from .outputs import RequestOutput
from .sampling import SamplingParams

_AT_ONCE = 256  # requests, so that progress is seen


@register_model("octavo")
class OctavoLM(TemplateLM):
    """model: a file, a folder or a hub's name. max_gen_toks: tokens of an answer where a task names no limit. All other
    arguments are those of octavo.LLM."""

    def __init__(self, model: Optional[str] = None, max_gen_toks: int = 256, batch_size: Any = None, device: Any = None,
                 max_batch_size: Any = None, llm: Optional[LLM] = None, **options: Any) -> None:
        super().__init__()
        for name, value in (("device", device), ("max_batch_size", max_batch_size)):
            if value not in (None, "cpu"):
                raise ValueError(f"{name}: found {value!r}, expected none: the engine makes its own batches on the CPU")
        self.at_once = int(batch_size) if str(batch_size).isdigit() and int(batch_size) > 1 else _AT_ONCE
        self.llm = llm if llm is not None else LLM(model, **options)
        self.max_gen_toks = max_gen_toks

    @property
    def eot_token_id(self) -> int:
        """The token that stands before a text where there is no context."""
        return self.llm.tokenizer.eos_token_id

    @property
    def max_length(self) -> int:
        """Tokens of a prompt and its answer."""
        return int(self.llm.info["max_context"])

    @property
    def tokenizer_name(self) -> str:
        """A name for the harness's cache of requests."""
        return str(self.llm.info["fingerprint"])

    def apply_chat_template(self, chat_history: List[Dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The text of a conversation."""
        return str(self.llm.tokenizer.apply_chat_template(chat_history, tokenize=False,
                                                          add_generation_prompt=add_generation_prompt,
                                                          continue_final_message=not add_generation_prompt))

    def tok_encode(self, string: str, add_special_tokens: Optional[bool] = None, **_: Any) -> List[int]:
        """The token ids of a text."""
        return self.llm.tokenizer.encode(string, add_special_tokens=bool(add_special_tokens))

    def _scored(self, prompts: List[List[int]], disable_tqdm: bool) -> Iterable[RequestOutput]:
        from tqdm import tqdm
        params = SamplingParams(max_tokens=0, prompt_logprobs=0)
        with tqdm(total=len(prompts), disable=disable_tqdm, desc="loglikelihood") as bar:
            for i in range(0, len(prompts), self.at_once):
                some = prompts[i:i + self.at_once]
                yield from self.llm.generate(some, params)
                bar.update(len(some))

    def _loglikelihood_tokens(self, requests: List[Tuple[Any, List[int], List[int]]], disable_tqdm: bool = False,
                              **_options: Any) -> List[Tuple[float, bool]]:
        """For each of (any, context ids, continuation ids): the natural logarithm of the continuation's probability,
        and whether it is the likeliest. A context that is too long loses its beginning."""
        prompts = []
        for _, context, continuation in requests:
            if len(continuation) >= self.max_length:
                raise ValueError(f"found a continuation of {len(continuation)} tokens, expected fewer than "
                                 f"{self.max_length}")
            prompts.append((list(context) + list(continuation))[-self.max_length:])
        results = []
        for (_, _, continuation), output in zip(requests, self._scored(prompts, disable_tqdm)):
            tokens: List[int] = output.prompt_token_ids
            told: Any = output.prompt_logprobs or []
            places = range(len(tokens) - len(continuation), len(tokens))
            found = [told[i][tokens[i]] for i in places]
            results.append((sum(one.logprob for one in found), all(one.rank == 1 for one in found)))
        return results

    def loglikelihood_rolling(self, requests: List[Any], disable_tqdm: bool = False) -> List[float]:
        """The natural logarithm of each whole text's probability; longer texts than the context are cut into windows,
        in which each token is counted once."""
        from lm_eval.utils import get_rolling_token_windows, make_disjoint_window
        windows: List[Tuple[Any, List[int], List[int]]] = []
        counts = []
        for request in requests:
            tokens = self.tok_encode(request.args[0])
            cut = [make_disjoint_window(window) for window in get_rolling_token_windows(
                tokens, prefix_token=self.eot_token_id, max_seq_len=self.max_length - 1, context_len=1)]
            windows += [(None, list(context), list(continuation)) for context, continuation in cut]
            counts.append(len(cut))
        scores = iter(self._loglikelihood_tokens(windows, disable_tqdm))
        return [sum(next(scores)[0] for _ in range(count)) for count in counts]

    def generate_until(self, requests: List[Any], disable_tqdm: bool = False) -> List[str]:
        """The continuation of each text up to one of its stop texts. A text that is too long loses its beginning."""
        from tqdm import tqdm
        prompts, params = [], []
        for text, given in [request.args for request in requests]:
            fields = dict(given)
            limit = int(fields.pop("max_gen_toks", self.max_gen_toks))
            stop = handle_stop_sequences(fields.pop("until", None), eos=None)
            if not fields.pop("do_sample", float(fields.get("temperature", 0)) > 0):
                fields["temperature"] = 0
            prompts.append(self.tok_encode(text, add_special_tokens=True)[-max(1, self.max_length - limit):])
            params.append(SamplingParams(max_tokens=limit, stop=[one for one in stop if one], extra=fields))
        texts: List[str] = []
        for i in tqdm(range(0, len(prompts), self.at_once), disable=disable_tqdm, desc="generate_until"):
            some = slice(i, i + self.at_once)
            texts += [output.text for output in self.llm.generate(prompts[some], params[some])]
        return texts
