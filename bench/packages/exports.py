#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports of networks of texts by PyTorch and Transformers, small ones with random weights: is their padding left out,
and are the results ONNX Runtime's? exports.py FOLDER [NAME...]

Needs torch, transformers, onnx, onnxscript, onnxruntime and colonnade. An output of tokens is compared where they are
live, and must be zero elsewhere if padding is left out; with padding computed it is compared everywhere.
"""
import pathlib
import sys

import numpy as np

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 200}
COUNTED = {**SIZES, "max_position_embeddings": 130, "pad_token_id": 1}
# name: class, configuration, arguments, ways of attention
NETWORKS = {
    "bert": ("BertModel", "BertConfig", SIZES, ("sdpa", "eager")),
    "distilbert": ("DistilBertModel", "DistilBertConfig",
                   {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 200}, ("sdpa", "eager")),
    "electra_tokens": ("ElectraForTokenClassification", "ElectraConfig", {**SIZES, "embedding_size": 32},
                       ("sdpa", "eager")),
    "roberta": ("RobertaModel", "RobertaConfig", COUNTED, ("sdpa", "eager")),
    "xlm_roberta": ("XLMRobertaModel", "XLMRobertaConfig", COUNTED, ("sdpa", "eager")),
    "xlm_roberta_ranks": ("XLMRobertaForSequenceClassification", "XLMRobertaConfig", {**COUNTED, "num_labels": 1},
                          ("sdpa", "eager")),
    "mpnet": ("MPNetModel", "MPNetConfig", COUNTED, ("eager",)),
    "modernbert": ("ModernBertModel", "ModernBertConfig",
                   {**SIZES, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
                    "sep_token_id": 2, "local_attention": 16, "global_attn_every_n_layers": 2}, ("sdpa", "eager")),
    "t5": ("T5EncoderModel", "T5Config",
           {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 200},
           ("sdpa", "eager")),
    "deberta_v2": ("DebertaV2Model", "DebertaV2Config",
                   {**SIZES, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 32,
                    "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False,
                    "type_vocab_size": 0}, ("eager",)),
}


def batch(holes: bool = False) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    mask = (np.arange(20)[None, :] < np.array([[20], [12], [5]])).astype(np.int64)
    if holes:
        mask[:, 1:] *= random.integers(0, 4, mask[:, 1:].shape) > 0
    return {"input_ids": np.where(mask == 1, random.integers(3, 190, mask.shape), 1), "attention_mask": mask}


def export(name: str, attention: str, form: str, file: pathlib.Path) -> None:
    import torch
    import transformers

    model_class, configuration, arguments, _ = NETWORKS[name]
    config = getattr(transformers, configuration)(**arguments)
    config._attn_implementation = attention
    torch.manual_seed(1)
    network = getattr(transformers, model_class)(config).eval()
    for weights in network.parameters():
        if weights.dim() >= 2:
            torch.nn.init.normal_(weights, std=0.08)

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, input_ids, attention_mask):
            return self.network(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)[0]

    given = tuple(torch.from_numpy(values) for values in batch().values())
    names = {"input_names": list(batch()), "output_names": ["result"]}
    axes = {0: "batch", 1: "tokens"}
    with torch.no_grad():
        first = First().eval()
        if form == "dynamo":
            sizes = {0: torch.export.Dim("batch", min=1, max=4096), 1: torch.export.Dim("tokens", min=2, max=128)}
            torch.onnx.export(first, given, file, dynamo=True, dynamic_shapes=(sizes, sizes), external_data=False, **names)
            return
        of_result = axes if first(*given).dim() == 3 else {0: "batch"}
        torch.onnx.export(first, given, file, dynamo=False, opset_version=17, **names,
                          dynamic_axes={"input_ids": axes, "attention_mask": axes, "result": of_result})


def difference(file: pathlib.Path) -> tuple[str, float]:
    """What describe says of padding, and the largest difference from ONNX Runtime."""
    import colonnade
    import onnxruntime

    session = colonnade.Session(file)
    padding = session.model.describe()["padding"]
    peer = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    computed = colonnade.Session(file, padding="compute")
    largest = 0.0
    for feeds in (batch(), batch(holes=True)):
        expected = peer.run(None, feeds)[0]
        found, everywhere = session.run(feeds)["result"], computed.run(feeds)["result"]
        largest = max(largest, float(np.abs(everywhere - expected).max()))
        if expected.ndim == 3 and padding.startswith("left out"):
            expected = expected * feeds["attention_mask"][:, :, None]
        largest = max(largest, float(np.abs(found - expected).max()))
    return padding, largest


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        for attention in NETWORKS[name][3]:
            for form in ("torchscript", "dynamo"):
                file = folder / f"{name}_{attention}_{form}.onnx"
                try:
                    if not file.exists():
                        export(name, attention, form, file)
                    padding, largest = difference(file)
                    print(f"{file.stem:34} {largest:.1e}  {padding}", flush=True)
                except Exception as error:  # an exporter may raise anything; the others are looked at
                    print(f"{file.stem:34} {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
