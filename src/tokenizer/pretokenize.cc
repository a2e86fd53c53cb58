#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pretokenize.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/text.h"

namespace octavo {

namespace {

// Members of character classes. Letters, numbers and punctuation are Unicode 15.1's: the ranges after each property are
// what Unicode 15 added to the 14 of PCRE2 10.42. White space is Unicode's White_Space, spelled out because PCRE2's \s
// holds U+180E too.
#define OCTAVO_LETTER                                                                                             \
  "\\p{L}\\x{1123F}\\x{11240}\\x{11F02}\\x{11F04}-\\x{11F10}\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}" \
  "\\x{1B132}\\x{1B155}\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}\\x{1E4D0}-\\x{1E4EB}\\x{2B739}"                 \
  "\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}"
#define OCTAVO_NUMBER "\\p{N}\\x{11F50}-\\x{11F59}\\x{1D2C0}-\\x{1D2D3}\\x{1E4F0}-\\x{1E4F9}"
#define OCTAVO_PUNCTUATION "\\p{P}\\x{11B00}-\\x{11B09}\\x{11F43}-\\x{11F4F}"
#define OCTAVO_BLANK "\\t\\x0B\\f \\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define OCTAVO_SPACE OCTAVO_BLANK "\\r\\n"

// White space up to the last character before a word, else all of it.
#define OCTAVO_SPACES "[" OCTAVO_SPACE "]+(?![^" OCTAVO_SPACE "])|[" OCTAVO_SPACE "]+"

// GPT-2 (openai/gpt-2, src/encoder.py).
constexpr std::string_view kGpt2 =
    "'(?:s|t|re|ve|m|ll|d)"
    "| ?[" OCTAVO_LETTER
    "]+"
    "| ?[" OCTAVO_NUMBER
    "]+"
    "| ?[^" OCTAVO_SPACE OCTAVO_LETTER OCTAVO_NUMBER
    "]+"
    "|" OCTAVO_SPACES;

// Llama 3 (tokenizer.json of meta-llama/Meta-Llama-3-8B) and Qwen2 (Qwen/Qwen2-7B) differ only in the digits of a word.
// Where they write \s*[\r\n]+, this says the same without backtracking through long runs. Contractions are ASCII only,
// as in llama.cpp; the (?i:) of the originals would also take U+017F (long s) for an s.
#define OCTAVO_LLAMA3(digits)                                                    \
  "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"                          \
  "|[^\\r\\n" OCTAVO_LETTER OCTAVO_NUMBER "]?[" OCTAVO_LETTER                    \
  "]+"                                                                           \
  "|[" OCTAVO_NUMBER "]" digits "| ?[^" OCTAVO_SPACE OCTAVO_LETTER OCTAVO_NUMBER \
  "]+[\\r\\n]*"                                                                  \
  "|(?:[" OCTAVO_BLANK                                                           \
  "]*+[\\r\\n]++)++"                                                             \
  "|" OCTAVO_SPACES
constexpr std::string_view kLlama3 = OCTAVO_LLAMA3("{1,3}");
constexpr std::string_view kQwen2 = OCTAVO_LLAMA3("");

// Digits alone (StarCoder, SmolLM), before GPT-2's pattern.
constexpr std::string_view kOneDigit = "[" OCTAVO_NUMBER "]";

// What llama.cpp does for a file without tokenizer.ggml.pre.
constexpr std::string_view kPunctuation = "[" OCTAVO_PUNCTUATION "$+<=>^~|]+";
constexpr std::string_view kNumbers = "[" OCTAVO_NUMBER "]+";
constexpr std::string_view kThreeDigits = "[0-9]{3}";

struct Kind {
  std::string_view names;  // separated by spaces, the usual one first; llama.cpp treats them alike
  std::array<std::string_view, 4> stages;
  bool ignore_merges;
  bool add_bos;
};

constexpr std::array kKinds = {
    Kind{"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", {kLlama3}, true, true},
    Kind{"dbrx smaug-bpe", {kLlama3}, false, false},
    Kind{"qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", {kQwen2}, false, false},
    Kind{"smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", {kOneDigit, kGpt2}, false, false},
    Kind{"gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert mpt olmo jais exaone4 "
         "trillion granite-docling",
         {kGpt2},
         false,
         false},
    Kind{"default", {kPunctuation, kGpt2, kNumbers, kThreeDigits}, false, false},
};

bool has_name(const Kind& kind, std::string_view name) {
  const std::string padded = fmt::format(" {} ", kind.names);
  return name.find(' ') == std::string_view::npos && padded.find(fmt::format(" {} ", name)) != std::string::npos;
}

std::string all_names() {
  std::string names;
  for (const Kind& kind : kKinds) {
    if (!names.empty()) names += ' ';
    names += kind.names;
  }
  return names;
}

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

/// What one thread needs to run patterns, with limits for a text of `size` bytes.
struct PreTokenizer::Matcher {
  explicit Matcher(std::size_t size)
      : data(pcre2_match_data_create(1, nullptr)), context(pcre2_match_context_create(nullptr)) {
    if (!data || !context) throw std::bad_alloc();
    // A word of n bytes may backtrack n times; only PCRE2's interpreter counts that.
    const std::size_t steps = std::min<std::size_t>(16 * size + 10'000'000, std::numeric_limits<std::uint32_t>::max());
    pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(steps));
    pcre2_set_heap_limit(context.get(), 64U * 1024);  // KiB
  }
  std::unique_ptr<pcre2_match_data, FreeMatchData> data;
  std::unique_ptr<pcre2_match_context, FreeMatchContext> context;
};

void PreTokenizer::FreeCode::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

PreTokenizer::Code PreTokenizer::compile(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error,
                          &offset, nullptr));
  OCTAVO_CHECK(code != nullptr, "PCRE2 error {} at {} of {}", error, offset, pattern);
  // Without JIT (a hardened system may forbid it) the interpreter gives the same matches, slower.
  (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

Result<PreTokenizer> PreTokenizer::create(std::string_view name) {
  if (name.empty()) name = "default";
  const auto kind =
      std::find_if(kKinds.begin(), kKinds.end(), [name](const Kind& candidate) { return has_name(candidate, name); });
  if (kind == kKinds.end()) {
    return fail("the pre-tokenizer {} is not supported; supported are: {}", quote(name), all_names());
  }
  PreTokenizer result;
  for (const std::string_view stage : kind->stages) {
    if (!stage.empty()) result.stages_.push_back(compile(stage));
  }
  result.ignore_merges_ = kind->ignore_merges;
  result.add_bos_ = kind->add_bos;
  return result;
}

// A stage's pieces, which are its matches and the gaps between them, are cut by the next stage.
Result<bool> PreTokenizer::cut(std::size_t stage, const Matcher& matcher, std::string_view text, std::uint32_t begin,
                               std::uint32_t end, const Visit& visit) const {
  if (stage == stages_.size()) return visit(begin, end);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data()) + begin;
  const std::uint32_t size = end - begin;
  std::uint32_t position = 0;
  while (position < size) {
    const int found = pcre2_match(stages_[stage].get(), subject, size, position, PCRE2_NO_UTF_CHECK, matcher.data.get(),
                                  matcher.context.get());
    if (found == PCRE2_ERROR_NOMATCH) return cut(stage + 1, matcher, text, begin + position, end, visit);
    if (found < 0) {
      std::array<PCRE2_UCHAR, 128> message{};
      pcre2_get_error_message(found, message.data(), message.size());
      return fail("cutting text into words failed at byte {} of {}: {}", begin + position, text.size(),
                  reinterpret_cast<const char*>(message.data()));
    }
    const PCRE2_SIZE* match = pcre2_get_ovector_pointer(matcher.data.get());
    OCTAVO_CHECK(match[0] >= position && match[1] > match[0] && match[1] <= size);
    // The next stage's matches are written over these.
    const auto match_begin = static_cast<std::uint32_t>(match[0]);
    const auto match_end = static_cast<std::uint32_t>(match[1]);
    if (match_begin > position) {
      OCTAVO_TRY(const bool goes_on, cut(stage + 1, matcher, text, begin + position, begin + match_begin, visit));
      if (!goes_on) return false;
    }
    OCTAVO_TRY(const bool goes_on, cut(stage + 1, matcher, text, begin + match_begin, begin + match_end, visit));
    if (!goes_on) return false;
    position = match_end;
  }
  return true;
}

Result<void> PreTokenizer::for_each_word(std::string_view text, const Visit& visit) const {
  OCTAVO_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max());
  if (text.empty()) return {};
  const Matcher matcher(text.size());
  OCTAVO_TRY_VOID(cut(0, matcher, text, 0, static_cast<std::uint32_t>(text.size()), visit));
  return {};
}

Result<std::vector<std::uint32_t>> PreTokenizer::split(std::string_view text) const {
  std::vector<std::uint32_t> ends;
  OCTAVO_TRY_VOID(for_each_word(text, [&ends](std::uint32_t, std::uint32_t end) {
    ends.push_back(end);
    return true;
  }));
  return ends;
}

}  // namespace octavo
