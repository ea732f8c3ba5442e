# SPDX-License-Identifier: Apache-2.0
ABOUT = "nine models of scikit-learn, 200 rows each"
NEEDS = ["skl2onnx", "sklearn"]


def make(folder):
    import os
    import pickle

    import numpy
    from skl2onnx import to_onnx
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    path = os.path.join(folder, "skl2onnx.made")
    if not os.path.exists(path):
        x, y = make_classification(1200, 20, n_informative=8, n_classes=3, random_state=0)
        x = x.astype(numpy.float32)
        kinds = [LogisticRegression(max_iter=500), LinearRegression(), DecisionTreeClassifier(random_state=0)]
        kinds += [RandomForestClassifier(50, random_state=0), GradientBoostingClassifier(n_estimators=20, random_state=0)]
        kinds += [SVC(), KNeighborsClassifier(), GaussianNB()]
        kinds += [MLPClassifier((64, 32), max_iter=60, random_state=0)]
        fitted = [make_pipeline(StandardScaler(), kind).fit(x, y) for kind in kinds]
        models = [to_onnx(kind, x[:1], target_opset=18).SerializeToString() for kind in fitted]
        with open(path, "wb") as file:
            pickle.dump((models, x[:200]), file)
    with open(path, "rb") as file:
        return pickle.load(file)


def prepare(made):
    import onnxruntime

    models, x = made
    sessions = [onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]) for model in models]
    return lambda: [session.run(None, {"X": x}) for session in sessions]
