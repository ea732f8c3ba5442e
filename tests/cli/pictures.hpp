// SPDX-License-Identifier: Apache-2.0
// Image files made by libpng and libjpeg.
#pragma once

#include <string>

#include "frontends/cli/image.hpp"

namespace colonnade::test {

std::string png_of(const cli::Image& image);
std::string jpeg_of(const cli::Image& image);

}  // namespace colonnade::test
