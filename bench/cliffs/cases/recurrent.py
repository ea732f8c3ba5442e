# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers: what PyTorch, TensorFlow and the tracker of a speech model export."""
from case import MICROSOFT, case, given, integers, known, w, x

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_LENGTHS = given([100, 95, 90, 80, 75, 60, 40, 20], "int32")


def _weights(name, size, hidden, directions=1, dtype="float32"):
    gates = _GATES[name] * hidden
    return (w(directions, gates, size, dtype=dtype), w(directions, gates, hidden, dtype=dtype),
            w(directions, 2 * gates, dtype=dtype))


def _states(name, batch, hidden, directions=1):
    return (x(directions, batch, hidden),) * (2 if name == "LSTM" else 1)


def _cases(name):
    count = 3 if name == "LSTM" else 2
    pytorch = {"linear_before_reset": 1} if name == "GRU" else {}
    yield case(name, "100x1x128 to 128", x(100, 1, 128), *_weights(name, 128, 128), outputs=count, hidden_size=128, **pytorch)
    yield case(name, "100x8x128 to 256 lengths", x(100, 8, 128), *_weights(name, 128, 256), _LENGTHS,
               *_states(name, 8, 256), outputs=count, hidden_size=256, **pytorch)
    yield case(name, "100x1x256 both ways", x(100, 1, 256), *_weights(name, 256, 256, 2), None, *_states(name, 1, 256, 2),
               outputs=count, hidden_size=256, direction="bidirectional", **pytorch)
    yield case(name, "one step 1x1x512", x(1, 1, 512), *_weights(name, 512, 512), None, *_states(name, 1, 512),
               outputs=count, hidden_size=512, **pytorch)
    yield case(name, "8x50x64 to 64 batch first", x(8, 50, 64), *_weights(name, 64, 64), outputs=count, hidden_size=64,
               layout=1, **pytorch)
    yield case(name, "50x1x64 reverse, clip", x(50, 1, 64), *_weights(name, 64, 64), outputs=count, hidden_size=64,
               direction="reverse", clip=3.0, **pytorch)
    yield case(name, "20x1x64 float64", x(20, 1, 64, dtype="float64"), *_weights(name, 64, 64, dtype="float64"),
               outputs=count, hidden_size=64, **pytorch)


CASES = [each for name in _GATES for each in _cases(name)]
CASES += [
    case("GRU", "100x1x128 Keras", x(100, 1, 128), *_weights("GRU", 128, 128), outputs=2, hidden_size=128,
         linear_before_reset=0),
    case("LSTM", "50x1x128 peepholes", x(50, 1, 128), *_weights("LSTM", 128, 128), None, *_states("LSTM", 1, 128),
         w(1, 384), outputs=3, hidden_size=128),
    case("LSTM", "50x1x128 hard sigmoid", x(50, 1, 128), *_weights("LSTM", 128, 128), outputs=3, hidden_size=128,
         activations=["HardSigmoid", "Tanh", "Tanh"], activation_alpha=[0.2], activation_beta=[0.5]),
    case("RNN", "50x1x128 relu", x(50, 1, 128), *_weights("RNN", 128, 128), outputs=2, hidden_size=128, activations=["Relu"]),
    case("DynamicQuantizeLSTM", "50x1x128", x(50, 1, 128),
         integers(1, 128, 512, low=-99, high=99, dtype="int8", constant=True),
         integers(1, 128, 512, low=-99, high=99, dtype="int8", constant=True), w(1, 1024), None, None, None, None,
         known([0.002], "float32"), known([0], "int8"), known([0.002], "float32"), known([0], "int8"), domain=MICROSOFT,
         outputs=3, hidden_size=128, error=0.05),
]
