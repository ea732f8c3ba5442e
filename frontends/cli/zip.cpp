// SPDX-License-Identifier: Apache-2.0
#include "zip.hpp"

#include <fmt/core.h>
#include <zip.h>

#include <cstdint>
#include <memory>

#include "colonnade/colonnade.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr std::uint64_t kLargestDeflateRatio = 1032;

template <auto close>
struct Closer {
  template <class T>
  void operator()(T* opened) const {
    close(opened);
  }
};
using Archive = std::unique_ptr<zip_t, Closer<zip_discard>>;
using Entry = std::unique_ptr<zip_file_t, Closer<zip_fclose>>;
using Source = std::unique_ptr<zip_source_t, Closer<zip_source_free>>;

struct ZipError {
  zip_error_t error;
  ZipError() { zip_error_init(&error); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  ~ZipError() { zip_error_fini(&error); }
};

/// Reads the entries of one archive.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {
    if (bytes.empty()) fail("it is empty");  // to libzip an archive of no entries
    ZipError error;
    Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error));
    if (source) archive_.reset(zip_open_from_source(source.get(), ZIP_RDONLY, &error.error));
    if (!archive_) fail(zip_error_strerror(&error.error));
    source.release();  // the archive's now
  }

  std::uint64_t count() const { return static_cast<std::uint64_t>(zip_get_num_entries(archive_.get(), 0)); }

  ZipEntry read(std::uint64_t index) {
    zip_stat_t status;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive_.get(), index, 0, &status) != 0) fail(zip_strerror(archive_.get()));
    if ((status.valid & kNeeded) != kNeeded) fail("malformed directory");
    check(status);
    ZipEntry entry{status.name, std::string(status.size, '\0')};
    const Entry file(zip_fopen_index(archive_.get(), index, 0));
    if (!file) fail(fmt::format("'{}': {}", entry.name, zip_strerror(archive_.get())));
    const zip_int64_t count = zip_fread(file.get(), entry.bytes.data(), entry.bytes.size());
    char behind = 0;
    const bool complete = count == static_cast<zip_int64_t>(status.size) && zip_fread(file.get(), &behind, 1) == 0;
    if (!complete) fail(fmt::format("'{}' is damaged: {}", entry.name, zip_file_strerror(file.get())));
    return entry;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::invalid_input, one_line(fmt::format("'{}' is not a usable zip archive: {}", where_, what)));
  }

  /// Sizes are believed only as far as the archive's own could hold them, of all entries together.
  void check(const zip_stat_t& status) {
    if (status.encryption_method != ZIP_EM_NONE) fail(fmt::format("'{}' is encrypted", status.name));
    const bool deflated = status.comp_method == ZIP_CM_DEFLATE;
    if (!deflated && status.comp_method != ZIP_CM_STORE)
      fail(fmt::format("'{}' uses compression method {}", status.name, status.comp_method));
    const std::uint64_t ratio = deflated ? kLargestDeflateRatio : 1, most = ratio * bytes_.size();
    if (status.comp_size > bytes_.size() || status.size / ratio > status.comp_size ||
        status.size > most - used_[deflated])
      fail(fmt::format("'{}' claims an impossible size", status.name));
    used_[deflated] += status.size;
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  Archive archive_;
  std::uint64_t used_[2] = {0, 0};  ///< bytes of stored and of deflated entries so far
};

[[noreturn]] void fail_to_pack(std::string_view why) {
  throw Error(ErrorCode::io, one_line(fmt::format("cannot write a zip archive: {}", why)));
}

void add(zip_t* archive, const ZipEntry& entry) {
  constexpr zip_uint16_t kFirstOfJanuary1980 = 0x21;
  zip_source_t* const source = zip_source_buffer(archive, entry.bytes.data(), entry.bytes.size(), 0);
  const zip_int64_t index = source ? zip_file_add(archive, entry.name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0) {
    zip_source_free(source);
    fail_to_pack(fmt::format("'{}': {}", entry.name, zip_strerror(archive)));
  }
  const auto at = static_cast<zip_uint64_t>(index);
  if (zip_set_file_compression(archive, at, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, at, 0, kFirstOfJanuary1980, 0) != 0)
    fail_to_pack(zip_strerror(archive));
}

std::string bytes_of(zip_source_t* source) {
  zip_stat_t status;
  if (zip_source_stat(source, &status) != 0 || (status.valid & ZIP_STAT_SIZE) == 0 || zip_source_open(source) != 0)
    fail_to_pack(zip_error_strerror(zip_source_error(source)));
  std::string bytes(status.size, '\0');
  const zip_int64_t count = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  if (count != static_cast<zip_int64_t>(bytes.size())) fail_to_pack("it does not fit memory");
  return bytes;
}

}  // namespace

std::vector<ZipEntry> parse_zip(std::span<const std::byte> archive, const std::string& where) {
  Reader reader(archive, where);
  std::vector<ZipEntry> entries;
  for (std::uint64_t i = 0; i < reader.count(); ++i) entries.push_back(reader.read(i));
  return entries;
}

std::string format_zip(std::span<const ZipEntry> entries) {
  ZipError error;
  const Source source(zip_source_buffer_create(nullptr, 0, 0, &error.error));
  if (!source) fail_to_pack(zip_error_strerror(&error.error));
  Archive archive(zip_open_from_source(source.get(), ZIP_CREATE | ZIP_TRUNCATE, &error.error));
  if (!archive) fail_to_pack(zip_error_strerror(&error.error));
  zip_source_keep(source.get());
  for (const ZipEntry& entry : entries) add(archive.get(), entry);
  if (zip_close(archive.get()) != 0) fail_to_pack(zip_strerror(archive.get()));
  archive.release();
  return bytes_of(source.get());
}

}  // namespace colonnade::cli
