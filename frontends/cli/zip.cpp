// SPDX-License-Identifier: Apache-2.0
#include "zip.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "colonnade/colonnade.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEndRecord = 0x06054b50;
constexpr std::uint32_t kEndRecord64 = 0x06064b50;
constexpr std::uint32_t kEndLocator64 = 0x07064b50;
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kCentralHeaderBytes = 46;
constexpr std::size_t kEndRecordBytes = 22;
constexpr std::size_t kEndRecord64Bytes = 56;
constexpr std::size_t kEndLocator64Bytes = 20;
constexpr std::uint64_t kLargestDeflateRatio = 1032;
constexpr std::uint32_t kMarker32 = 0xffffffff;

/// Little-endian reads that refuse to leave the archive.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::invalid_input, one_line(fmt::format("'{}' is not a usable zip archive: {}", where_, what)));
  }
  std::span<const std::byte> slice(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) fail("truncated");
    return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
  }
  std::uint64_t number(std::uint64_t offset, std::size_t width) const {
    const auto raw = slice(offset, width);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
    return value;
  }
  std::string text(std::uint64_t offset, std::uint64_t count) const {
    const auto raw = slice(offset, count);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
};

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t entries = 0;
};

struct Entry {
  std::string name;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t crc = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t local_offset = 0;
};

std::uint64_t find_end_record(const Reader& reader) {
  if (reader.size() < kEndRecordBytes) reader.fail("truncated");
  const std::uint64_t last = reader.size() - kEndRecordBytes;
  const std::uint64_t first = last > 0xffff ? last - 0xffff : 0;
  for (std::uint64_t at = last + 1; at-- > first;)
    if (reader.number(at, 4) == kEndRecord) return at;
  reader.fail("no end-of-directory record");
}

Directory read_directory(const Reader& reader) {
  const std::uint64_t end = find_end_record(reader);
  Directory directory{reader.number(end + 16, 4), reader.number(end + 10, 2)};
  const bool zip64 = end >= kEndLocator64Bytes && reader.number(end - kEndLocator64Bytes, 4) == kEndLocator64;
  if (!zip64) return directory;
  const std::uint64_t record = reader.number(end - kEndLocator64Bytes + 8, 8);
  reader.slice(record, kEndRecord64Bytes);
  if (reader.number(record, 4) != kEndRecord64) reader.fail("no Zip64 end-of-directory record");
  return {reader.number(record + 48, 8), reader.number(record + 32, 8)};
}

void widen_from_extra(const Reader& reader, std::uint64_t at, std::uint64_t end, Entry& entry) {
  while (at + 4 <= end) {
    const std::uint64_t id = reader.number(at, 2);
    const std::uint64_t field_end = at + 4 + reader.number(at + 2, 2);
    at += 4;
    if (field_end > end) reader.fail("malformed extra field");
    for (std::uint64_t* value : {&entry.bytes, &entry.packed_bytes, &entry.local_offset}) {
      if (id != 1 || *value != kMarker32 || at + 8 > field_end) continue;
      *value = reader.number(at, 8);
      at += 8;
    }
    at = field_end;
  }
}

/// Reads the central header at `at` and moves it past the entry.
Entry read_entry(const Reader& reader, std::uint64_t& at) {
  reader.slice(at, kCentralHeaderBytes);
  if (reader.number(at, 4) != kCentralHeader) reader.fail("malformed directory");
  const std::uint64_t name_bytes = reader.number(at + 28, 2);
  const std::uint64_t extra_bytes = reader.number(at + 30, 2);
  const std::uint64_t comment_bytes = reader.number(at + 32, 2);
  const std::uint64_t extra = at + kCentralHeaderBytes + name_bytes;
  Entry entry{.name = reader.text(at + kCentralHeaderBytes, name_bytes),
              .flags = reader.number(at + 8, 2),
              .method = reader.number(at + 10, 2),
              .crc = reader.number(at + 16, 4),
              .packed_bytes = reader.number(at + 20, 4),
              .bytes = reader.number(at + 24, 4),
              .local_offset = reader.number(at + 42, 4)};
  reader.slice(extra, extra_bytes + comment_bytes);
  widen_from_extra(reader, extra, extra + extra_bytes, entry);
  at = extra + extra_bytes + comment_bytes;
  return entry;
}

std::string inflate_entry(const Reader& reader, const Entry& entry, std::span<const std::byte> packed) {
  if (entry.bytes / kLargestDeflateRatio > packed.size())
    reader.fail(fmt::format("'{}' claims an impossible size", entry.name));
  std::string bytes(static_cast<std::size_t>(entry.bytes), '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) reader.fail("zlib cannot start");
  constexpr std::size_t kLargestPiece = std::numeric_limits<uInt>::max();
  std::size_t read = 0;
  std::size_t written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t in = std::min(kLargestPiece, packed.size() - read);
    const std::size_t out = std::min(kLargestPiece, bytes.size() - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || written != bytes.size()) reader.fail(fmt::format("'{}' does not inflate", entry.name));
  return bytes;
}

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string unpack(const Reader& reader, const Entry& entry) {
  if (entry.flags & 1) reader.fail(fmt::format("'{}' is encrypted", entry.name));
  reader.slice(entry.local_offset, kLocalHeaderBytes);
  if (reader.number(entry.local_offset, 4) != kLocalHeader)
    reader.fail(fmt::format("'{}' has no local header", entry.name));
  const std::uint64_t data = entry.local_offset + kLocalHeaderBytes + reader.number(entry.local_offset + 26, 2) +
                             reader.number(entry.local_offset + 28, 2);
  const auto packed = reader.slice(data, entry.packed_bytes);
  std::string bytes;
  if (entry.method == 0) {
    if (entry.bytes != entry.packed_bytes) reader.fail(fmt::format("'{}' has contradicting sizes", entry.name));
    bytes = reader.text(data, entry.packed_bytes);
  } else if (entry.method == 8) {
    bytes = inflate_entry(reader, entry, packed);
  } else {
    reader.fail(fmt::format("'{}' uses compression method {}", entry.name, entry.method));
  }
  if (crc_of(bytes) != entry.crc) reader.fail(fmt::format("'{}' has a wrong checksum", entry.name));
  return bytes;
}

void append_number(std::string& out, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
}

/// The fields that local and central headers share, from "version needed" to the length of the extra field.
void append_header_fields(std::string& out, const ZipEntry& entry) {
  constexpr std::uint64_t kVersion = 20;
  constexpr std::uint64_t kUtf8Names = 0x800;
  constexpr std::uint64_t kFirstOfJanuary1980 = 0x21;
  append_number(out, kVersion, 2);
  append_number(out, kUtf8Names, 2);
  append_number(out, 0, 4);
  append_number(out, kFirstOfJanuary1980, 2);
  append_number(out, crc_of(entry.bytes), 4);
  append_number(out, entry.bytes.size(), 4);
  append_number(out, entry.bytes.size(), 4);
  append_number(out, entry.name.size(), 2);
  append_number(out, 0, 2);
}

}  // namespace

std::vector<ZipEntry> parse_zip(std::span<const std::byte> archive, const std::string& where) {
  const Reader reader(archive, where);
  const Directory directory = read_directory(reader);
  if (directory.entries > reader.size() / kCentralHeaderBytes) reader.fail("more entries than bytes");
  std::vector<ZipEntry> entries;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const Entry entry = read_entry(reader, at);
    entries.push_back({entry.name, unpack(reader, entry)});
  }
  return entries;
}

std::string format_zip(std::span<const ZipEntry> entries) {
  constexpr std::size_t kLimit = 0xfffffffe;
  std::string out;
  std::string central;
  if (entries.size() > 0xfffe) throw Error(ErrorCode::io, "too many arrays for one .npz file");
  for (const ZipEntry& entry : entries) {
    if (entry.bytes.size() > kLimit || out.size() > kLimit || entry.name.size() > 0xffff)
      throw Error(ErrorCode::io, fmt::format("'{}' is too large for an .npz file; write .npy files", entry.name));
    append_number(central, kCentralHeader, 4);
    append_number(central, 20, 2);
    append_header_fields(central, entry);
    append_number(central, 0, 10);
    append_number(central, out.size(), 4);
    central += entry.name;
    append_number(out, kLocalHeader, 4);
    append_header_fields(out, entry);
    out += entry.name;
    out += entry.bytes;
  }
  if (out.size() > kLimit) throw Error(ErrorCode::io, "the arrays are too large for one .npz file; write .npy files");
  const std::size_t directory = out.size();
  out += central;
  append_number(out, kEndRecord, 4);
  append_number(out, 0, 4);
  append_number(out, entries.size(), 2);
  append_number(out, entries.size(), 2);
  append_number(out, central.size(), 4);
  append_number(out, directory, 4);
  append_number(out, 0, 2);
  return out;
}

}  // namespace colonnade::cli
