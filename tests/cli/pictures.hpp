// SPDX-License-Identifier: Apache-2.0
// Image files made by libpng and libjpeg.
#pragma once

#include <string>

#include "frontends/image/image.hpp"

namespace colonnade::test {

std::string png_of(const images::Image& image);
std::string jpeg_of(const images::Image& image);

}  // namespace colonnade::test
