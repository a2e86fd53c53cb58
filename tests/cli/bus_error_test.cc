// A mapped file that loses its pages ends the program with a line that names it.
#include "cli/terminal/bus_error.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "base/mapped_file.h"
#include "support/temp_file.h"

namespace octavo::cli {
namespace {

void touch_after_truncation(const test::TempFile& file) {
  const MappedFile mapped = *MappedFile::open(file.path());
  std::filesystem::resize_file(file.path(), 10);
  report_lost_files();
  const volatile std::byte last = mapped.bytes().back();
  static_cast<void>(last);
}

TEST(BusErrorDeathTest, AFileThatIsCutShortWhileItIsMappedEndsWithALineAndExitCode1) {
  EXPECT_EXIT(touch_after_truncation(test::TempFile(std::string(100'000, 'x'))), testing::ExitedWithCode(1),
              "octavo: /.*octavo-test-.*: the file was cut short or its disk failed while it was in use");
}

TEST(BusErrorDeathTest, TheNameOfTheFileSteersNoTerminal) {
  const auto touch = [] {
    const test::TempFile file(std::string(100'000, 'x'), "\x1b[2J\xe2\x80\xae.gguf");
    touch_after_truncation(file);
  };
  EXPECT_EXIT(touch(), testing::ExitedWithCode(1), "octavo: /.*octavo-test-.*\\?\\[2J\\?.gguf: the file was cut short");
}

TEST(BusErrorDeathTest, ASignalThatSomebodySendsIsWhatItWas) {
  EXPECT_EXIT(
      {
        report_lost_files();
        ::raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace octavo::cli
