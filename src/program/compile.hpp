// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "families/weights.hpp"
#include "kernels/base/isa.hpp"
#include "plan/plan.hpp"
#include "program/program.hpp"

namespace colonnade {

/// Lowers a plan. Packed weights come from and go to `weights`, which all plans of a model share.
std::shared_ptr<const Program> compile(const Graph& graph, const Plan& plan, kernels::Features features,
                                       WeightStore& weights);

}  // namespace colonnade
