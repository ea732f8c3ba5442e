# SPDX-License-Identifier: Apache-2.0
ABOUT = "where there is speech in 20 s of sound (Silero's weights shipped)"
NEEDS = ["faster_whisper"]


def prepare(made):
    from drawn import speech
    from faster_whisper.vad import get_speech_timestamps, get_vad_model

    sound = speech()

    def call():
        odds = get_vad_model()(sound) if sound.size % 512 == 0 else get_vad_model()(sound[: sound.size // 512 * 512])
        return [get_speech_timestamps(sound), odds]

    return call
