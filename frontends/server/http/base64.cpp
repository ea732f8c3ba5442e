// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace colonnade::serve::http {
namespace {

/// OpenSSL counts in int, so long texts go through in blocks: multiples of three bytes, of four letters.
constexpr std::size_t kBlockBytes = std::size_t{3} << 20;

const unsigned char* letters(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* room(std::string& text, std::size_t at) { return reinterpret_cast<unsigned char*>(text.data()) + at; }

/// The decoder itself would skip blanks and line ends.
bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  std::size_t size = 0;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kBlockBytes, bytes.size()))) {
    const std::string_view block = bytes.substr(0, kBlockBytes);
    size += static_cast<std::size_t>(EVP_EncodeBlock(room(out, size), letters(block), static_cast<int>(block.size())));
  }
  out.resize(size);
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const std::string_view payload = text.substr(0, text.size() - padding);
  if (!std::all_of(payload.begin(), payload.end(), is_letter)) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  std::size_t size = 0;
  for (std::size_t at = 0; at < text.size(); at += 4 * kBlockBytes) {
    const std::string_view block = text.substr(at, 4 * kBlockBytes);
    const int count = EVP_DecodeBlock(room(out, size), letters(block), static_cast<int>(block.size()));
    if (count < 0) return std::nullopt;
    size += static_cast<std::size_t>(count);
  }
  out.resize(size - padding);
  return out;
}

}  // namespace colonnade::serve::http
