// SPDX-License-Identifier: Apache-2.0
#include <cstdio>  // jpeglib.h needs FILE declared first
//
#include <jpeglib.h>

#include <array>
#include <csetjmp>

#include "base/checked.hpp"
#include "image/formats.hpp"

namespace colonnade::images {
namespace {

/// A block of 64 pixels takes a bit at least; components may have a sixteenth of the pixels.
constexpr std::int64_t kPixelsPerByte = 8 * 64 * 16;
/// Each passes over all coefficients, however few bytes it has; usual files have up to a dozen.
constexpr int kMostScans = 100;

struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  std::array<char, JMSG_LENGTH_MAX> message;
};

void escape_from_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  errors->manager.format_message(info, errors->message.data());
  std::longjmp(errors->escape, 1);
}

void ignore_jpeg_message(j_common_ptr, int) {}

void count_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  auto* errors = reinterpret_cast<Errors*>(info->err);
  std::strcpy(errors->message.data(), "it has more than 100 scans");
  std::longjmp(errors->escape, 1);
}

struct Decoder {
  jpeg_decompress_struct info{};
  Errors errors{};
  jpeg_progress_mgr progress{};
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&info); }
};

// The three steps below hold no object with a destructor: libjpeg leaves them by longjmp.
bool read_header(Decoder& decoder, Bytes bytes) {
  decoder.info.err = jpeg_std_error(&decoder.errors.manager);
  decoder.errors.manager.error_exit = escape_from_jpeg;
  decoder.errors.manager.emit_message = ignore_jpeg_message;
  if (setjmp(decoder.errors.escape) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  decoder.progress.progress_monitor = count_scans;
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&decoder.info, TRUE);
  decoder.info.out_color_space = JCS_RGB;
  return true;
}

bool start_rows(Decoder& decoder) {
  if (setjmp(decoder.errors.escape) != 0) return false;
  jpeg_start_decompress(&decoder.info);
  return true;
}

bool read_row(Decoder& decoder, std::uint8_t* rgb) {
  if (setjmp(decoder.errors.escape) != 0) return false;
  jpeg_read_scanlines(&decoder.info, &rgb, 1);
  if (decoder.info.output_scanline == decoder.info.output_height) jpeg_finish_decompress(&decoder.info);
  return true;
}

/// Bytes of the coefficients of all components.
std::int64_t coefficient_bytes(const jpeg_decompress_struct& info) {
  std::int64_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    blocks += round_up(component.width_in_blocks, component.h_samp_factor) *
              round_up(component.height_in_blocks, component.v_samp_factor);
  }
  return blocks * static_cast<std::int64_t>(sizeof(JBLOCK));
}

class JpegRows final : public Rows {
 public:
  JpegRows(Bytes bytes, const Limits& limits) {
    require(read_header(decoder_, bytes));
    width_ = decoder_.info.image_width;
    height_ = decoder_.info.image_height;
    check_size(width_, height_, bytes, limits.pixels, kPixelsPerByte);
    if (jpeg_has_multiple_scans(&decoder_.info) != 0)
      check_held(coefficient_bytes(decoder_.info), limits.held_bytes, "the coefficients of its scans");
  }

  void read(std::span<std::uint8_t> rgb) override {
    if (!started_) require(start_rows(decoder_));
    started_ = true;
    require(read_row(decoder_, rgb.data()));
  }

 private:
  void require(bool done) const {
    if (!done) broken(decoder_.errors.message.data());
  }

  Decoder decoder_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Rows> open_jpeg(Bytes bytes, const Limits& limits) { return std::make_unique<JpegRows>(bytes, limits); }

}  // namespace colonnade::images
