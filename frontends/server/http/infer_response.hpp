// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontends/server/http/infer_request.hpp"
#include "frontends/server/http/message.hpp"

namespace colonnade::serve::http {

/// Of the tensors of an answer, what is copied; those that become text count more, by what that takes.
std::size_t copied_bytes(const InferenceResponse& answer, const AnswerForm& form);

/// An answer as the client wants it; binary tensors are sent from where they lie. Throws Failure for what JSON cannot
/// carry.
Response infer_response(const InferenceResponse& answer, const AnswerForm& form);

}  // namespace colonnade::serve::http
