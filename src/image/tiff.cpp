// SPDX-License-Identifier: Apache-2.0
#include <tiffio.h>

#include "image/formats.hpp"

namespace colonnade::images {
namespace {

tmsize_t read_tiff(thandle_t file, void* to, tmsize_t count) {
  if (count < 0) return -1;
  return static_cast<tmsize_t>(static_cast<MemoryFile*>(file)->read(to, static_cast<std::size_t>(count)));
}
tmsize_t write_tiff(thandle_t, void*, tmsize_t) { return -1; }
toff_t seek_tiff(thandle_t file, toff_t offset, int whence) {
  auto& memory = *static_cast<MemoryFile*>(file);
  const auto base = whence == SEEK_CUR ? memory.at : (whence == SEEK_END ? memory.bytes.size() : 0);
  const bool sane = offset <= static_cast<toff_t>(kFarthestSeek);
  return sane && memory.seek(static_cast<std::int64_t>(base + offset)) ? memory.at : static_cast<toff_t>(-1);
}
int close_tiff(thandle_t) { return 0; }
toff_t size_of_tiff(thandle_t file) { return static_cast<MemoryFile*>(file)->bytes.size(); }
int ignore_tiff_message(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace

Image decode_tiff(Bytes bytes) {
  MemoryFile file{bytes};
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                 TIFFOpenOptionsFree);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), 4 * kMostPixels);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), ignore_tiff_message, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_tiff_message, nullptr);
  const std::unique_ptr<TIFF, decltype(&TIFFClose)> tiff(
      TIFFClientOpenExt("image", "rm", &file, read_tiff, write_tiff, seek_tiff, close_tiff, size_of_tiff, nullptr,
                        nullptr, options.get()),
      TIFFClose);
  std::uint32_t width = 0, height = 0;
  if (!tiff || TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0) {
    broken("it is no TIFF image");
  }
  Image image = canvas(width, height, bytes);
  std::vector<std::uint32_t> abgr(image.rgb.size() / 3);
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, abgr.data(), ORIENTATION_TOPLEFT, 1) == 0) {
    broken("its TIFF data are damaged or of a form that is not supported");
  }
  for (std::size_t i = 0; i < abgr.size(); ++i) {
    image.rgb[3 * i] = static_cast<std::uint8_t>(TIFFGetR(abgr[i]));
    image.rgb[3 * i + 1] = static_cast<std::uint8_t>(TIFFGetG(abgr[i]));
    image.rgb[3 * i + 2] = static_cast<std::uint8_t>(TIFFGetB(abgr[i]));
  }
  return image;
}

}  // namespace colonnade::images
