# SPDX-License-Identifier: Apache-2.0
ABOUT = "boosted trees of LightGBM and XGBoost, 500 rows"
NEEDS = ["onnxmltools", "lightgbm", "xgboost"]


def make(folder):
    import os
    import pickle

    import lightgbm
    import numpy
    import onnxmltools
    import xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    path = os.path.join(folder, "onnxmltools.made")
    if not os.path.exists(path):
        random = numpy.random.default_rng(0)
        x = random.standard_normal((2000, 16)).astype(numpy.float32)
        y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(int)
        kind = [("input", FloatTensorType([None, 16]))]
        one = lightgbm.LGBMClassifier(n_estimators=100, verbose=-1).fit(x, y)
        two = xgboost.XGBClassifier(n_estimators=100, max_depth=6).fit(x, y)
        models = [onnxmltools.convert_lightgbm(one, initial_types=kind, target_opset=15)]
        models += [onnxmltools.convert_xgboost(two, initial_types=kind, target_opset=15)]
        with open(path, "wb") as file:
            pickle.dump(([model.SerializeToString() for model in models], x[:500]), file)
    with open(path, "rb") as file:
        return pickle.load(file)


def prepare(made):
    import onnxruntime

    models, x = made
    sessions = [onnxruntime.InferenceSession(model) for model in models]
    return lambda: [session.run(None, {"input": x}) for session in sessions]
