// The commands, each in a file of its own. Each function adds a command to the program, with its options and what it
// does. References must live until the command has been performed.
#pragma once

#include "cli/llama/llama_reader.h"
#include "cli/options/command_line.h"
#include "cli/terminal/context.h"

namespace octavo::cli {

void add_run_command(Program& program, Context& context);
void add_chat_command(Program& program, Context& context);
/// `dialect`: that of llama.cpp's server also makes it print that server's words when it is ready.
void add_serve_command(Program& program, Context& context, Dialect dialect = Dialect::kOctavo);
void add_embed_command(Program& program, Context& context);
void add_rerank_command(Program& program, Context& context);
void add_bench_command(Program& program, Context& context);
void add_pull_command(Program& program, Context& context);
void add_list_command(Program& program, Context& context);
void add_rm_command(Program& program, Context& context);
void add_kv_command(Program& program, Context& context);
void add_convert_command(Program& program, Context& context);
void add_quantize_command(Program& program, Context& context);
void add_info_command(Program& program, Context& context);
void add_tokenize_command(Program& program, Context& context);
void add_logits_command(Program& program, Context& context);

}  // namespace octavo::cli
