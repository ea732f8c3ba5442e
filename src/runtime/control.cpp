// SPDX-License-Identifier: Apache-2.0
#include "runtime/control.hpp"

#include "base/error.hpp"

namespace colonnade {

void RunControl::count_iteration() {
  check();
  if (options_.loop_limit > 0 && ++iterations_ > options_.loop_limit)
    fail(ErrorCode::resource_limit, "the loops of the model want more than the {} iterations that loop_limit allows",
         options_.loop_limit);
}

void RunControl::end() const {
  if (options_.stop.stop_requested()) fail(ErrorCode::cancelled, "the run was cancelled");
  fail(ErrorCode::deadline, "the run did not end by its deadline");
}

}  // namespace colonnade
