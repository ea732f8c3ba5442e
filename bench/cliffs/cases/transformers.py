# SPDX-License-Identifier: Apache-2.0
"""Attention and what surrounds it, in one node."""
import numpy as np

from case import MICROSOFT, case, given, integers, known, w, x

_HEADS = {"domain": MICROSOFT, "num_heads": 12}
_GATED = {"domain": MICROSOFT, "qk_l2_norm": 1, "gate_activation": "softplus", "beta_activation": "sigmoid"}
_MIXED = {"domain": MICROSOFT, "normalize_routing_weights": 1, "activation_type": "swiglu", "swiglu_fusion": 1}


def _angles(rows, columns):
    return (w(rows, columns, low=-1, high=1),) * 2


def _linear(tokens):
    """Query, key, value, state, decay and update rate of 16 heads of 64 whose queries are eight."""
    return (x(1, tokens, 512), x(1, tokens, 1024, low=-0.1, high=0.1), x(1, tokens, 1024), x(1, 16, 64, 64),
            x(1, tokens, 16, low=-2, high=0), x(1, tokens, 16, low=0, high=1))


def _delta(tokens):
    """The same, whose state lies the other way round and whose gates are inside."""
    return (x(1, tokens, 8, 64), x(1, tokens, 8, 64), x(1, tokens, 16, 64), None, x(1, tokens, 16), x(1, tokens, 16),
            x(1, 16, 64, 64), w(16), w(16))


def _bytes(*shape):
    return integers(*shape, high=255, dtype="uint8", constant=True)


def _experts(tokens, experts, bits=0):
    """Tokens and a router's numbers, and both products of experts of 512 elements, of floats or of numbers of so many bits."""
    def matrix(rows):
        if not bits:
            return w(experts, rows, 512), None
        return (_bytes(experts, rows, 512 * bits // 8), w(experts, rows, 16, low=0.001, high=0.01), None)
    return x(tokens, 512), x(tokens, experts), *matrix(1024), *matrix(512)


def _scale(value=0.01):
    return known(value, "float32")


CASES = [
    case("Attention", "1x12x128x64", *(x(1, 12, 128, 64),) * 3, opset=23),
    case("Attention", "1x128x768 causal", *(x(1, 128, 768),) * 3, opset=23, q_num_heads=12, kv_num_heads=12, is_causal=1),
    case("Attention", "one query, cache of 128", x(1, 12, 1, 64), x(1, 4, 1, 64), x(1, 4, 1, 64), None, x(1, 4, 127, 64),
         x(1, 4, 127, 64), opset=23, outputs=3),
    case("RotaryEmbedding", "1x128x12x64", x(1, 12, 128, 64), *_angles(512, 32), integers(1, 128, high=512), opset=23),
    case("RotaryEmbedding", "1x128x768 interleaved", x(1, 128, 768), *_angles(512, 32), integers(1, 128, high=512), opset=23,
         num_heads=12, interleaved=1),
    case("LinearAttention", "1x64x4x32", x(1, 64, 128), x(1, 64, 128), x(1, 64, 128), opset=27, outputs=2, q_num_heads=4,
         kv_num_heads=4, update_rule="linear"),
    case("Attention", "1x128x768", x(1, 128, 768), w(768, 2304), w(2304), **_HEADS),
    case("Attention", "1x128x768 mask", x(1, 128, 768), w(768, 2304), w(2304), given(np.ones((1, 128)), "int32"), **_HEADS),
    case("MultiHeadAttention", "1x128x768", *(x(1, 128, 768),) * 3, w(2304), **_HEADS),
    case("MultiHeadAttention", "1x1x768 by 128", x(1, 1, 768), x(1, 128, 768), x(1, 128, 768), **_HEADS),
    case("DecoderMaskedMultiHeadAttention", "cache of 128", *(x(1, 1, 768),) * 3, None, None, x(1, 12, 127, 64),
         x(1, 12, 127, 64), outputs=3, **_HEADS),
    case("GroupQueryAttention", "prompt of 128", x(1, 128, 768), x(1, 128, 256), x(1, 128, 256), x(1, 4, 0, 64),
         x(1, 4, 0, 64), given([127], "int32"), given(128, "int32"), outputs=3, kv_num_heads=4, **_HEADS),
    case("GroupQueryAttention", "cache of 128", x(1, 1, 768), x(1, 1, 256), x(1, 1, 256), x(1, 4, 127, 64),
         x(1, 4, 127, 64), given([127], "int32"), given(128, "int32"), outputs=3, kv_num_heads=4, **_HEADS),
    case("GroupQueryAttention", "prompt of 128, sinks", x(1, 128, 768), x(1, 128, 256), x(1, 128, 256), x(1, 4, 0, 64),
         x(1, 4, 0, 64), given([127], "int32"), given(128, "int32"), *(None,) * 4, w(12), outputs=3, kv_num_heads=4,
         local_window_size=64, **_HEADS),
    case("QAttention", "1x128x768", integers(1, 128, 768, high=255, dtype="uint8"), _bytes(768, 2304), w(2304), _scale(),
         _scale(0.001), None, known(128, "uint8"), known(128, "uint8"), error=0.02, **_HEADS),
    case("EmbedLayerNormalization", "1x128x768", integers(1, 128, high=1000, dtype="int32"),
         integers(1, 128, high=2, dtype="int32"), w(1000, 768), w(512, 768), w(2, 768), w(768), w(768),
         given(np.ones((1, 128)), "int32"), domain=MICROSOFT, outputs=2),
    case("QEmbedLayerNormalization", "1x128x768", integers(1, 128, high=1000, dtype="int32"),
         integers(1, 128, high=2, dtype="int32"), _bytes(1000, 768), _bytes(512, 768), _bytes(2, 768), _bytes(768),
         _bytes(768), None, *(_scale(),) * 5, *(known(128, "uint8"),) * 5, domain=MICROSOFT, outputs=2, error=1e-3),
    case("RotaryEmbedding", "1x128x768", x(1, 128, 768), integers(1, 128, high=512), *_angles(512, 32), domain=MICROSOFT),
    case("MRotaryEmbedding", "1x128x768", x(1, 128, 768), integers(3, 1, 128, high=512), *_angles(512, 32), domain=MICROSOFT,
         num_heads=12, mrope_section=[12, 10, 10], mrope_layout=1),
    case("LinearAttention", "prompt of 64", *_linear(64), domain=MICROSOFT, outputs=2, q_num_heads=8, kv_num_heads=16),
    case("LinearAttention", "one token", *_linear(1), domain=MICROSOFT, outputs=2, q_num_heads=8, kv_num_heads=16),
    case("LinearAttentionGate", "1x128x16", x(1, 128, 16), w(16), w(16), x(1, 128, 16), domain=MICROSOFT, outputs=2),
    case("GatedDeltaNet", "prompt of 64", *_delta(64), outputs=2, **_GATED),
    case("GatedDeltaNet", "one token", *_delta(1), outputs=2, **_GATED),
    case("MoE", "128x512, 2 of 8 of 512", *_experts(128, 8), k=2, **_MIXED),
    case("MoE", "1x512, 2 of 8 of 512", *_experts(1, 8), k=2, **_MIXED),
    case("QMoE", "128x512, 4 of 32 of 512", *_experts(128, 32, 4), k=4, block_size=32, **_MIXED),
    case("QMoE", "1x512, 4 of 32 of 512", *_experts(1, 32, 4), k=4, block_size=32, **_MIXED),
    case("QMoE", "128x512, int8 rows", *_experts(128, 32, 4), k=4, block_size=32, accuracy_level=4, error=0.03, **_MIXED),
    case("QMoE", "1x512, int8 rows", *_experts(1, 32, 4), k=4, block_size=32, accuracy_level=4, error=0.03, **_MIXED),
]
