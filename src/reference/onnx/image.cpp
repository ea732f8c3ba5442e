// SPDX-License-Identifier: Apache-2.0
// ImageDecoder: image files as [height, width, channels] of bytes.
#include "image/image.hpp"

#include "base/error.hpp"
#include "base/printable.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

enum class Pixels : std::uint8_t { rgb, bgr, gray };

Pixels pixels_of(const Opaque& op) {
  const std::string name = op.string_or("pixel_format", "RGB");
  if (name == "RGB") return Pixels::rgb;
  if (name == "BGR") return Pixels::bgr;
  if (name == "Grayscale") return Pixels::gray;
  fail(ErrorCode::invalid_model, "attribute 'pixel_format': '{}' does not exist", printable(name));
}

Types infer_decoder(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank(0, 1);
  ctx.dtype_is(0, DType::u8);
  return {{DType::u8, Shape{kUnknownDim, kUnknownDim, pixels_of(op) == Pixels::gray ? 1 : 3}}};
}

/// Luma of ITU-R 601 in 16 bits of fraction.
std::uint8_t gray_of(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
}

Data evaluate_decoder(const Opaque& op, const Call& call) {
  images::Image image;
  try {
    image = images::decode_image(call.input(0).values<std::uint8_t>());
  } catch (const Error& error) {
    call.invalid("the image is not usable: {}", error.what());
  }
  const Pixels form = pixels_of(op);
  Tensor y(DType::u8, {image.height, image.width, form == Pixels::gray ? 1 : 3});
  std::uint8_t* to = y.values<std::uint8_t>().data();
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    const std::uint8_t* rgb = image.rgb.data() + i;
    if (form == Pixels::gray) {
      *to++ = gray_of(rgb);
    } else {
      for (std::size_t c = 0; c < 3; ++c) *to++ = rgb[form == Pixels::rgb ? c : 2 - c];
    }
  }
  return {std::move(y)};
}

}  // namespace

constexpr Definition kImageDecoder{"ImageDecoder", infer_decoder, evaluate_decoder};

}  // namespace colonnade::reference
