// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontends/onnx/custom.hpp"
#include "frontends/onnx/external_data.hpp"
#include "frontends/onnx/format.hpp"
#include "frontends/onnx/import_options.hpp"
#include "graph/graph.hpp"

namespace colonnade::onnx_import {

/// Checks the model's graph and lowers its nodes. Initializers lose their data as they are converted, so that weights
/// are in memory once. Operators of the program come before those of the table.
Graph build_graph(onnx::ModelProto& model, ExternalData external, const CustomOperators& operators,
                  const ImportOptions& options = {});

}  // namespace colonnade::onnx_import
