// Kernels that are cut from the text of all.
#include "gpu/ptx_text.h"

#include <gtest/gtest.h>

#include <array>

namespace octavo::gpu {
namespace {

constexpr std::string_view kText = R"(.version 8.5
.target sm_80
	// .globl	one
.extern .shared .align 128 .b8 memory[];
.visible .entry one(
	.param .align 8 .b8 one_param_0[32]
)
.maxntid 256, 1, 1
{
	{ nested; }
	ret;
}
	// .globl	one_more
.visible .entry one_more(
)
{
	ret;
}
	// .globl	two
.visible .entry two(
)
{
	ret;
}
	// the end
)";

TEST(PtxText, HasTheKernelsOfTheNames) {
  constexpr std::array<std::string_view, 2> kNames = {"two", "one"};
  const std::string text = ptx_of_kernels(kText, kNames);
  EXPECT_EQ(text, std::string(kText.substr(0, kText.find(".visible .entry one_more"))) +
                      std::string(kText.substr(kText.find("\t// .globl\ttwo"))));
}

TEST(PtxText, KeepsWhatIsNoKernel) {
  EXPECT_EQ(ptx_of_kernels(kText, {}),
            ".version 8.5\n.target sm_80\n\t// .globl\tone\n.extern .shared .align 128 .b8 memory[];\n"
            "\t// .globl\tone_more\n\t// .globl\ttwo\n\t// the end\n");
  EXPECT_EQ(ptx_of_kernels("", {}), "");
}

}  // namespace
}  // namespace octavo::gpu
