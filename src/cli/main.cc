// The program. All else is in cli/process_context.cc, cli/cli.cc and one file for each command.
#include "cli/process_context.h"

int main(int argc, char** argv) { return octavo::cli::run_program(argc, argv); }
