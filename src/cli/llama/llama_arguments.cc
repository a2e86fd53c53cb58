#include "cli/llama/llama_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace octavo::cli {
namespace {

using enum LlamaFate;

constexpr std::string_view kOneCard = "what lies on a card is chosen by -ngl alone";
constexpr std::string_view kNoDrafts =
    "drafts change no answer, and come from text, a head or an assistant here, not from any other model";
constexpr std::string_view kPricedDrafts = "a drafted token joins a step where it pays";
constexpr std::string_view kOnCpu = "the processor encodes pictures";
constexpr std::string_view kScheduled = "the scheduler places threads as the system allows";
constexpr std::string_view kOwnCache = "prompts that begin alike share blocks of the KV memory";
constexpr std::string_view kFilesSay = "positions are the model file's own";
constexpr std::string_view kPerRequest = "a request asks for it by a field of its own";
constexpr std::string_view kNoTools = "the server runs no tools itself";

// clang-format off: each row is one line
constexpr LlamaArgument kArguments[] = {
    // The model.
    {"-m,--model", "LLAMA_ARG_MODEL", "FILE", kCombined, "the model's file, with or without .gguf at its end"},
    {"-hf,-hfr,--hf-repo", "LLAMA_ARG_HF_REPO", "ORG/REPO[:TYPE]", kCombined, "a model of the hub, fetched if it is not there"},
    {"-hff,--hf-file", "LLAMA_ARG_HF_FILE", "FILE", kCombined, "the file of it"},
    {"-a,--alias", "LLAMA_ARG_ALIAS", "NAMES", kCombined, "its id, and behind commas further names"},
    {"--offline", "LLAMA_ARG_OFFLINE", "", kOption, "--offline"},
    {"--models-dir", "LLAMA_ARG_MODELS_DIR", "FOLDER", kOption, "--models-dir"},
    {"-hft,--hf-token", "", "TOKEN", kRefused, "everybody on the machine sees a command line: set HF_TOKEN"},
    {"-mu,--model-url", "LLAMA_ARG_MODEL_URL", "URL", kRefused, "octavo pull URL fetches it, and prints the file for -m"},
    {"-dr,--docker-repo", "LLAMA_ARG_DOCKER_REPO", "REPO", kRefused, "models are fetched from the Hugging Face hub: -hf ORG/REPO"},
    {"--models-preset", "LLAMA_ARG_MODELS_PRESET", "FILE", kRefused, "octavo serve --config has a section for each model"},
    {"--models-max", "LLAMA_ARG_MODELS_MAX", "N", kIgnored, "memory is the bound: octavo serve --models-memory"},
    {"--models-autoload", "LLAMA_ARG_MODELS_AUTOLOAD", "", kBuiltIn, "a request loads its model"},
    {"--no-models-autoload", "LLAMA_ARG_NO_MODELS_AUTOLOAD", "", kIgnored, "a request loads its model"},
    {"--tags", "LLAMA_ARG_TAGS", "TAGS", kIgnored, "nothing shows them"},
    {"--lora", "", "FILE", kRefused, "there are no adapters here: merge it into the model's file"},
    {"--lora-scaled", "", "FILE:SCALE", kRefused, "there are no adapters here: merge it into the model's file"},
    {"--lora-init-without-apply", "", "", kRefused, "there are no adapters here"},
    {"--control-vector", "", "FILE", kRefused, "there are no control vectors here"},
    {"--control-vector-scaled", "", "FILE:SCALE", kRefused, "there are no control vectors here"},
    {"--override-kv", "", "KEY=TYPE:VALUE", kRefused, "keys are the model file's own"},
    {"-mm,--mmproj", "LLAMA_ARG_MMPROJ", "FILE", kCombined, "as --mmproj; the model's own file has no effect, since its encoder lies in a file of its own here"},
    {"-mmu,--mmproj-url", "LLAMA_ARG_MMPROJ_URL", "URL", kCombined, "as --mmproj, of an encoder on the hub"},
    {"--mmproj-auto", "LLAMA_ARG_MMPROJ_AUTO", "", kBuiltIn, "an encoder of pictures beside the model is found, and fetched with it"},
    {"--no-mmproj,--no-mmproj-auto", "LLAMA_ARG_NO_MMPROJ_AUTO", "", kOption, "--no-mmproj"},
    {"--mmproj-offload", "LLAMA_ARG_MMPROJ_OFFLOAD", "", kIgnored, kOnCpu},
    {"--no-mmproj-offload", "LLAMA_ARG_NO_MMPROJ_OFFLOAD", "", kBuiltIn, kOnCpu},
    {"-mmdev,--mmproj-device", "", "DEVICE", kIgnored, kOnCpu},
    {"--image-min-tokens", "LLAMA_ARG_IMAGE_MIN_TOKENS", "N", kOption, "--image-min-tokens"},
    {"--image-max-tokens", "LLAMA_ARG_IMAGE_MAX_TOKENS", "N", kOption, "--image-max-tokens"},
    {"--mtmd-batch-max-tokens", "LLAMA_ARG_MTMD_BATCH_MAX_TOKENS", "N", kIgnored, "pieces of pictures are as large as the time between tokens allows"},
    {"--media-path", "", "FOLDER", kOption, "--media-path"},
    {"--embedding,--embeddings", "LLAMA_ARG_EMBEDDINGS", "", kOption, "--embedding"},
    {"--rerank,--reranking", "LLAMA_ARG_RERANKING", "", kOption, "--reranking"},
    {"--pooling", "LLAMA_ARG_POOLING", "KIND", kOption, "--pooling"},
    {"--embd-normalize", "", "N", kOption, "--embd-normalize"},

    // Context and memory.
    {"-c,--ctx-size", "LLAMA_ARG_CTX_SIZE", "N", kCombined, "tokens of all -np requests together, of one with --kv-unified; 0: the model's own"},
    {"-np,--parallel", "LLAMA_ARG_N_PARALLEL", "N", kCombined, "answers that advance at once; -1: 256"},
    {"-kvu,--kv-unified", "LLAMA_ARG_KV_UNIFIED", "", kCombined, "one request may have all of -c; so without -np"},
    {"-no-kvu,--no-kv-unified", "LLAMA_ARG_NO_KV_UNIFIED", "", kCombined, "each of -np requests has its part of -c; so with -np"},
    {"--kv-unified-per-slot", "LLAMA_ARG_KV_UNIFIED_PER_SLOT", "N", kCombined, "the context of one request"},
    {"-ctk,--cache-type-k", "LLAMA_ARG_CACHE_TYPE_K", "TYPE", kCombined, "as --kv-type, which is that of keys and values: the finer of both"},
    {"-ctv,--cache-type-v", "LLAMA_ARG_CACHE_TYPE_V", "TYPE", kCombined, "as --kv-type, which is that of keys and values: the finer of both"},
    {"--cache-prompt", "LLAMA_ARG_CACHE_PROMPT", "", kBuiltIn, kOwnCache},
    {"--no-cache-prompt", "LLAMA_ARG_NO_CACHE_PROMPT", "", kOption, "--no-prefix-cache"},
    {"-cram,--cache-ram", "LLAMA_ARG_CACHE_RAM", "N", kIgnored, kOwnCache},
    {"--cache-reuse", "LLAMA_ARG_CACHE_REUSE", "N", kIgnored, kOwnCache, "0"},
    {"--cache-idle-slots", "LLAMA_ARG_CACHE_IDLE_SLOTS", "", kIgnored, kOwnCache},
    {"--no-cache-idle-slots", "LLAMA_ARG_NO_CACHE_IDLE_SLOTS", "", kIgnored, kOwnCache},
    {"-ctxcp,--ctx-checkpoints,--swa-checkpoints", "LLAMA_ARG_CTX_CHECKPOINTS", "N", kIgnored, kOwnCache},
    {"-cms,--checkpoint-min-step", "LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT", "N", kIgnored, kOwnCache},
    {"--swa-full", "LLAMA_ARG_SWA_FULL", "", kIgnored, kOwnCache},
    {"-sps,--slot-prompt-similarity", "", "NUMBER", kIgnored, kOwnCache},
    {"--slot-save-path", "", "FOLDER", kCombined, "as --kv-store FOLDER/octavo: prefixes are kept there and found again by themselves"},
    {"-dt,--defrag-thold", "LLAMA_ARG_DEFRAG_THOLD", "NUMBER", kIgnored, "blocks need no defragmentation"},
    {"--context-shift", "LLAMA_ARG_CONTEXT_SHIFT", "", kIgnored, "an answer ends where the context does, and nothing is cut from it"},
    {"--no-context-shift", "LLAMA_ARG_NO_CONTEXT_SHIFT", "", kBuiltIn, "an answer ends where the context does"},
    {"--keep", "", "N", kIgnored, "nothing is cut from a context", "0"},
    {"-fit,--fit", "LLAMA_ARG_FIT", "on|off", kIgnored, kOneCard, "off"},
    {"-fitt,--fit-target", "LLAMA_ARG_FIT_TARGET", "MIB", kIgnored, kOneCard},
    {"-fitc,--fit-ctx", "LLAMA_ARG_FIT_CTX", "N", kIgnored, kOneCard},
    {"-lm,--load-mode", "LLAMA_ARG_LOAD_MODE", "MODE", kIgnored, "weights are read once and packed into memory", "auto|none"},
    {"-lzm,--lazy-mode", "LLAMA_ARG_LAZY_MODE", "MODE", kIgnored, "weights are read once and packed into memory", "off"},
    {"--mmap", "LLAMA_ARG_MMAP", "", kIgnored, "weights are read once and packed into memory"},
    {"--no-mmap", "LLAMA_ARG_NO_MMAP", "", kBuiltIn, "weights are read once and packed into memory"},
    {"--mlock", "LLAMA_ARG_MLOCK", "", kIgnored, "memory is not locked here"},
    {"--repack", "LLAMA_ARG_REPACK", "", kBuiltIn, "weights are packed"},
    {"-nr,--no-repack", "LLAMA_ARG_NO_REPACK", "", kOption, "--no-repack"},
    {"--check-tensors", "", "", kIgnored, "sizes are always checked, values are not"},
    {"--sleep-idle-seconds", "", "SECONDS", kOption, "--idle-unload", "-1"},

    // Computing.
    {"-t,--threads", "LLAMA_ARG_THREADS", "N", kOption, "--threads", "-1|0"},
    {"-tb,--threads-batch", "", "N", kIgnored, "all steps are computed by -t threads", "-1"},
    {"-b,--batch-size", "LLAMA_ARG_BATCH", "N", kCombined, "where it is below -ub: as --chunk"},
    {"-ub,--ubatch-size", "LLAMA_ARG_UBATCH", "N", kCombined, "as --chunk"},
    {"-cb,--cont-batching", "LLAMA_ARG_CONT_BATCHING", "", kBuiltIn, "batches are continuous"},
    {"-nocb,--no-cont-batching", "LLAMA_ARG_NO_CONT_BATCHING", "", kIgnored, "batches are continuous"},
    {"-fa,--flash-attn", "LLAMA_ARG_FLASH_ATTN", "on|off|auto", kIgnored, "attention has one way to be computed", "on|auto|1|true|enabled|yes"},
    {"-ngl,--gpu-layers,--n-gpu-layers", "LLAMA_ARG_N_GPU_LAYERS", "LAYERS", kCombined, "as --gpu-layers, with --device auto"},
    {"-dev,--device", "LLAMA_ARG_DEVICE", "DEVICES", kCombined, "none: as --device cpu; CUDA0: as --device cuda"},
    {"-sm,--split-mode", "LLAMA_ARG_SPLIT_MODE", "MODE", kIgnored, kOneCard},
    {"-ts,--tensor-split", "LLAMA_ARG_TENSOR_SPLIT", "SHARES", kIgnored, kOneCard},
    {"-mg,--main-gpu", "LLAMA_ARG_MAIN_GPU", "N", kIgnored, kOneCard},
    {"-ot,--override-tensor", "LLAMA_ARG_OVERRIDE_TENSOR", "PATTERNS", kIgnored, kOneCard},
    {"-cmoe,--cpu-moe", "LLAMA_ARG_CPU_MOE", "", kIgnored, kOneCard},
    {"-ncmoe,--n-cpu-moe", "LLAMA_ARG_N_CPU_MOE", "N", kIgnored, kOneCard},
    {"-ncffn,--n-cpu-ffn", "LLAMA_ARG_N_CPU_FFN", "N", kIgnored, kOneCard},
    {"-kvo,--kv-offload", "LLAMA_ARG_KV_OFFLOAD", "", kIgnored, kOneCard},
    {"-nkvo,--no-kv-offload", "LLAMA_ARG_NO_KV_OFFLOAD", "", kIgnored, kOneCard},
    {"--op-offload", "LLAMA_ARG_OP_OFFLOAD", "", kIgnored, kOneCard},
    {"--no-op-offload", "LLAMA_ARG_NO_OP_OFFLOAD", "", kIgnored, kOneCard},
    {"--no-host", "LLAMA_ARG_NO_HOST", "", kIgnored, kOneCard},
    {"--rpc", "LLAMA_ARG_RPC", "SERVERS", kIgnored, "all is computed on this machine"},
    {"--numa", "LLAMA_ARG_NUMA", "TYPE", kIgnored, kScheduled},
    {"-C,--cpu-mask", "", "MASK", kIgnored, kScheduled},
    {"-Cr,--cpu-range", "", "RANGE", kIgnored, kScheduled},
    {"--cpu-strict", "", "N", kIgnored, kScheduled, "0"},
    {"--prio", "", "N", kIgnored, kScheduled, "0"},
    {"--poll", "", "N", kIgnored, kScheduled},
    {"-Cb,--cpu-mask-batch", "", "MASK", kIgnored, kScheduled},
    {"-Crb,--cpu-range-batch", "", "RANGE", kIgnored, kScheduled},
    {"--cpu-strict-batch", "", "N", kIgnored, kScheduled, "0"},
    {"--prio-batch", "", "N", kIgnored, kScheduled, "0"},
    {"--poll-batch", "", "N", kIgnored, kScheduled},
    {"--warmup", "", "", kBuiltIn, "steps are timed while loading"},
    {"--no-warmup", "", "", kIgnored, "steps are timed while loading"},
    {"--perf", "LLAMA_ARG_PERF", "", kBuiltIn, "answers have timings"},
    {"--no-perf", "LLAMA_ARG_NO_PERF", "", kIgnored, "answers have timings"},
    {"-bs,--backend-sampling", "LLAMA_ARG_BACKEND_SAMPLING", "", kIgnored, kOneCard},
    {"--rope-scaling", "LLAMA_ARG_ROPE_SCALING_TYPE", "TYPE", kRefused, kFilesSay},
    {"--rope-scale", "LLAMA_ARG_ROPE_SCALE", "NUMBER", kRefused, kFilesSay},
    {"--rope-freq-base", "LLAMA_ARG_ROPE_FREQ_BASE", "NUMBER", kRefused, kFilesSay, "0"},
    {"--rope-freq-scale", "LLAMA_ARG_ROPE_FREQ_SCALE", "NUMBER", kRefused, kFilesSay},
    {"--yarn-orig-ctx", "LLAMA_ARG_YARN_ORIG_CTX", "N", kRefused, kFilesSay, "0"},
    {"--yarn-ext-factor", "LLAMA_ARG_YARN_EXT_FACTOR", "NUMBER", kRefused, kFilesSay, "-1|-1.0|-1.00"},
    {"--yarn-attn-factor", "LLAMA_ARG_YARN_ATTN_FACTOR", "NUMBER", kRefused, kFilesSay, "-1|-1.0|-1.00"},
    {"--yarn-beta-slow", "LLAMA_ARG_YARN_BETA_SLOW", "NUMBER", kRefused, kFilesSay, "-1|-1.0|-1.00"},
    {"--yarn-beta-fast", "LLAMA_ARG_YARN_BETA_FAST", "NUMBER", kRefused, kFilesSay, "-1|-1.0|-1.00"},
    {"-md,--model-draft,--spec-draft-model", "LLAMA_ARG_SPEC_DRAFT_MODEL", "FILE", kCombined, "with --spec-type draft-mtp as --draft FILE, a head or an assistant of the model; else not read"},
    {"-hfd,-hfrd,--hf-repo-draft,--spec-draft-hf", "LLAMA_ARG_SPEC_DRAFT_HF_REPO", "REPO", kIgnored, kNoDrafts},
    {"-ngld,--gpu-layers-draft,--n-gpu-layers-draft,--spec-draft-ngl", "LLAMA_ARG_N_GPU_LAYERS_DRAFT", "LAYERS", kIgnored, kNoDrafts},
    {"-cd,--ctx-size-draft", "LLAMA_ARG_CTX_SIZE_DRAFT", "N", kIgnored, kNoDrafts},
    {"-devd,--device-draft,--spec-draft-device", "", "DEVICES", kIgnored, kNoDrafts},
    {"-ctkd,--cache-type-k-draft,--spec-draft-type-k", "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K", "TYPE", kIgnored, kNoDrafts},
    {"-ctvd,--cache-type-v-draft,--spec-draft-type-v", "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V", "TYPE", kIgnored, kNoDrafts},
    {"-td,--threads-draft,--spec-draft-threads", "", "N", kIgnored, kNoDrafts},
    {"-tbd,--threads-batch-draft,--spec-draft-threads-batch", "", "N", kIgnored, kNoDrafts},
    {"--draft,--draft-n,--draft-max,--spec-draft-n-max", "LLAMA_ARG_SPEC_DRAFT_N_MAX", "N", kCombined, "as --draft-max; more than 16 are taken as 16, which a line says; 0: as --draft off"},
    {"--draft-min,--draft-n-min,--spec-draft-n-min", "LLAMA_ARG_SPEC_DRAFT_N_MIN", "N", kIgnored, kPricedDrafts},
    {"--draft-p-min,--spec-draft-p-min", "LLAMA_ARG_SPEC_DRAFT_P_MIN", "NUMBER", kIgnored, kPricedDrafts},
    {"--draft-p-split,--spec-draft-p-split", "LLAMA_ARG_SPEC_DRAFT_P_SPLIT", "NUMBER", kIgnored, kPricedDrafts},
    {"--spec-draft-backend-sampling", "LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING", "", kIgnored, kNoDrafts},
    {"--spec-type", "LLAMA_ARG_SPEC_TYPE", "TYPES", kCombined, "none: as --draft off; draft-mtp: as --draft mtp, with -md FILE as --draft FILE; one of ngram: as --draft ngram; others, and several kinds: as --draft auto"},
    {"--spec-default", "", "", kCombined, "as --draft auto"},
    {"-lcs,--lookup-cache-static", "", "FILE", kIgnored, kNoDrafts},
    {"-lcd,--lookup-cache-dynamic", "", "FILE", kIgnored, kNoDrafts},

    // Answers.
    {"--jinja", "LLAMA_ARG_JINJA", "", kBuiltIn, "templates are Jinja"},
    {"--no-jinja", "LLAMA_ARG_NO_JINJA", "", kIgnored, "templates are Jinja, those with a name too"},
    {"--chat-template", "LLAMA_ARG_CHAT_TEMPLATE", "TEMPLATE", kCombined, "the name of a template, or the text of one in Jinja"},
    {"--chat-template-file", "LLAMA_ARG_CHAT_TEMPLATE_FILE", "FILE", kOption, "--chat-template-file"},
    {"--chat-template-kwargs", "LLAMA_ARG_CHAT_TEMPLATE_KWARGS", "JSON", kOption, "--chat-template-kwargs", "{}"},
    {"--reasoning-format", "LLAMA_ARG_THINK", "FORMAT", kOption, "--reasoning-format"},
    {"-rea,--reasoning", "LLAMA_ARG_REASONING", "on|off|auto", kCombined, "off: as --reasoning-budget 0; on and auto: as the template has it"},
    {"--reasoning-budget", "LLAMA_ARG_THINK_BUDGET", "N", kOption, "--reasoning-budget"},
    {"--reasoning-budget-message", "LLAMA_ARG_THINK_BUDGET_MESSAGE", "TEXT", kRefused, "a budget's end writes the mark of the end alone"},
    {"--reasoning-effort", "LLAMA_ARG_REASONING_EFFORT", "LEVEL", kOption, "--reasoning-effort", "default"},
    {"--reasoning-preserve", "LLAMA_ARG_REASONING_PRESERVE", "", kBuiltIn, "templates get the reasoning of earlier turns"},
    {"--no-reasoning-preserve", "LLAMA_ARG_NO_REASONING_PRESERVE", "", kRefused, "templates get the reasoning of earlier turns"},
    {"--skip-chat-parsing", "LLAMA_ARG_SKIP_CHAT_PARSING", "", kRefused, "--reasoning-format none leaves reasoning in the content"},
    {"--no-skip-chat-parsing", "LLAMA_ARG_NO_SKIP_CHAT_PARSING", "", kBuiltIn, "calls and reasoning are told apart"},
    {"--prefill-assistant", "LLAMA_ARG_PREFILL_ASSISTANT", "", kIgnored, "a request says continue_final_message"},
    {"--no-prefill-assistant", "LLAMA_ARG_NO_PREFILL_ASSISTANT", "", kBuiltIn, "a last message of the assistant is a turn that is over"},
    {"-n,--predict,--n-predict", "LLAMA_ARG_N_PREDICT", "N", kOption, "--max-tokens", "-1|-2"},
    {"-s,--seed", "", "N", kOption, "--seed", "-1|4294967295"},
    {"--temp,--temperature", "LLAMA_ARG_TEMPERATURE", "NUMBER", kOption, "--temp"},
    {"--top-k", "LLAMA_ARG_TOP_K", "N", kOption, "--top-k"},
    {"--top-p", "LLAMA_ARG_TOP_P", "NUMBER", kOption, "--top-p"},
    {"--min-p", "LLAMA_ARG_MIN_P", "NUMBER", kOption, "--min-p"},
    {"--top-nsigma,--top-n-sigma", "", "NUMBER", kOption, "--top-n-sigma", "-1|-1.0"},
    {"--xtc-probability", "", "NUMBER", kOption, "--xtc-probability"},
    {"--xtc-threshold", "", "NUMBER", kOption, "--xtc-threshold"},
    {"--typical,--typical-p", "", "NUMBER", kOption, "--typical"},
    {"--repeat-last-n", "", "N", kOption, "--repeat-last-n"},
    {"--repeat-penalty", "LLAMA_ARG_REPEAT_PENALTY", "NUMBER", kOption, "--repeat-penalty"},
    {"--presence-penalty", "LLAMA_ARG_PRESENCE_PENALTY", "NUMBER", kOption, "--presence-penalty"},
    {"--frequency-penalty", "LLAMA_ARG_FREQUENCY_PENALTY", "NUMBER", kOption, "--frequency-penalty"},
    {"--dry-multiplier", "", "NUMBER", kOption, "--dry-multiplier"},
    {"--dry-base", "", "NUMBER", kOption, "--dry-base"},
    {"--dry-allowed-length", "", "N", kOption, "--dry-allowed-length"},
    {"--dry-penalty-last-n", "", "N", kOption, "--dry-penalty-last-n"},
    {"--dry-sequence-breaker", "", "TEXT", kOption, "--dry-sequence-breaker"},
    {"--dynatemp-range", "", "NUMBER", kOption, "--dynatemp-range"},
    {"--dynatemp-exp", "", "NUMBER", kOption, "--dynatemp-exp"},
    {"--mirostat", "", "N", kOption, "--mirostat"},
    {"--mirostat-lr", "", "NUMBER", kOption, "--mirostat-lr"},
    {"--mirostat-ent", "", "NUMBER", kOption, "--mirostat-ent"},
    {"--samplers", "", "NAMES", kOption, "--samplers"},
    {"--sampler-seq,--sampling-seq", "", "LETTERS", kRefused, "--samplers takes their names"},
    {"--adaptive-target", "", "NUMBER", kRefused, "there is no such sampler here", "-1|-1.0"},
    {"--adaptive-decay", "", "NUMBER", kIgnored, "there is no such sampler here"},
    {"--ignore-eos", "", "", kRefused, kPerRequest},
    {"-l,--logit-bias", "", "BIAS", kRefused, kPerRequest},
    {"--grammar", "", "GRAMMAR", kRefused, kPerRequest},
    {"--grammar-file", "", "FILE", kRefused, kPerRequest},
    {"-j,--json-schema", "", "SCHEMA", kRefused, kPerRequest},
    {"-jf,--json-schema-file", "", "FILE", kRefused, kPerRequest},
    {"-r,--reverse-prompt", "", "TEXT", kRefused, kPerRequest},
    {"-sp,--special", "", "", kRefused, "control tokens are not shown"},
    {"--spm-infill", "", "", kRefused, "gaps are filled in the order prefix, suffix, middle"},
    {"-e,--escape", "", "", kIgnored, "texts of arguments are taken as they are"},
    {"--no-escape", "", "", kBuiltIn, "texts of arguments are taken as they are"},

    // The server.
    {"--host", "LLAMA_ARG_HOST", "ADDRESS", kOption, "--host"},
    {"--port", "LLAMA_ARG_PORT", "N", kOption, "--port"},
    {"--reuse-port", "LLAMA_ARG_REUSE_PORT", "", kIgnored, "a port has one server"},
    {"--api-key", "LLAMA_API_KEY", "KEYS", kOption, "--api-key"},
    {"--api-key-file", "LLAMA_ARG_API_KEY_FILE", "FILE", kOption, "--api-key-file"},
    {"--ssl-key-file", "LLAMA_ARG_SSL_KEY_FILE", "FILE", kOption, "--tls-key"},
    {"--ssl-cert-file", "LLAMA_ARG_SSL_CERT_FILE", "FILE", kOption, "--tls-cert"},
    {"-to,--timeout", "LLAMA_ARG_TIMEOUT", "SECONDS", kCombined, "as --read-timeout and --write-timeout"},
    {"--sse-ping-interval", "LLAMA_ARG_SSE_PING_INTERVAL", "SECONDS", kCombined, "as --keepalive-interval; -1: never"},
    {"--threads-http", "LLAMA_ARG_THREADS_HTTP", "N", kIgnored, "one thread does all input and output", "-1"},
    {"--metrics", "LLAMA_ARG_ENDPOINT_METRICS", "", kBuiltIn, "/metrics is there"},
    {"--slots", "LLAMA_ARG_ENDPOINT_SLOTS", "", kBuiltIn, "/slots is there"},
    {"--no-slots", "LLAMA_ARG_NO_ENDPOINT_SLOTS", "", kOption, "--no-slots"},
    {"--props", "LLAMA_ARG_ENDPOINT_PROPS", "", kIgnored, "GET /props is there, and POST /props is not"},
    {"--ui,--webui", "LLAMA_ARG_UI", "", kBuiltIn, "/ is a page to chat on"},
    {"--no-ui,--no-webui", "LLAMA_ARG_NO_UI", "", kOption, "--no-ui"},
    {"--ui-config,--webui-config", "LLAMA_ARG_UI_CONFIG", "JSON", kIgnored, "the page has settings of its own"},
    {"--ui-config-file,--webui-config-file", "LLAMA_ARG_UI_CONFIG_FILE", "FILE", kIgnored, "the page has settings of its own"},
    {"--path", "LLAMA_ARG_STATIC_PATH", "FOLDER", kRefused, "the server gives no files"},
    {"--api-prefix", "LLAMA_ARG_API_PREFIX", "PREFIX", kRefused, "routes stand at the root: a proxy can move them"},
    {"--cors-origins", "LLAMA_ARG_CORS_ORIGINS", "ORIGINS", kCombined, "as --cors-origin, once for each"},
    {"--cors-methods", "LLAMA_ARG_CORS_METHODS", "METHODS", kIgnored, "pages of --cors-origins may use the methods that there are"},
    {"--cors-headers", "LLAMA_ARG_CORS_HEADERS", "HEADERS", kIgnored, "pages of --cors-origins may send any header"},
    {"--tools", "LLAMA_ARG_TOOLS", "TOOLS", kRefused, kNoTools},
    {"--mcp-servers-config", "LLAMA_ARG_MCP_SERVERS_CONFIG", "FILE", kRefused, kNoTools},
    {"--mcp-servers-json", "LLAMA_ARG_MCP_SERVERS_JSON", "JSON", kRefused, kNoTools},
    {"-ag,--agent", "LLAMA_ARG_AGENT", "", kRefused, kNoTools},
    {"-no-ag,--no-agent", "LLAMA_ARG_NO_AGENT", "", kBuiltIn, kNoTools},
    {"--ui-mcp-proxy,--webui-mcp-proxy", "LLAMA_ARG_UI_MCP_PROXY", "", kRefused, kNoTools},
    {"--no-ui-mcp-proxy,--no-webui-mcp-proxy", "LLAMA_ARG_NO_UI_MCP_PROXY", "", kBuiltIn, kNoTools},

    // What it prints.
    {"-lv,--verbosity,--log-verbosity", "LLAMA_ARG_LOG_VERBOSITY", "N", kCombined, "0 and 1: errors, 2: warnings, 3 and 4: info, from 5 on: all"},
    {"-v,--verbose,--log-verbose", "", "", kCombined, "all"},
    {"--log-disable", "", "", kCombined, "no log"},
    {"--log-file", "LLAMA_ARG_LOG_FILE", "FILE", kIgnored, "lines go to standard error"},
    {"--log-colors", "LLAMA_ARG_LOG_COLORS", "on|off|auto", kIgnored, "lines have no colors", "off|auto"},
    {"--log-prefix", "LLAMA_ARG_LOG_PREFIX", "", kIgnored, "lines begin with octavo:"},
    {"--no-log-prefix", "LLAMA_ARG_NO_LOG_PREFIX", "", kBuiltIn, "lines begin with octavo:"},
    {"--log-timestamps", "LLAMA_ARG_LOG_TIMESTAMPS", "", kIgnored, "the access log has times"},
    {"--no-log-timestamps", "LLAMA_ARG_NO_LOG_TIMESTAMPS", "", kBuiltIn, "the access log alone has times"},
    {"--log-jsonl", "LLAMA_ARG_LOG_JSONL", "", kIgnored, "the access log is lines of JSON"},
    {"--no-log-jsonl", "LLAMA_ARG_NO_LOG_JSONL", "", kBuiltIn, "lines are text"},
    {"--log-prompts-dir", "", "FOLDER", kRefused, "octavo serve --log-prompts writes them into the access log"},
    {"-h,--help,--usage", "", "", kAction, "this text"},
    {"--version", "", "", kAction, "the version"},
    {"--list-devices", "", "", kAction, "the devices beside the CPU"},
};
// clang-format on

/// Calls `take` with each part of a list that `separator` divides.
template <class Take>
void for_each_part(std::string_view list, char separator, const Take& take) {
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(separator));
    take(part);
    list.remove_prefix(std::min(list.size(), part.size() + 1));
  }
}

void append_section(std::string_view title, std::initializer_list<LlamaFate> fates, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\n{}:\n", title);
  for (const LlamaArgument& argument : kArguments) {
    if (std::ranges::find(fates, argument.fate) == fates.end()) continue;
    std::string names;
    for_each_part(argument.names, ',',
                  [&](std::string_view name) { names += (names.empty() ? "" : ", ") + std::string(name); });
    fmt::format_to(std::back_inserter(out), "  {}{}{}\n      {}{}{}\n", names, argument.is_flag() ? "" : " ",
                   argument.value, argument.fate == kOption ? "as octavo serve " : "", argument.text,
                   argument.variable.empty() ? "" : fmt::format(" ({})", argument.variable));
  }
}

}  // namespace

bool LlamaArgument::has_name(std::string_view name) const {
  bool found = false;
  for_each_part(names, ',', [&](std::string_view own) { found |= own == name; });
  return found;
}

bool LlamaArgument::is_harmless(std::string_view given) const {
  bool found = false;
  for_each_part(harmless, '|', [&](std::string_view own) { found |= own == given; });
  return found;
}

std::span<const LlamaArgument> llama_arguments() { return kArguments; }

const LlamaArgument* find_llama_argument(std::string_view name) {
  std::string dashed(name);
  if (name.starts_with("--")) std::ranges::replace(dashed, '_', '-');
  const auto found = std::ranges::find_if(kArguments, [&](const LlamaArgument& row) { return row.has_name(dashed); });
  return found == std::end(kArguments) ? nullptr : found;
}

const LlamaArgument* opposite_of(const LlamaArgument& argument) {
  constexpr std::string_view kBegin = "LLAMA_ARG_", kNo = "NO_";
  if (!argument.is_flag() || !argument.variable.starts_with(kBegin)) return nullptr;
  std::string variable(argument.variable);
  if (argument.is_negative()) {
    variable.erase(kBegin.size(), kNo.size());
  } else {
    variable.insert(kBegin.size(), kNo);
  }
  const auto found = std::ranges::find(kArguments, std::string_view(variable), &LlamaArgument::variable);
  return found == std::end(kArguments) ? nullptr : found;
}

std::vector<std::string> llama_argument_names() {
  std::vector<std::string> all;
  for (const LlamaArgument& argument : kArguments)
    for_each_part(argument.names, ',', [&](std::string_view name) { all.emplace_back(name); });
  return all;
}

std::string llama_arguments_help() {
  std::string out =
      "Serves a model as octavo serve does, and takes the arguments of llama.cpp's server;\n"
      "the options of octavo serve as well, where llama.cpp has none of that name.\n\n"
      "Usage: llama-server -m MODEL.gguf [ARGUMENTS]\n";
  append_section("Taken", {kOption, kCombined, kAction}, out);
  append_section("So here anyway", {kBuiltIn}, out);
  append_section("Without effect, as a line then says", {kIgnored}, out);
  append_section("Refused", {kRefused}, out);
  return out;
}

}  // namespace octavo::cli
