// Prints one line, instead of a silent death, when a file in use is truncated or its disk fails.
//
// With --no-repack weights stay in the mapped file. A page of it that cannot be read is no error that a call could
// return: the system sends SIGBUS to the thread that touched the page.
#pragma once

namespace octavo::cli {

/// From now on, touching a page that a mapped file no longer has ends the process with exit code 1, and a line on
/// standard error names the file. Any other SIGBUS does what it did before. Called once, by main.
void report_lost_files();

}  // namespace octavo::cli
