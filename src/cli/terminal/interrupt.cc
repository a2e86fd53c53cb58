#include "cli/terminal/interrupt.h"

namespace octavo::cli {
namespace {

// A signal handler can only set a global variable: the only state of the program that is not in an object.
volatile std::sig_atomic_t g_interrupted = 0;

void note_interrupt(int) { g_interrupted = 1; }

}  // namespace

InterruptGuard::InterruptGuard() : previous_{} {
  g_interrupted = 0;
  struct sigaction action{};
  action.sa_handler = note_interrupt;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previous_);
}

InterruptGuard::~InterruptGuard() { ::sigaction(SIGINT, &previous_, nullptr); }

bool InterruptGuard::interrupted() const { return g_interrupted != 0; }

}  // namespace octavo::cli
