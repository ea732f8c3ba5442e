// SPDX-License-Identifier: Apache-2.0
// The last steps of an answer: its coding and its head.
#pragma once

#include <string>

#include "frontends/server/http/compression.hpp"
#include "frontends/server/http/message.hpp"

namespace colonnade::serve::http {

/// What a client takes.
struct Accepting {
  Coding coding = Coding::identity;
};
Accepting accepting_of(const Request& request);

/// Compresses the body, once, if the client takes it and it is worth it.
void encode(Response& response, const Accepting& accepting);
/// What is sent before the body.
std::string head_of(const Response& response, bool keep_alive);

}  // namespace colonnade::serve::http
