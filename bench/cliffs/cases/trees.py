# SPDX-License-Identifier: Apache-2.0
"""Ensembles of trees, as scikit-learn's forests and the boosting libraries export them."""
import numpy as np
from onnx import TensorProto, helper

from case import ML, case, x

_FEATURES = 32


def _forest(trees, depth, targets, prefix):
    """Full trees in the attributes of opsets 1 to 4; leaf i of a tree weighs for target i modulo targets."""
    generator = np.random.default_rng(9)
    inner, nodes = (1 << depth) - 1, (1 << (depth + 1)) - 1
    places = range(nodes)
    leaves = [place for place in places if place >= inner]
    found = {"nodes_treeids": [], "nodes_nodeids": [], "nodes_featureids": [], "nodes_modes": [], "nodes_values": [],
             "nodes_truenodeids": [], "nodes_falsenodeids": [], f"{prefix}_treeids": [], f"{prefix}_nodeids": [],
             f"{prefix}_ids": [], f"{prefix}_weights": []}
    for tree in range(trees):
        found["nodes_treeids"] += [tree] * nodes
        found["nodes_nodeids"] += places
        found["nodes_featureids"] += [int(i) for i in generator.integers(0, _FEATURES, nodes)]
        found["nodes_modes"] += ["BRANCH_LEQ" if place < inner else "LEAF" for place in places]
        found["nodes_values"] += [float(i) for i in generator.uniform(-0.5, 0.5, nodes)]
        found["nodes_truenodeids"] += [2 * place + 1 if place < inner else 0 for place in places]
        found["nodes_falsenodeids"] += [2 * place + 2 if place < inner else 0 for place in places]
        found[f"{prefix}_treeids"] += [tree] * len(leaves)
        found[f"{prefix}_nodeids"] += leaves
        found[f"{prefix}_ids"] += [leaf % targets for leaf in leaves]
        found[f"{prefix}_weights"] += [float(i) for i in generator.uniform(0, 1, len(leaves))]
    return found


def _ensemble(trees, depth):
    """Full trees in the tensors of opset 5."""
    generator = np.random.default_rng(10)
    inner, leaves = (1 << depth) - 1, 1 << depth
    first_leaf_parent = (1 << (depth - 1)) - 1
    true, false, true_leaf, false_leaf = [], [], [], []
    for tree in range(trees):
        for place in range(inner):
            parent = place >= first_leaf_parent
            base = tree * leaves - 2 * first_leaf_parent if parent else tree * inner + 1
            true.append(base + 2 * place)
            false.append(base + 2 * place + 1)
            true_leaf.append(int(parent))
            false_leaf.append(int(parent))
    count = trees * inner
    numbers = lambda name, size: helper.make_tensor(name, TensorProto.FLOAT, [size], generator.uniform(-0.5, 0.5, size))
    return {"n_targets": 1, "tree_roots": [tree * inner for tree in range(trees)],
            "nodes_featureids": [int(i) for i in generator.integers(0, _FEATURES, count)],
            "nodes_modes": helper.make_tensor("modes", TensorProto.UINT8, [count], [0] * count),
            "nodes_splits": numbers("splits", count), "nodes_truenodeids": true, "nodes_falsenodeids": false,
            "nodes_trueleafs": true_leaf, "nodes_falseleafs": false_leaf, "leaf_targetids": [0] * (trees * leaves),
            "leaf_weights": numbers("weights", trees * leaves)}


_CLASSES = {"classlabels_int64s": [0, 1, 2], "post_transform": "SOFTMAX"}
CASES = [
    case("TreeEnsembleClassifier", "1000x32, 100 of depth 6", x(1000, _FEATURES), domain=ML, outputs=2,
         **_forest(100, 6, 3, "class"), **_CLASSES),
    case("TreeEnsembleClassifier", "1x32, 100 of depth 6", x(1, _FEATURES), domain=ML, outputs=2,
         **_forest(100, 6, 3, "class"), **_CLASSES),
    case("TreeEnsembleRegressor", "1000x32, 100 of depth 6", x(1000, _FEATURES), domain=ML, n_targets=1,
         **_forest(100, 6, 1, "target")),
    case("TreeEnsembleRegressor", "1x32, 500 of depth 4", x(1, _FEATURES), domain=ML, n_targets=1,
         **_forest(500, 4, 1, "target")),
    case("TreeEnsemble", "1000x32, 100 of depth 6", x(1000, _FEATURES), domain=ML, opset=5, **_ensemble(100, 6)),
]
