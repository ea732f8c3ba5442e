# SPDX-License-Identifier: Apache-2.0
ABOUT = "resamples and makes spectra of 10 s of sound, four kinds (networks shipped)"
NEEDS = ["onnx_asr"]


def prepare(made):
    import numpy
    from drawn import speech
    from onnx_asr.preprocessors import preprocessor, resampler

    sound = speech(10)[None]
    options = {"providers": ["CPUExecutionProvider"]}
    kinds = [preprocessor.OnnxPreprocessor(name, options) for name in ("nemo80", "whisper80", "kaldi", "gigaam_v2")]
    sampler = resampler.Resampler(16000, options)
    length = numpy.array([sound.shape[1]], numpy.int64)

    def call():
        waves, lengths = sampler(sound, length, 48000)
        return [list(kind(sound, length)) for kind in kinds] + [waves, lengths]

    return call
