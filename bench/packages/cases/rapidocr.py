# SPDX-License-Identifier: Apache-2.0
ABOUT = "finds and reads four lines of text, three networks (weights shipped)"
NEEDS = ["rapidocr_onnxruntime"]


def prepare(made):
    import numpy
    from drawn import page
    from rapidocr_onnxruntime import RapidOCR

    engine, image = RapidOCR(), numpy.asarray(page())[..., ::-1]

    def call():
        found, _ = engine(image)
        return [(numpy.array(box, float), text, float(score)) for box, text, score in found]

    return call
