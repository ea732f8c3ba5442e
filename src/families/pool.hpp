// SPDX-License-Identifier: Apache-2.0
// What families of poolings share.
#pragma once

#include <cstdint>
#include <vector>

namespace colonnade {

/// How many taps of each window count in an average's divisor along one axis.
std::vector<float> tap_counts(std::int64_t outputs, std::int64_t size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t dilation, std::int64_t pad_begin, std::int64_t pad_end, bool include_pad);

}  // namespace colonnade
