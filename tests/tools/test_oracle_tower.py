"""The oracle of vision encoders against what `transformers` made of the same pictures (tools/original_towers.py)."""
import pathlib
import tempfile
import unittest

import gguf
import numpy as np

import oracle_tower
import tiny_tower

ORIGINALS = pathlib.Path(__file__).resolve().parents[1] / "data/original_towers.gguf"


class Oracle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = {tensor.name: tensor.data for tensor in gguf.GGUFReader(ORIGINALS).tensors}

    def towers(self, **more):
        for name, shape in tiny_tower.SHAPES.items():
            with tempfile.TemporaryDirectory() as place:
                path = pathlib.Path(place, "mmproj.gguf")
                tiny_tower.write(path, shape, **more)
                yield name, shape, oracle_tower.tower_of(path)

    def test_it_makes_the_vectors_of_the_original(self):
        compared = set()
        for name, shape, tower in self.towers():
            for rows, columns in tiny_tower.grids(shape):
                what = f"{name} {rows}x{columns}"
                found, expected = tower.vectors(tiny_tower.picture(shape, (rows, columns))), self.kept[what]
                self.assertEqual(found.shape, expected.shape, what)
                self.assertLess(abs(found - expected).max(), 1e-4 * abs(expected).max(), what)
                compared.add(what)
        self.assertEqual(compared, set(self.kept))

    def test_a_file_with_halves_makes_nearly_the_same(self):
        for name, shape, tower in self.towers(kind=gguf.GGMLQuantizationType.F16):
            rows, columns = tiny_tower.grids(shape)[-1]
            found = tower.vectors(tiny_tower.picture(shape, (rows, columns))).astype(np.float64)
            expected = self.kept[f"{name} {rows}x{columns}"].astype(np.float64)
            cosines = (found * expected).sum(-1) / np.linalg.norm(found, axis=-1) / np.linalg.norm(expected, axis=-1)
            self.assertGreater(cosines.min(), 0.9999, name)


if __name__ == "__main__":
    unittest.main()
