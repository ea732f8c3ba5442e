# SPDX-License-Identifier: Apache-2.0
"""Prints what onnxruntime-genai makes of four tokens. Argument: the folder of the decoder."""
import sys

import numpy as np
import onnxruntime_genai

parameters = onnxruntime_genai.GeneratorParams(model := onnxruntime_genai.Model(sys.argv[1]))
parameters.set_search_options(max_length=64, min_length=64)
generator = onnxruntime_genai.Generator(model, parameters)
generator.append_tokens(np.array([[5, 9, 77, 31]], np.int32))
while not generator.is_done():
    generator.generate_next_token()
print([int(token) for token in generator.get_sequence(0)])
