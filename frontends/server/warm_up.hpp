// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontends/server/model.hpp"
#include "frontends/server/repository.hpp"

namespace colonnade::serve {

/// Runs what the configuration's `model_warmup` asks for on every instance. Without it, when all dimensions but the
/// batch's are known, one sample of zeros on one instance, so that plan and weights are there; should the model dislike
/// zeros, nothing is lost. Throws Failure that names the sample.
void warm_up(ServedModel& model, const FoundModel& found);

}  // namespace colonnade::serve
