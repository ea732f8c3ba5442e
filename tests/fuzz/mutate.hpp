// SPDX-License-Identifier: Apache-2.0
// Damages protobuf messages by what their fields mean.
#pragma once

#include <google/protobuf/message.h>

#include "fuzz/fuzz.hpp"

namespace colonnade::fuzz {

/// Strings worth trying: names of values, operators, attributes, domains.
using Words = std::vector<std::string>;

/// Changes one field somewhere in the message: another value, an element more, less or elsewhere, a part of `donor`,
/// which has the message's type.
void mutate(google::protobuf::Message& message, const google::protobuf::Message& donor, const Words& words,
            Random& random);

}  // namespace colonnade::fuzz
