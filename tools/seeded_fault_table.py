"""The faults that tools/seeded_faults.py puts into a copy of the sources: such as somebody tired would make.

They were chosen without a look at which tests would find them, and a fault that no test finds stays in the table. An
area has ten, spread over its files and over what these do. Where code changes so that a fault's text is gone, the fault
is written anew for what the code does now, or another one of its kind takes its number.
"""
from typing import NamedTuple


class Fault(NamedTuple):
    number: int
    what: str  # is wrong, in a few words
    file: str  # below src/
    right: str  # a statement, or several, to the last semicolon; or an expression
    wrong: str  # takes its place; of a statement it may be nothing
    context: str = ""  # in which `right` stands, where it alone stands in the file more than once


ENGINE = [
    Fault(1, "a block that another sequence has published is taken over without a reference", "kv/prefix_index.cc",
          """const Result<void> referenced = groups_[g].pool().add_reference(*shared);
    OCTAVO_CHECK(referenced.has_value(), "{}", referenced.error().message);""", ""),
    Fault(2, "the slots of a new block count as written where they were in its last use", "kv/block_manager.cc",
          """for (int i = held; i < state.table.num_blocks(); ++i) """
          """written_.clear_from(state.table.block_ids()[to_size(i)], 0);""", ""),
    Fault(3, "the oldest checkpoint is evicted, whatever it is worth", "kv/state_snapshots.cc",
          "std::pair(first.worth, first.time) < std::pair(second.worth, second.time)", "first.time < second.time"),
    Fault(4, "a stop text that begins anew within itself is missed", "engine/answers/stop_matcher.cc",
          "while (matched > 0 && text[matched] != byte) matched = borders[matched - 1U];",
          "if (matched > 0 && text[matched] != byte) matched = 0;"),
    Fault(5, "the blocks of a choice that has ended stay counted in the tables that are reserved",
          "engine/answers/request_table.cc", "num_table_blocks_ -= table_blocks(choice.sequence.params.max_cached);", ""),
    Fault(6, "the engine's thread is not woken after a request was cancelled beside it", "engine/drive/driver.cc",
          "parts_.inbox.wake();", "",
          "parts_.inbox.wake();  // the thread in run_until() must not sleep over requests that were taken out"),
    Fault(7, "a draft's last token is accepted though it has its row in the next step", "engine/drive/step.cc",
          "appended - 1", "appended", "if (!goes_on) right = std::min(right, appended - 1);"),
    Fault(8, "an encoder's window sees one position too few behind a row", "attention/attention_plan.cc",
          "position + side + 1", "position + side"),
    Fault(9, "an answer begins with the bytes that the one before it left undecoded", "engine/answers/answer_text.cc",
          "decoder_.restart(last_token);", ""),
    Fault(10, "layers of full attention are counted from 0, where a file does not flag them",
          "model/architectures/qwen35_layers.cc", "(i + 1) % interval != 0", "i % interval != 0"),
]

KERNELS = [
    Fault(11, "the state of an earlier query takes part in the merge of tiles", "kernels/generic/attention.inl",
          "if (merge.first) max_of(state, merge.v_dim) = kNoScore;", ""),
    Fault(12, "an odd last panel is multiplied together with what lies behind it", "kernels/generic/matmul.inl",
          "panel_end - p < kAtOnce ? panel_end - p : kAtOnce", "kAtOnce"),
    Fault(13, "of three blocks at the end of a row the last one is not quantized", "kernels/generic/quantize.inl",
          "quantize_blocks<B, 3>(x, x_step, out);", "quantize_blocks<B, 2>(x, x_step, out);",
          "if (count == 3) quantize_blocks<B, 3>(x, x_step, out);"),
    Fault(14, "lanes beyond a row count in its variance", "kernels/generic/elementwise.inl", "count < kLanes", "false",
          "if (count < kLanes) {  // lanes beyond the row do not count"),
    Fault(15, "a float halfway between two halfs is rounded up, not to the even one", "tensor/half.cc",
          "0xFFF + (magnitude >> 13 & 1)", "0x1000"),
    Fault(16, "drafted rows count among the last inputs that a convolution keeps", "cpu/convolution_rows.h",
          "range.num_known()", "range.num_rows", "(range.first_row + range.num_known() - taken) * stride"),
    Fault(17, "of experts with equal scores the later one goes first", "cpu/expert_choices.cc",
          "now > best[at - 1]", "now >= best[at - 1]", "at > 0 && now > best[at - 1]; --at"),
    Fault(18, "the temperature of attention is another row's, where only some rows go on", "cpu/attention_mixer.cc",
          "batch_row", "row", "rows.batch().positions[to_size(batch_row)]), width);"),
    Fault(19, "blocks that are given back keep their memory", "cpu/cpu_stage.cc", "kv_.release(runs);", ""),
    Fault(20, "a reader that waits for a buffer is not told that one came back", "cpu/piece_reader.cc",
          "changed_.notify_all();", "", "free_.push_back(piece.buffer);\n  changed_.notify_all();"),
]

SERVER = [
    Fault(21, "the key of a cache forgets a request's salt", "server/completion_handler.cc", "salt.empty()", "true",
          "if (salt.empty()) return key_name;"),
    Fault(22, "a head may be one byte longer than its limit", "http/http_connection.cc", "limits_.max_header_bytes",
          "limits_.max_header_bytes + 1", "parser.header_limit(static_cast<std::uint32_t>(limits_.max_header_bytes));"),
    Fault(23, "the bytes of a connection that has ended stay counted", "http/received_bytes.cc", "change(0);", "",
          "change(0);\n  client_->second.shares.erase(this);"),
    Fault(24, "events are taken without the lock", "server/event_queue.cc", "mutex_",
          "[]() -> std::mutex& { static thread_local std::mutex own; return own; }()",
          "lock(mutex_);\n  items.swap(items_);"),
    Fault(25, "a large body that has ended still has the one thread for large bodies", "server/work_queue.cc",
          "if (is_large_) --queue_.num_running_large_;", ""),
    Fault(26, "what clients said of how long a model stays holds for its next load", "server/model_slot.cc",
          "uses_.clear();", ""),
    Fault(27, "answers of a stored conversation do not count in its bound", "api/responses/response_store.cc",
          "size_of(response->input) + size_of(response->output)", "size_of(response->input)"),
    Fault(28, "a character whose bytes two tokens share counts twice in text offsets", "api/answers/openai_logprobs.cc",
          "if (!begun_.empty()) --value_;", ""),
    Fault(29, "events that were polled stay counted among those that wait", "capi/event_queue.cc",
          "waiting_bytes_ -= news->bytes();", ""),
    Fault(30, "a second piece of arguments lands behind the quote of the first", "api/answers/answer_tool_calls.cc",
          "deltas.size() - 1", "deltas.size()"),
]

TOKENIZER = [
    Fault(31, "a special token that overlaps another is found again instead of a shorter one",
          "tokenizer/words/special_tokens.cc", "i - begin + 1 < below", "i - begin + 1 <= below"),
    Fault(32, "a merge goes on though the token on its right has changed", "tokenizer/words/bpe.cc",
          "next == tokens.size() || tokens[next] != merge.right", "next == tokens.size()"),
    Fault(33, "the bytes of a character that is cut at an answer's end are lost", "tokenizer/stream_decoder.cc",
          "take(true)", "take(false)"),
    Fault(34, "a symbol behind a merged pair keeps its old neighbour", "tokenizer/words/spm.cc",
          "if (left.next >= 0) symbols[to_size(left.next)].previous = entry->position;", ""),
    Fault(35, "the key of compiled constraints forgets whether objects are closed", "constraint/constraint_compiler.cc",
          "source.closes_objects", "false", "source.closes_objects, source.text);"),
    Fault(36, "neighbouring ranges of first bytes become one whatever may follow them",
          "constraint/automaton/automaton_builder.cc", "heads.back().target == target", "true",
          "heads.back().target == target && heads.back().high + 1 == low"),
    Fault(37, "the work that a constraint has taken counts for the next answer, too", "constraint/constraint_state.cc",
          "work_ = 0;", ""),
    Fault(38, "the longest repetitions of an earlier call are penalized again", "sampler/dry.cc",
          "std::exchange(longest_[to_size(next_of(i))], 0)", "longest_[to_size(next_of(i))]"),
    Fault(39, "an answer takes over whether the one before it had content", "chat/reasoning_splitter.cc",
          "has_content_ = has_reasoning_ = had_silent_text_ = false;", "has_reasoning_ = had_silent_text_ = false;"),
    Fault(40, "an item that was looked at ahead is missing in a loop's length", "template/values/loop.cc",
          "loop.after.is(Kind::kMissing) ? 0 : 1", "0"),
]

AREAS = {"engine": ENGINE, "kernels and cpu": KERNELS, "api and server": SERVER, "tokenizer and constraint": TOKENIZER}
FAULTS = [fault for faults in AREAS.values() for fault in faults]
