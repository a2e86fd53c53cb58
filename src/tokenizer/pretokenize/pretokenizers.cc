#include "tokenizer/pretokenize/pretokenizers.h"

#include <algorithm>

#include "tokenizer/pretokenize/digit_groups.h"

namespace octavo {

namespace {

constexpr std::string_view kGpt2 = kGpt2Cut;  // openai/gpt-2, src/encoder.py

// `tiktoken`'s cl100k_base as its tokenizer.json writes it (meta-llama/Meta-Llama-3-8B).
constexpr std::string_view kCl100k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";

// Qwen/Qwen2-7B (`transformers`, models/qwen2) and Qwen/Qwen3.5-9B (models/qwen3_5).
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";

// poolside/Laguna-XS.2, in front of Qwen 2's: line ends begin a piece.
constexpr std::string_view kLineEnds = R"((?:\r?\n)+(?!\r?\n))";

// o200k_base (`tiktoken`, openai_public.py).
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// config.pattern of tekken.json (`mistral-common`).
constexpr std::string_view kTekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// openbmb/MiniCPM5-1B, behind a cut of digits by threes.
constexpr std::string_view kMinicpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";

// deepseek-ai/DeepSeek-V3, DeepSeek-R1.
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kHanAndKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kDeepseekV3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// XHToken/Spark-X2.5-4B, behind the same two cuts as DeepSeek-V3's and in front of one at each digit.
constexpr std::string_view kSpark =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";

// inclusionAI/Ling-mini-2.0.
constexpr std::string_view kLing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n])"
    R"(|\s+(?!\S)|\s+)";

// deepseek-ai/deepseek-llm-7b-base; deepseek-ai/deepseek-coder-6.7b-base.
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr std::string_view kDeepseekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepseekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view kSpaceAtEnd = R"(\s+$)";
constexpr std::string_view kDeepseekHan = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kLetters = R"(\s?\p{L}+)";
constexpr std::string_view kPunctuation = R"(\s?\p{P}+)";

constexpr std::string_view kOneDigit = kDigitCut;
constexpr std::string_view kAllDigits = R"(\p{N}+)";
constexpr std::string_view kAllPunctuation = R"([\p{P}$+<=>^`|~]+)";
constexpr std::string_view kThreeAsciiDigits = "[0-9][0-9][0-9]";

// llama.cpp's own, for a file without a name.
constexpr std::string_view kDefaultPunctuation = R"([\p{P}$+<=>^~|]+)";

constexpr auto kNfc = Normalization::kNfc;

constexpr PreTokenizerKind kKinds[] = {
    {.names = "llama-bpe llama3 llama-v3 falcon-h1 midm-2.0 lfm2 jina-v5-nano",
     .stages = {{{kCl100k}}},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "glm4 glm5", .stages = {{{kCl100k}}}, .ignore_merges = true},
    {.names = "dbrx smaug-bpe chatglm-bpe", .stages = {{{kCl100k}}}},
    {.names = "tekken pixtral", .stages = {{{kTekken}}}, .ignore_merges = true, .add_bos = true},
    {.names = "gpt-4o llama4 kanana2 talkie", .stages = {{{kO200k}}}, .ignore_merges = true},
    {.names = "qwen2 deepseek-r1-qwen", .stages = {{{kQwen2}}}, .normalization = kNfc},
    {.names = "kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", .stages = {{{kQwen2}}}},
    {.names = "laguna", .stages = {{{kLineEnds, false, CutBehavior::kMergedWithNext}, {kQwen2}}}},
    {.names = "qwen35", .stages = {{{kQwen35}}}, .normalization = kNfc},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm", .stages = {{{kThreeDigits}, {kHanAndKana}, {kDeepseekV3}}}},
    {.names = "spark2_5", .stages = {{{kThreeDigits}, {kHanAndKana}, {kSpark}, {kOneDigit}}}},
    {.names = "bailingmoe2 bailingmoe llada-moe", .stages = {{{kLing}}}},
    {.names = "cohere2moe tiny_aya", .stages = {{{DigitGroups::kPattern}, {kO200k}}}},
    {.names = "deepseek-llm",
     .stages = {{{kLineEnd}, {kDeepseekLetters}, {kDeepseekPunctuation}, {kSpaceAtEnd}, {kDeepseekHan}, {kOneDigit}}}},
    {.names = "deepseek-coder", .stages = {{{kLineEnd}, {kLetters}, {kPunctuation}, {kDeepseekHan}, {kOneDigit}}}},
    {.names = "minicpm5", .stages = {{{kThreeDigits}, {kMinicpm5}}}},
    {.names = "smollm starcoder refact codeshell minerva-7b mellum2", .stages = {{{kOneDigit}, {kGpt2}}}},
    {.names = "command-r", .stages = {{{kOneDigit}, {kGpt2}}}, .normalization = kNfc},
    {.names = "exaone", .stages = {{{kOneDigit}, {kGpt2}}}, .normalization = Normalization::kNfkc},
    {.names = "falcon", .stages = {{{kAllPunctuation}, {kGpt2}, {kAllDigits, true}, {kThreeAsciiDigits, true}}}},
    {.names = "falcon3",
     .stages = {{{kAllPunctuation}, {kGpt2}, {kOneDigit, true}}},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert mpt jais exaone4 "
              "trillion granite-docling roberta-bpe",
     .stages = {{{kGpt2}}}},
    {.names = "olmo", .stages = {{{kGpt2}}}, .normalization = kNfc},
    {.names = "default", .stages = {{{kDefaultPunctuation}, {kGpt2}, {kAllDigits}, {kThreeAsciiDigits}}}},
};

bool is_one_of(std::string_view name, std::string_view names) {
  while (!names.empty()) {
    const std::string_view first = names.substr(0, names.find(' '));
    if (first == name) return true;
    names.remove_prefix(std::min(first.size() + 1, names.size()));
  }
  return false;
}

}  // namespace

const PreTokenizerKind* find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizerKind& kind : kKinds) {
    if (is_one_of(name, kind.names)) return &kind;
  }
  return nullptr;
}

std::span<const PreTokenizerKind> all_pre_tokenizers() { return kKinds; }

std::string all_pre_tokenizer_names() {
  std::string names;
  for (const PreTokenizerKind& kind : kKinds) {
    if (!names.empty()) names += ' ';
    names += kind.names;
  }
  return names;
}

}  // namespace octavo
