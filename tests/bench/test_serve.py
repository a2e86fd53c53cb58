"""bench_serve on a tiny model and, in short, on a real one: its exit code says whether counts, answers and memory were
right; times decide nothing.

The tiny model has the storm that is long enough to say that memory stays flat. What the real one alone finds: an answer
that another request changes in layers as wide and words as many as people have them, in steps that are cut by what rows
take.
"""
import os
import subprocess
import unittest

import support

PROGRAM = os.environ["OCTAVO_BENCH_SERVE"]


class Serve(unittest.TestCase):
    def check(self, model, scenarios, *options):
        """Runs it and returns what it printed; each scenario has a line."""
        done = subprocess.run([PROGRAM, "-m", model, *scenarios, *map(str, options)], capture_output=True, text=True,
                              check=False, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
        self.assertEqual([line.partition(":")[0] for line in lines], list(scenarios))
        return "\n".join(lines)

    def test_every_answer_is_as_it_is_alone_and_memory_stays_flat(self):
        model = support.few_words_model("tiny-llama-8k", types=("Q4_1",))
        out = self.check(model, ("scheduler", "shared", "memory", "storm"), "--itl-target-ms", 1, "--memory-requests", 20,
                         "--storm-requests", 400, "--storm-tokens", 2000)
        print(out)
        for what in ("preemptions", "cancelled"):  # else it asked nothing
            self.assertNotRegex(out, rf"\b0 {what}")
        self.assertRegex(out, r"memory: .*, [1-9][0-9]* preemptions")

    def test_answers_of_a_real_model_are_as_they_are_alone(self):
        print(self.check(support.SMOLLM2, ("storm",), "--storm-requests", 16, "--storm-tokens", 600))


if __name__ == "__main__":
    unittest.main()
