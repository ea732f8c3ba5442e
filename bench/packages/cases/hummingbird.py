# SPDX-License-Identifier: Apache-2.0
ABOUT = "a forest of scikit-learn as products of matrices, 500 rows"
NEEDS = ["hummingbird", "torch", "sklearn"]


def prepare(made):
    import functools

    import numpy
    import torch
    from hummingbird.ml import convert
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier

    x, y = make_classification(1000, 20, n_informative=8, n_classes=3, random_state=0)
    x = x.astype(numpy.float32)
    forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(x, y)
    torch.onnx.export = functools.partial(torch.onnx.export, dynamo=False)  # the exporter that the package was written for
    model = convert(forest, "onnx", x[:500])
    return lambda: [model.predict(x[:500]), model.predict_proba(x[:500])]
