# SPDX-License-Identifier: Apache-2.0
"""A text encoder of MiniLM's form with random weights, with the files that packages look for beside it."""
import pathlib
import string
import sys

TEXTS = ["Rows of one intermediate tensor in a column.", "Which engine runs this model?", "rings and heads " * 12]
TEXTS += [f"the {i} th short text of many" for i in range(13)]


def words() -> dict[str, int]:
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.ascii_lowercase, *string.digits, *".,?"]
    known += ["##" + letter for letter in string.ascii_lowercase + string.digits]
    known += ["the", "of", "and", "text", "rows", "engine", "runs", "this", "model", "short", "many"]
    return {word: index for index, word in enumerate(known)}


def make(folder: str) -> str:
    """The folder with model.onnx, which takes three inputs and gives the state of every token."""
    import onnx
    from onnx import TensorProto, helper
    from tokenizers import BertWordPieceTokenizer

    place = pathlib.Path(folder) / "encoder"
    if (place / "model.onnx").exists():
        return str(place)
    place.mkdir()
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "choices"))
    import encoders

    layers, _, width, heads, deep = encoders.ENCODERS["minilm_s128"]
    graph = encoders.Graph(1, width, heads)
    x, mask = graph.embedding(), graph.mask_of_scores()
    for _ in range(layers):
        x = graph.layer(x, deep, mask)
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in ("input_ids", "attention_mask", "token_type_ids")]
    outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", "tokens", width])]
    onnx.save(graph.model_of("encoder", inputs, outputs), place / "model.onnx")
    tokenizer = BertWordPieceTokenizer(words(), lowercase=True)
    tokenizer.enable_truncation(256)
    tokenizer.save(str(place / "tokenizer.json"))
    (place / "vocab.txt").write_text("\n".join(words()))
    (place / "config.json").write_text('{"pad_token_id": 0, "hidden_size": 384, "model_type": "bert"}')
    (place / "tokenizer_config.json").write_text('{"max_length": 256, "model_max_length": 256, "pad_token": "[PAD]"}')
    special = '{"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}'
    (place / "special_tokens_map.json").write_text(special)
    return str(place)
