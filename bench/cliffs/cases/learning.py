# SPDX-License-Identifier: Apache-2.0
"""ai.onnx.ml but for its trees: what scikit-learn's models become."""
import numpy as np

from case import ML, case, integers, made, x

_FEATURES, _VECTORS = 32, 200


def _numbers(count, low=-1.0, high=1.0):
    return [float(number) for number in np.random.default_rng(7).uniform(low, high, count)]


def _missing(_):
    numbers = np.random.default_rng(8).uniform(-1, 1, (1000, _FEATURES)).astype(np.float32)
    numbers[::7] = np.nan
    return numbers


def _machine(kernel):
    return {"kernel_type": kernel, "kernel_params": [0.1, 0.5, 2.0], "support_vectors": _numbers(_VECTORS * _FEATURES),
            "rho": _numbers(3)}


_CLASSES = {"classlabels_ints": [0, 1, 2]}
CASES = [
    case("ArrayFeatureExtractor", "1000x32 of 8", x(1000, 32), made(lambda _: np.arange(8)), domain=ML, opset=1),
    case("Binarizer", "1000x32", x(1000, 32), domain=ML, opset=1, threshold=0.1),
    case("CategoryMapper", "1000 int64 to text", integers(1000, 1), domain=ML, opset=1, cats_int64s=list(range(10)),
         cats_strings=[f"class {i}" for i in range(10)]),
    case("CastMap", "100 entries", made(lambda _: {i: float(i) for i in range(100)}), domain=ML, opset=1, cast_to="TO_FLOAT"),
    case("DictVectorizer", "10 entries", made(lambda _: {i: float(i) for i in range(10)}), domain=ML, opset=1,
         int64_vocabulary=list(range(20))),
    case("FeatureVectorizer", "1000x32 and 1000x8", x(1000, 32), x(1000, 8), domain=ML, opset=1, inputdimensions=[32, 8]),
    case("Imputer", "1000x32", made(_missing), domain=ML, opset=1, imputed_value_floats=_numbers(_FEATURES),
         replaced_value_float=float("nan")),
    case("LabelEncoder", "1000 int64", integers(1000), domain=ML, opset=2, keys_int64s=list(range(10)),
         values_int64s=list(range(10, 20))),
    case("LabelEncoder", "1000 int64 to float", integers(1000), domain=ML, opset=2, keys_int64s=list(range(10)),
         values_floats=_numbers(10)),
    case("LinearClassifier", "1000x32 of 3", x(1000, 32), domain=ML, opset=1, outputs=2, coefficients=_numbers(96),
         intercepts=_numbers(3), post_transform="SOFTMAX", **_CLASSES),
    case("LinearClassifier", "1x32 of 2", x(1, 32), domain=ML, opset=1, outputs=2, coefficients=_numbers(64),
         intercepts=_numbers(2), post_transform="LOGISTIC", classlabels_ints=[0, 1]),
    case("LinearRegressor", "1000x32", x(1000, 32), domain=ML, opset=1, coefficients=_numbers(32), intercepts=_numbers(1)),
    case("Normalizer", "1000x32 L2", x(1000, 32), domain=ML, opset=1, norm="L2"),
    case("Normalizer", "1000x32 L1", x(1000, 32), domain=ML, opset=1, norm="L1"),
    case("Normalizer", "1000x32 max", x(1000, 32, low=0.1), domain=ML, opset=1, norm="MAX"),
    case("OneHotEncoder", "1000 of 10", integers(1000), domain=ML, opset=1, cats_int64s=list(range(10))),
    case("Scaler", "1000x32", x(1000, 32), domain=ML, opset=1, offset=_numbers(_FEATURES), scale=_numbers(_FEATURES, 0.5, 2)),
    case("SVMClassifier", "100x32 RBF", x(100, 32), domain=ML, opset=1, outputs=2, vectors_per_class=[80, 70, 50],
         coefficients=_numbers(2 * _VECTORS), **_CLASSES, **_machine("RBF")),
    case("SVMClassifier", "100x32 polynomial", x(100, 32), domain=ML, opset=1, outputs=2, vectors_per_class=[80, 70, 50],
         coefficients=_numbers(2 * _VECTORS), **_CLASSES, **_machine("POLY")),
    case("SVMRegressor", "100x32 RBF", x(100, 32), domain=ML, opset=1, n_supports=_VECTORS, coefficients=_numbers(_VECTORS),
         **{**_machine("RBF"), "rho": [0.5]}),
    case("SVMRegressor", "100x32 linear", x(100, 32), domain=ML, opset=1, n_supports=_VECTORS, coefficients=_numbers(_VECTORS),
         **{**_machine("LINEAR"), "rho": [0.5]}),
    case("ZipMap", "100x3", x(100, 3), domain=ML, opset=1, classlabels_int64s=[0, 1, 2]),
]
