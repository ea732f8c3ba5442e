// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontends/onnx/custom.hpp"
#include "frontends/onnx/external_data.hpp"
#include "frontends/onnx/format.hpp"
#include "graph/graph.hpp"

namespace colonnade::onnx_import {

/// Checks the model's graph and lowers its nodes. Initializers lose their data as they are converted, so that weights
/// are in memory once. Operators of the program come before those of the table. With `schema` the others are held to
/// what ONNX says of them.
Graph build_graph(onnx::ModelProto& model, ExternalData external, const CustomOperators& operators,
                  bool schema = false);

}  // namespace colonnade::onnx_import
