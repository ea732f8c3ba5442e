# SPDX-License-Identifier: Apache-2.0
ABOUT = "where there is speech in 20 s of sound, piece by piece (weights shipped)"
NEEDS = ["silero_vad", "torch"]


def prepare(made):
    import torch
    from drawn import speech
    from silero_vad import get_speech_timestamps, load_silero_vad

    model, sound = load_silero_vad(onnx=True), torch.from_numpy(speech())

    def call():
        model.reset_states()
        return [get_speech_timestamps(sound, model), model.audio_forward(sound[None, :32000], 16000).numpy()]

    return call
