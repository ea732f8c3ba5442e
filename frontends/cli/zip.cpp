// SPDX-License-Identifier: Apache-2.0
// PKWARE's APPNOTE.TXT says what the records are.
#include "zip.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <cstdint>
#include <limits>

#include "colonnade/colonnade.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr std::uint64_t kLargestDeflateRatio = 1032;
constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr std::size_t kMostComment = 0xffff;
constexpr std::uint64_t kIn64Bits = 0xffffffff;  ///< a field of 4 bytes whose value stands elsewhere, in 8
constexpr unsigned kEncrypted = 1, kStored = 0, kDeflated = 8;
constexpr unsigned kNamesAreUtf8 = 1 << 11;

/// One row of the directory.
struct Row {
  std::string name;
  unsigned flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, at = 0;
};

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Unpacks exactly as much as `to` holds; false for anything else.
bool inflate_all(std::string_view from, std::string& to) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  std::string_view left = from;
  std::size_t done = 0;
  char spare = 0;  // where a byte too many goes
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t in = std::min(left.size(), kMost), out = std::min(to.size() - done, kMost);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out > 0 ? to.data() + done : &spare);
    stream.avail_out = static_cast<uInt>(out > 0 ? out : 1);
    status = inflate(&stream, Z_NO_FLUSH);
    left.remove_prefix(in - stream.avail_in);
    if (out == 0 && stream.avail_out == 0) status = Z_DATA_ERROR;
    if (out > 0) done += out - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  return status == Z_STREAM_END && done == to.size() && left.empty();
}

/// Reads the entries of one archive.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), where_(where) {
    if (bytes.empty()) fail("it is empty");
    read_end();
  }

  std::uint64_t count() const { return count_; }

  /// The next entry of the directory.
  ZipEntry next() {
    const Row row = read_row();
    check(row);
    need(row.at, kLocalSize, "an entry");
    if (number(row.at, 4) != kLocal) fail(fmt::format("'{}' does not begin where the directory says", row.name));
    const std::uint64_t begin = row.at + kLocalSize + number(row.at + 26, 2) + number(row.at + 28, 2);
    need(begin, row.packed, "an entry");
    const std::string_view packed = bytes_.substr(begin, row.packed);
    ZipEntry entry{row.name, row.method == kStored ? std::string(packed) : std::string(row.size, '\0')};
    const bool complete = row.method == kStored || inflate_all(packed, entry.bytes);
    if (!complete || crc_of(entry.bytes) != row.crc) fail(fmt::format("'{}' is damaged", row.name));
    return entry;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::invalid_input, one_line(fmt::format("'{}' is not a usable zip archive: {}", where_, what)));
  }

  void need(std::uint64_t at, std::uint64_t size, std::string_view what) const {
    if (at > bytes_.size() || size > bytes_.size() - at) fail(fmt::format("{} lies outside of the file", what));
  }

  /// A number of up to 8 bytes that are known to be there.
  std::uint64_t number(std::uint64_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return value;
  }

  /// The last record, behind which only a comment may be, and that of 64 bits before it.
  void read_end() {
    if (bytes_.size() < kEndSize) fail("it is too short");
    std::uint64_t end = bytes_.size() - kEndSize;
    const std::uint64_t first = end > kMostComment ? end - kMostComment : 0;
    while (number(end, 4) != kEnd || number(end + 20, 2) != bytes_.size() - kEndSize - end)
      if (end-- == first) fail("it has no directory");
    std::uint64_t size = number(end + 12, 4);
    count_ = number(end + 10, 2);
    next_ = number(end + 16, 4);
    if (end >= kLocatorSize && number(end - kLocatorSize, 4) == kLocator64) {
      end = number(end - kLocatorSize + 8, 8);
      need(end, kEnd64Size, "the directory's end");
      if (number(end, 4) != kEnd64) fail("malformed directory");
      count_ = number(end + 32, 8);
      size = number(end + 40, 8);
      next_ = number(end + 48, 8);
    }
    need(next_, size, "the directory");
    directory_end_ = next_ + size;
    if (directory_end_ > end || count_ > size / kCentralSize) fail("malformed directory");
  }

  Row read_row() {
    if (directory_end_ - next_ < kCentralSize || number(next_, 4) != kCentral) fail("malformed directory");
    const std::uint64_t at = next_, name = number(at + 28, 2), extra = number(at + 30, 2), comment = number(at + 32, 2);
    if (directory_end_ - next_ - kCentralSize < name + extra + comment) fail("malformed directory");
    next_ += kCentralSize + name + extra + comment;
    Row row;
    row.name = bytes_.substr(at + kCentralSize, name);
    row.flags = static_cast<unsigned>(number(at + 8, 2));
    row.method = static_cast<unsigned>(number(at + 10, 2));
    row.crc = static_cast<std::uint32_t>(number(at + 16, 4));
    row.packed = number(at + 20, 4);
    row.size = number(at + 24, 4);
    row.at = number(at + 42, 4);
    read_extra(row, at + kCentralSize + name, extra);
    return row;
  }

  /// The values of 64 bits: those that are not in the row, in this order.
  void read_extra(Row& row, std::uint64_t at, std::uint64_t size) const {
    constexpr std::uint64_t kSizes64 = 1;
    while (size >= 4) {
      const std::uint64_t kind = number(at, 2), length = number(at + 2, 2);
      if (length > size - 4) fail("malformed directory");
      std::uint64_t value = at + 4;
      const std::uint64_t end = value + length;
      for (std::uint64_t* field : {&row.size, &row.packed, &row.at}) {
        if (kind != kSizes64 || *field != kIn64Bits) continue;
        if (end - value < 8) fail("malformed directory");
        *field = number(value, 8);
        value += 8;
      }
      at += 4 + length;
      size -= 4 + length;
    }
  }

  /// Sizes are believed only as far as the archive's own could hold them, of all entries together.
  void check(const Row& row) {
    if (row.flags & kEncrypted) fail(fmt::format("'{}' is encrypted", row.name));
    const bool deflated = row.method == kDeflated;
    if (!deflated && row.method != kStored) fail(fmt::format("'{}' uses compression method {}", row.name, row.method));
    const std::uint64_t ratio = deflated ? kLargestDeflateRatio : 1, most = ratio * bytes_.size();
    if (row.packed > bytes_.size() || row.size / ratio > row.packed || row.size > most - used_[deflated] ||
        (!deflated && row.size != row.packed))
      fail(fmt::format("'{}' claims an impossible size", row.name));
    used_[deflated] += row.size;
  }

  std::string_view bytes_;
  const std::string& where_;
  std::uint64_t count_ = 0, next_ = 0, directory_end_ = 0;
  std::uint64_t used_[2] = {0, 0};  ///< bytes of stored and of deflated entries so far
};

void put(std::string& to, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i, value >>= 8) to += static_cast<char>(value & 0xff);
}

/// What a local header and a row of the directory have in common. Sizes that 4 bytes cannot hold stand behind the name.
void put_header(std::string& to, const ZipEntry& entry, std::uint64_t extra) {
  constexpr std::uint64_t kFirstOfJanuary1980 = 0x21;
  const std::uint64_t size = std::min<std::uint64_t>(entry.bytes.size(), kIn64Bits);
  put(to, extra > 0 ? 45 : 20, 2);
  put(to, kNamesAreUtf8, 2);
  put(to, kStored, 2);
  put(to, kFirstOfJanuary1980 << 16, 4);
  put(to, crc_of(entry.bytes), 4);
  put(to, size, 4);
  put(to, size, 4);
  put(to, entry.name.size(), 2);
  put(to, extra, 2);
}

/// The extra field of 64 bits, or nothing where 4 bytes are enough.
std::string extra_of(std::initializer_list<std::uint64_t> values) {
  std::string found, extra;
  for (const std::uint64_t value : values)
    if (value >= kIn64Bits) put(found, value, 8);
  if (found.empty()) return found;
  put(extra, 1, 2);
  put(extra, found.size(), 2);
  return extra + found;
}

}  // namespace

std::vector<ZipEntry> parse_zip(std::span<const std::byte> archive, const std::string& where) {
  Reader reader(archive, where);
  std::vector<ZipEntry> entries;
  for (std::uint64_t i = 0; i < reader.count(); ++i) entries.push_back(reader.next());
  return entries;
}

std::string format_zip(std::span<const ZipEntry> entries) {
  std::string archive, directory;
  for (const ZipEntry& entry : entries) {
    if (entry.name.size() > 0xffff) throw Error(ErrorCode::io, "cannot write a zip archive: a name is too long");
    const std::uint64_t at = archive.size(), size = entry.bytes.size();
    const std::string local = extra_of({size, size}), central = extra_of({size, size, at});
    put(archive, kLocal, 4);
    put_header(archive, entry, local.size());
    archive.append(entry.name).append(local).append(entry.bytes);
    put(directory, kCentral, 4);
    put(directory, 45, 2);
    put_header(directory, entry, central.size());
    put(directory, 0, 10);  // comment, disk, kinds of content
    put(directory, std::min(at, kIn64Bits), 4);
    directory.append(entry.name).append(central);
  }
  const std::uint64_t at = archive.size();
  archive += directory;
  const bool large = archive.size() >= kIn64Bits || entries.size() >= 0xffff;
  if (large) {
    put(archive, kEnd64, 4);
    put(archive, kEnd64Size - 12, 8);
    put(archive, 45 << 16 | 45, 4);
    put(archive, 0, 8);
    for (const std::uint64_t value : {entries.size(), entries.size(), directory.size(), at}) put(archive, value, 8);
    put(archive, kLocator64, 4);
    put(archive, 0, 4);
    put(archive, at + directory.size(), 8);
    put(archive, 1, 4);
  }
  put(archive, kEnd, 4);
  put(archive, 0, 4);
  for (int i = 0; i < 2; ++i) put(archive, large ? 0xffff : entries.size(), 2);
  put(archive, large ? kIn64Bits : directory.size(), 4);
  put(archive, large ? kIn64Bits : at, 4);
  put(archive, 0, 2);
  return archive;
}

}  // namespace colonnade::cli
