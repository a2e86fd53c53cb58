#!/usr/bin/env python3
"""Computes the vectors of tiny vision encoders (tiny_tower.py) by their original implementations, `transformers`.

    original_towers.py [--write tests/data/original_towers.gguf]

A tensor "SHAPE ROWSxCOLUMNS" has the vectors of a picture with so many patches, [tokens, vectors, text width]; a
token's first vector is the merger's. tests/cpu/vision_tower_test.cc and tests/tools/test_oracle_tower.py compare with
the file that this writes. Needs: numpy, gguf, Pillow 12, torch, torchvision, transformers (5.24 wrote the file). No network.
"""
import argparse

import gguf
import numpy as np
import torch
import transformers
from PIL import Image
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.gemma4 import configuration_gemma4, modeling_gemma4
from transformers.models.gemma4_unified import configuration_gemma4_unified, modeling_gemma4_unified
from transformers.models.llava.modeling_llava import LlavaMultiModalProjector
from transformers.models.lfm2_vl import modeling_lfm2_vl
from transformers.models.minicpmv4_6 import modeling_minicpmv4_6
from transformers.models.mistral3 import modeling_mistral3
from transformers.models.muse_glimmer import modeling_muse_glimmer
from transformers.models.pixtral import modeling_pixtral
from transformers.models.qwen2_5_vl import configuration_qwen2_5_vl, modeling_qwen2_5_vl
from transformers.models.qwen2_vl import configuration_qwen2_vl, modeling_qwen2_vl
from transformers.models.qwen3_5 import configuration_qwen3_5, modeling_qwen3_5
from transformers.models.qwen3_vl import configuration_qwen3_vl, modeling_qwen3_vl
from transformers.models.siglip import modeling_siglip
from transformers.models.siglip2 import modeling_siglip2
from transformers.models.smolvlm import modeling_smolvlm

import tiny_tower


def loaded(model, state):
    model.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(data)) for name, data in state.items()})
    return model.float().eval()


class Qwen:
    """The original of qwen3vl_merger with the made weights."""

    def __init__(self, shape):
        config = tiny_tower.vision_settings(shape)
        if shape.deepstack:
            model = modeling_qwen3_vl.Qwen3VLVisionModel(configuration_qwen3_vl.Qwen3VLVisionConfig(**config))
        else:
            model = modeling_qwen3_5.Qwen3_5VisionModel(configuration_qwen3_5.Qwen3_5VisionConfig(**config))
        self.shape, self.model = shape, loaded(model, tiny_tower.original_tensors(shape))

    @staticmethod
    def inputs(shape, rgb):
        """Two equal frames, cut as the original's processor cuts them."""
        side, merge = shape.patch, shape.merge
        rows, columns = rgb.shape[0] // side, rgb.shape[1] // side
        x = normed(shape, rgb).numpy()
        x = x.reshape(3, rows // merge, merge, side, columns // merge, merge, side).transpose(1, 4, 2, 5, 0, 3, 6)
        x = x.reshape(rows * columns, 3, 1, side, side).repeat(2, axis=2)
        return {"pixel_values": torch.from_numpy(np.ascontiguousarray(x.reshape(rows * columns, -1))),
                "image_grid_thw": torch.tensor([[1, rows, columns]])}

    @staticmethod
    def inputs_of(shape, pictures):
        """The arguments of a whole model for several pictures."""
        each = [Qwen.inputs(shape, rgb) for rgb in pictures]
        return {name: torch.cat([inputs[name] for inputs in each]) for name in each[0]}

    def vectors(self, rgb):
        inputs = self.inputs(self.shape, rgb)
        out = self.model(inputs["pixel_values"], inputs["image_grid_thw"])
        return torch.stack([out.pooler_output, *(getattr(out, "deepstack_features", None) or [])], dim=1)


class Gemma4:
    """The original of gemma4v with the made weights, and the projection that stands beside it."""

    def __init__(self, shape):
        self.shape = shape
        config = configuration_gemma4.Gemma4VisionConfig(**tiny_tower.vision_settings(shape))
        config._attn_implementation = "eager"
        self.model = loaded(modeling_gemma4.Gemma4VisionModel(config), tiny_tower.original_tensors(shape))
        text = configuration_gemma4.Gemma4TextConfig(hidden_size=shape.text)
        self.embedder = loaded(modeling_gemma4.Gemma4MultimodalEmbedder(config, text), {
            "embedding_projection.weight": tiny_tower.tensors(shape)["mm.input_projection.weight"]})

    @staticmethod
    def patch_side(shape):
        return shape.patch

    @classmethod
    def inputs(cls, shape, rgb):
        """Patches row by row, a pixel's channels together, and their columns and rows."""
        side = cls.patch_side(shape)
        rows, columns = rgb.shape[0] // side, rgb.shape[1] // side
        x = (rgb.astype(np.float32) / 255).reshape(rows, side, columns, side, 3).swapaxes(1, 2)
        places = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(1, -1, 2)
        return {"pixel_values": torch.from_numpy(x.reshape(1, rows * columns, -1).copy()),
                "image_position_ids": torch.from_numpy(places)}

    @classmethod
    def inputs_of(cls, shape, pictures):
        """The arguments of a whole model for several pictures, filled up to the largest with places of -1."""
        each = [cls.inputs(shape, rgb) for rgb in pictures]
        most = max(inputs["pixel_values"].shape[1] for inputs in each)
        return {name: torch.cat([torch.nn.functional.pad(inputs[name], (0, 0, 0, most - inputs[name].shape[1]),
                                                         value=filler) for inputs in each])
                for name, filler in (("pixel_values", 0.0), ("image_position_ids", -1))}

    def vectors(self, rgb):
        inputs = self.inputs(self.shape, rgb)
        out = self.model(inputs["pixel_values"], inputs["image_position_ids"]).last_hidden_state
        return self.embedder(out)[:, None]


class Gemma4Unified(Gemma4):
    """The original of gemma4uv, whose patches are as large as tokens."""

    def __init__(self, shape):
        self.shape = shape
        config = configuration_gemma4_unified.Gemma4UnifiedVisionConfig(**tiny_tower.vision_settings(shape))
        text = configuration_gemma4_unified.Gemma4UnifiedTextConfig(hidden_size=shape.text)
        self.model = loaded(modeling_gemma4_unified.Gemma4UnifiedVisionEmbedder(config, text), {
            **tiny_tower.original_tensors(shape),
            "multimodal_embedder.embedding_projection.weight": tiny_tower.tensors(shape)["mm.input_projection.weight"]})

    @staticmethod
    def patch_side(shape):
        return shape.patch * shape.merge

    def vectors(self, rgb):
        inputs = self.inputs(self.shape, rgb)
        return self.model(inputs["pixel_values"], inputs["image_position_ids"]).pooler_output[0][:, None]


def normed(shape, rgb):
    """[3, height, width]"""
    family = tiny_tower.family_of(shape)
    x = (rgb.astype(np.float32) / 255 - np.array(family.MEAN, np.float32)) / np.array(family.DEVIATION, np.float32)
    return torch.from_numpy(x.transpose(2, 0, 1).copy())


def beside_encoder(shape, prefix):
    """The weights beside an encoder, without the prefix of their part."""
    return {name.removeprefix(prefix): data for name, data in tiny_tower.other_tensors(shape).items()
            if name.startswith(prefix)}


class Gemma3:
    """The original of gemma3, with its projector."""

    def __init__(self, shape):
        self.shape = shape
        config = transformers.Gemma3Config(
            vision_config=tiny_tower.vision_settings(shape), text_config={"hidden_size": shape.text},
            **tiny_tower.family_of(shape).whole_settings(shape))
        config.vision_config._attn_implementation = "eager"
        self.model = loaded(modeling_siglip.SiglipVisionModel(config.vision_config), tiny_tower.original_tensors(shape))
        self.projector = loaded(modeling_gemma3.Gemma3MultiModalProjector(config),
                                beside_encoder(shape, "model.multi_modal_projector."))

    @staticmethod
    def inputs_of(shape, pictures):
        return {"pixel_values": torch.stack([normed(shape, rgb) for rgb in pictures])}

    def vectors(self, rgb):
        return self.projector(self.model(normed(self.shape, rgb)[None]).last_hidden_state)[0][:, None]


class SmolVlm:
    """The original of idefics3, with its connector."""

    def __init__(self, shape):
        self.shape = shape
        config = transformers.SmolVLMConfig(
            vision_config=tiny_tower.vision_settings(shape), text_config={"model_type": "llama", "hidden_size": shape.text},
            **tiny_tower.family_of(shape).whole_settings(shape))
        config.vision_config._attn_implementation = "eager"
        self.model = loaded(modeling_smolvlm.SmolVLMVisionTransformer(config.vision_config),
                            tiny_tower.original_tensors(shape))
        self.connector = loaded(modeling_smolvlm.SmolVLMConnector(config), beside_encoder(shape, "model.connector."))

    @staticmethod
    def inputs_of(shape, pictures):
        """Tiles row by row and an overview of each picture, whose sides are multiples of a tile's."""
        tile, tiles = shape.grid * shape.patch, []
        for rgb in pictures:
            rows, columns = rgb.shape[0] // tile, rgb.shape[1] // tile
            tiles += [rgb[row * tile:(row + 1) * tile, column * tile:(column + 1) * tile]
                      for row in range(rows) for column in range(columns)]
            tiles.append(np.asarray(Image.fromarray(rgb).resize((tile, tile), Image.Resampling.LANCZOS)))
        return {"pixel_values": torch.stack([normed(shape, rgb) for rgb in tiles])[None]}

    def vectors(self, rgb):
        return self.connector(self.model(normed(self.shape, rgb)[None]).last_hidden_state)[0][:, None]


class Lfm2:
    """The original of lfm2, with its projector."""

    def __init__(self, shape):
        self.shape = shape
        config = transformers.Lfm2VlConfig(
            vision_config=tiny_tower.vision_settings(shape), text_config={"model_type": "lfm2", "hidden_size": shape.text},
            **tiny_tower.family_of(shape).whole_settings(shape))
        config.vision_config._attn_implementation = "eager"
        self.model = loaded(modeling_siglip2.Siglip2VisionModel(config.vision_config), tiny_tower.original_tensors(shape))
        self.projector = loaded(modeling_lfm2_vl.Lfm2VlMultiModalProjector(config),
                                beside_encoder(shape, "model.multi_modal_projector."))

    @staticmethod
    def patches(shape, rgb):
        """[patches, side * side * 3], a pixel's channels together"""
        x, side = normed(shape, rgb).permute(1, 2, 0), shape.patch
        rows, columns = x.shape[0] // side, x.shape[1] // side
        return x.reshape(rows, side, columns, side, 3).transpose(1, 2).reshape(rows * columns, -1), (rows, columns)

    @staticmethod
    def tiles(shape, rgb):
        """Tiles of 16 x 16 tokens row by row and an overview of a large picture; another picture is whole."""
        unit = shape.patch * shape.merge
        tile, (height, width) = 16 * unit, rgb.shape[:2]
        if height * width <= 2 * 256 * unit * unit:
            return [rgb]
        shrink = (height * width / (256 * unit * unit)) ** 0.5
        size = [int(side / shrink / unit) * unit for side in (width, height)]
        return [*(rgb[row:row + tile, column:column + tile] for row in range(0, height, tile)
                  for column in range(0, width, tile)),
                np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BILINEAR))]

    @staticmethod
    def inputs_of(shape, pictures):
        each = [Lfm2.patches(shape, tile) for rgb in pictures for tile in Lfm2.tiles(shape, rgb)]
        most = max(len(patches) for patches, _ in each)
        return {"pixel_values": torch.stack([torch.nn.functional.pad(patches, (0, 0, 0, most - len(patches)))
                                             for patches, _ in each]),
                "pixel_attention_mask": torch.tensor([[1] * len(patches) + [0] * (most - len(patches))
                                                      for patches, _ in each]),
                "spatial_shapes": torch.tensor([grid for _, grid in each])}

    def vectors(self, rgb):
        inputs = self.inputs_of(self.shape, [rgb])
        out = self.model(**inputs).last_hidden_state
        rows, columns = inputs["spatial_shapes"][0].tolist()
        made = self.projector(out.reshape(1, rows, columns, -1))
        return made.reshape(-1, made.shape[-1])[:, None]


class Pixtral:
    """The original of pixtral, with the projector of Mistral 3 where patches are joined, or else Llava's."""

    def __init__(self, shape):
        self.shape, whole = shape, tiny_tower.family_of(shape).whole_settings(shape)
        settings = {"vision_config": tiny_tower.vision_settings(shape),
                    "text_config": {"model_type": "mistral", "hidden_size": shape.text, "rms_norm_eps": 1e-5}, **whole}
        joins = shape.merge > 1
        config = transformers.Mistral3Config(**settings) if joins else transformers.LlavaConfig(**settings)
        config.vision_config._attn_implementation = "eager"
        self.model = loaded(modeling_pixtral.PixtralVisionModel(config.vision_config), tiny_tower.original_tensors(shape))
        projector = modeling_mistral3.Mistral3MultiModalProjector if joins else LlavaMultiModalProjector
        self.projector = loaded(projector(config), beside_encoder(shape, "model.multi_modal_projector."))

    @staticmethod
    def inputs_of(shape, pictures):
        sizes = [rgb.shape[:2] for rgb in pictures]
        most = [max(size[axis] for size in sizes) for axis in (0, 1)]
        padded = [torch.nn.functional.pad(normed(shape, rgb), (0, most[1] - size[1], 0, most[0] - size[0]))
                  for rgb, size in zip(pictures, sizes, strict=True)]
        return {"pixel_values": torch.stack(padded), "image_sizes": torch.tensor(sizes)}

    def vectors(self, rgb):
        inputs = self.inputs_of(self.shape, [rgb])
        out = self.model(inputs["pixel_values"], image_sizes=inputs["image_sizes"]).last_hidden_state[0]
        made = self.projector(out, inputs["image_sizes"]) if self.shape.merge > 1 else self.projector(out)
        return made.reshape(-1, made.shape[-1])[:, None]


class Qwen2(Qwen):
    """The originals of qwen2vl_merger and qwen2.5vl_merger."""

    def __init__(self, shape):
        config = tiny_tower.vision_settings(shape)
        if shape.family == "qwen2vl_merger":
            config = configuration_qwen2_vl.Qwen2VLVisionConfig(**config)
            model = modeling_qwen2_vl.Qwen2VisionTransformerPretrainedModel(config)
        else:
            config = configuration_qwen2_5_vl.Qwen2_5_VLVisionConfig(**config)
            model = modeling_qwen2_5_vl.Qwen2_5_VisionTransformerPretrainedModel(config)
        self.shape, self.model = shape, loaded(model, tiny_tower.original_tensors(shape))


class MiniCpm:
    """The original of minicpmv4_6, with its merger."""

    def __init__(self, shape):
        self.shape = shape
        config = transformers.MiniCPMV4_6Config(
            vision_config=tiny_tower.vision_settings(shape),
            text_config={"model_type": "qwen3_5_text", "hidden_size": shape.text},
            **tiny_tower.family_of(shape).whole_settings(shape))
        config.vision_config._attn_implementation = "eager"
        self.joins = shape.merge == 4
        model = modeling_minicpmv4_6.MiniCPMV4_6VisionModel(config.vision_config)
        if not self.joins:
            del model.vit_merger
        self.model = loaded(model, tiny_tower.original_tensors(shape))
        self.merger = loaded(modeling_minicpmv4_6.MiniCPMV4_6Merger(config), beside_encoder(shape, "model.merger."))

    @staticmethod
    def slices(shape, rgb):
        """The overview of a square, and slices row by row where it is larger than one."""
        height, width = rgb.shape[:2]
        if height * width <= shape.edge ** 2:
            return [rgb]
        return [np.asarray(Image.fromarray(rgb).resize((shape.edge, shape.edge), Image.Resampling.BICUBIC)),
                *(rgb[row:row + shape.edge, column:column + shape.edge] for row in range(0, height, shape.edge)
                  for column in range(0, width, shape.edge))]

    @staticmethod
    def inputs_of(shape, pictures):
        """Patches of all slices side by side: [1, 3, side, patches * side]."""
        parts, sizes = [], []
        for rgb in (part for picture in pictures for part in MiniCpm.slices(shape, picture)):
            x, side = normed(shape, rgb), shape.patch
            rows, columns = x.shape[1] // side, x.shape[2] // side
            parts.append(x.reshape(3, rows, side, columns, side).permute(0, 2, 1, 3, 4).reshape(3, side, -1))
            sizes.append([rows, columns])
        return {"pixel_values": torch.cat(parts, dim=-1)[None], "target_sizes": torch.tensor(sizes, dtype=torch.int32)}

    def vectors(self, rgb):
        x, side = normed(self.shape, rgb), self.shape.patch
        rows, columns = x.shape[1] // side, x.shape[2] // side
        patches = x.reshape(3, rows, side, columns, side).permute(0, 2, 1, 3, 4).reshape(1, 3, side, -1)
        sizes = torch.tensor([[rows, columns]], dtype=torch.int32)
        out = self.model(patches, target_sizes=sizes, use_vit_merger=self.joins).last_hidden_state
        return self.merger(out, sizes // 2 if self.joins else sizes)[0][:, None]


class MuseGlimmer:
    """The original of muse-glimmer, with its adapter and projection, without the norm that the text model has."""

    def __init__(self, shape):
        self.shape = shape
        config = transformers.MuseGlimmerConfig(
            vision_config=tiny_tower.vision_settings(shape),
            text_config={"hidden_size": shape.text, "num_attention_heads": 2},
            **tiny_tower.family_of(shape).whole_settings(shape))
        config.vision_config._attn_implementation = "eager"
        self.model = loaded(modeling_muse_glimmer.MuseGlimmerVisionModel(config.vision_config),
                            tiny_tower.original_tensors(shape))
        self.adapter = loaded(modeling_muse_glimmer.MuseGlimmerVisionAdapter(config),
                              beside_encoder(shape, "model.vision_adapter."))
        self.projection = torch.from_numpy(tiny_tower.tensors(shape)["mm.2.weight"])

    @staticmethod
    def inputs_of(shape, pictures):
        parts, grids = [], []
        for rgb in pictures:
            x, side = normed(shape, rgb), shape.patch
            rows, columns = x.shape[1] // side, x.shape[2] // side
            x = x.reshape(3, rows, side, columns, side).permute(1, 3, 0, 2, 4).reshape(rows * columns, -1)
            parts.append(torch.cat([x, x], dim=1))
            grids.append([1, rows, columns])
        return {"pixel_values": torch.cat(parts), "image_grid_thw": torch.tensor(grids)}

    def vectors(self, rgb):
        inputs = self.inputs_of(self.shape, [rgb])
        out = self.model(inputs["pixel_values"], inputs["image_grid_thw"]).last_hidden_state
        return (self.adapter(out) @ self.projection.T)[:, None]


FAMILIES = {"qwen3vl_merger": Qwen, "gemma3": Gemma3, "gemma4v": Gemma4, "gemma4uv": Gemma4Unified, "idefics3": SmolVlm,
            "lfm2": Lfm2, "pixtral": Pixtral,
            "qwen2vl_merger": Qwen2, "qwen2.5vl_merger": Qwen2, "minicpmv4_6": MiniCpm, "muse-glimmer": MuseGlimmer}


def make_original(shape):
    return FAMILIES[shape.family](shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write")
    args = parser.parse_args()
    kept = {}
    with torch.no_grad():
        for name, shape in tiny_tower.SHAPES.items():
            original = make_original(shape)
            for grid in tiny_tower.grids(shape):
                array = original.vectors(tiny_tower.picture(shape, grid)).numpy()
                kept[f"{name} {grid[0]}x{grid[1]}"] = array
                print(f"{name} {grid}: {array.shape}, largest {abs(array).max():.3f}")
    if args.write:
        writer = gguf.GGUFWriter(args.write, "vectors")
        for name, array in kept.items():
            writer.add_tensor(name, np.ascontiguousarray(array, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


if __name__ == "__main__":
    main()
