// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

namespace colonnade {

void fail_with(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args));
}

}  // namespace colonnade
