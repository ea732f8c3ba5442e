// SPDX-License-Identifier: Apache-2.0
#include <openjpeg.h>

#include "image/formats.hpp"

namespace colonnade::images {
namespace {

OPJ_SIZE_T read_jpeg2000(void* to, OPJ_SIZE_T count, void* file) {
  const std::size_t taken = static_cast<MemoryFile*>(file)->read(to, count);
  return taken == 0 ? static_cast<OPJ_SIZE_T>(-1) : taken;
}
OPJ_OFF_T skip_jpeg2000(OPJ_OFF_T count, void* file) {
  auto& memory = *static_cast<MemoryFile*>(file);
  const bool sane = count >= -kFarthestSeek && count <= kFarthestSeek;
  return sane && memory.seek(static_cast<std::int64_t>(memory.at) + count) ? count : -1;
}
OPJ_BOOL seek_jpeg2000(OPJ_OFF_T position, void* file) {
  return static_cast<MemoryFile*>(file)->seek(position) ? OPJ_TRUE : OPJ_FALSE;
}
void ignore_jpeg2000_message(const char*, void*) {}

/// A component's sample as a byte.
std::uint8_t level_of(const opj_image_comp_t& component, std::size_t at) {
  const std::int64_t value = component.data[at] + (component.sgnd != 0 ? std::int64_t{1} << (component.prec - 1) : 0);
  const std::int64_t peak = (std::int64_t{1} << component.prec) - 1;
  return static_cast<std::uint8_t>((std::clamp<std::int64_t>(value, 0, peak) * 255 + peak / 2) / peak);
}

void take_components(const opj_image_t& decoded, Image& image) {
  const std::uint32_t used = decoded.numcomps >= 3 ? 3 : 1;
  for (std::uint32_t c = 0; c < used; ++c) {
    const opj_image_comp_t& component = decoded.comps[c];
    const bool whole = component.w == static_cast<std::uint32_t>(image.width) &&
                       component.h == static_cast<std::uint32_t>(image.height);
    if (!whole || component.data == nullptr || component.prec < 1 || component.prec > 31) {
      broken("its form of JPEG 2000 is not supported");
    }
    for (std::size_t i = 0; i < image.rgb.size() / 3; ++i) {
      const std::uint8_t level = level_of(component, i);
      image.rgb[3 * i + c] = level;
      if (used == 1) image.rgb[3 * i + 1] = image.rgb[3 * i + 2] = level;
    }
  }
}

struct ImageDeleter {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

}  // namespace

Image decode_jpeg2000(Bytes bytes) {
  MemoryFile file{bytes};
  const std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)> stream(opj_stream_default_create(OPJ_TRUE),
                                                                            opj_stream_destroy);
  opj_stream_set_user_data(stream.get(), &file, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), read_jpeg2000);
  opj_stream_set_skip_function(stream.get(), skip_jpeg2000);
  opj_stream_set_seek_function(stream.get(), seek_jpeg2000);
  const bool boxed = bytes[0] == 0;
  const std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)> codec(
      opj_create_decompress(boxed ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K), opj_destroy_codec);
  opj_set_error_handler(codec.get(), ignore_jpeg2000_message, nullptr);
  opj_set_warning_handler(codec.get(), ignore_jpeg2000_message, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* made = nullptr;
  const bool has_header =
      opj_setup_decoder(codec.get(), &parameters) != 0 && opj_read_header(stream.get(), codec.get(), &made) != 0;
  const std::unique_ptr<opj_image_t, ImageDeleter> decoded(made);
  if (!has_header || !decoded || decoded->numcomps == 0) broken("it is no JPEG 2000 image");
  Image image = canvas(std::int64_t{decoded->x1} - decoded->x0, std::int64_t{decoded->y1} - decoded->y0, bytes);
  if (opj_decode(codec.get(), stream.get(), decoded.get()) == 0) broken("its JPEG 2000 data are damaged");
  take_components(*decoded, image);
  return image;
}

}  // namespace colonnade::images
