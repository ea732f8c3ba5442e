// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontends/server/http/infer_request.hpp"
#include "frontends/server/http/message.hpp"

namespace colonnade::serve::http {

/// An answer as the client wants it; binary tensors are sent from where they lie. Throws Failure for what JSON cannot
/// carry.
Response infer_response(const InferenceResponse& answer, const AnswerForm& form);

}  // namespace colonnade::serve::http
