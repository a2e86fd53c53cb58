// One line instead of a silent death when a file in use is cut short or its disk fails.
//
// With --no-repack weights stay in the mapped file. A page of it that cannot be read is no error that a call could
// return: the system sends SIGBUS to the thread that touched it.
#pragma once

namespace octavo::cli {

/// From now on a thread that touches a page that a mapped file no longer has ends the process with exit code 1 and a
/// line on standard error that names the file. Any other SIGBUS does what it did before. Called once, by main.
void report_lost_files();

}  // namespace octavo::cli
