"""The check of functions that use matrix tiles, on listings with each fault."""
import unittest

import check_tile_code

GOOD = """
0000000000000000 <product>:
   0:\tldtilecfg 0x0(%rip)
   8:\ttileloadd (%rax,%rcx,1),%tmm2
   e:\ttdpbssd %tmm3,%tmm2,%tmm0
  13:\tjne    8 <product+0x8>
  18:\ttilerelease
  1d:\tret
0000000000000020 <caller>:
  20:\tcall   0 <product>
"""


class TileCode(unittest.TestCase):
    def problems(self, old="", new=""):
        return check_tile_code.check(GOOD.replace(old, new) if old else GOOD)[0]

    def test_a_function_that_configures_multiplies_and_releases_is_good(self):
        self.assertEqual(check_tile_code.check(GOOD), ([], 1))

    def test_a_call_or_a_jump_elsewhere_while_tiles_are_configured_is_a_fault(self):
        for left in ("call   0 <memcpy>", "call   *%rax", "jmp    20 <caller>", "notrack jmp *%rax", "syscall"):
            self.assertIn("product: leaves by", self.problems("jne    8 <product+0x8>", left)[0])

    def test_tiles_that_are_not_configured_or_released_are_a_fault(self):
        self.assertEqual(self.problems("ldtilecfg 0x0(%rip)", "nop"), ["product: uses tiles without ldtilecfg"])
        self.assertEqual(self.problems("tilerelease", "nop"), ["product: uses tiles without tilerelease"])

    def test_products_of_bytes_and_of_bf16_are_products(self):
        for product in ("tdpbssd", "tdpbf16ps"):
            self.assertEqual(self.problems("tdpbssd", product), [])

    def test_a_unit_without_products_is_a_fault(self):
        self.assertIn("found no product", self.problems("tdpbssd %tmm3,%tmm2,%tmm0", "nop")[0])


if __name__ == "__main__":
    unittest.main()
