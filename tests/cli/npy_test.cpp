// SPDX-License-Identifier: Apache-2.0
#include "frontends/cli/npy.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <string>

#include "frontends/cli/compare.hpp"
#include "frontends/cli/numbers.hpp"
#include "frontends/cli/zip.hpp"

namespace colonnade::cli {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A .npy file with the given dictionary and elements.
std::string npy_file(const std::string& dictionary, const std::string& elements, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += static_cast<char>(dictionary.size() & 0xff);
  file += static_cast<char>(dictionary.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + dictionary + elements;
}

ErrorCode refusal_of(const std::string& file) {
  try {
    parse_npy(bytes_of(file), "x.npy");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("x.npy"), std::string::npos) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "accepted";
  return ErrorCode::internal;
}

Tensor counting(DType dtype, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) values.push_back(static_cast<double>(i % 2));
  return from_doubles(dtype, shape, values);
}

TEST(Npy, RoundTripsEveryType) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i8, DType::i16, DType::i32, DType::i64,
                            DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean}) {
    const Tensor tensor = counting(dtype, {2, 3, 4});
    EXPECT_TRUE(identical(parse_npy(bytes_of(format_npy(tensor)), "t"), tensor)) << name_of(dtype);
  }
}

TEST(Npy, RoundTripsScalarsVectorsAndEmptyTensors) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{0}, Shape{3, 0, 2}}) {
    const Tensor tensor = counting(DType::f32, shape);
    const Tensor read = parse_npy(bytes_of(format_npy(tensor)), "t");
    EXPECT_EQ(read.shape(), shape);
    EXPECT_TRUE(identical(read, tensor));
  }
}

TEST(Npy, HeaderIsAlignedAndWhatNumpyWrites) {
  const std::string file = format_npy(counting(DType::f32, {5}));
  EXPECT_EQ((file.size() - 20) % 64, 0u);
  EXPECT_NE(file.find("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }"), std::string::npos);
}

TEST(Npy, Bfloat16IsWidened) {
  const Tensor read = parse_npy(bytes_of(format_npy(from_doubles(DType::bf16, {2}, {1.5, -2}))), "t");
  EXPECT_EQ(read.dtype(), DType::f32);
  EXPECT_EQ(to_doubles(read), (std::vector<double>{1.5, -2}));
}

TEST(Npy, RoundTripsStrings) {
  Tensor tensor(DType::string, {3});
  tensor.strings() = {"", "abc", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82"};
  EXPECT_EQ(parse_npy(bytes_of(format_npy(tensor)), "t").strings(), tensor.strings());
}

TEST(Npy, ReadsBigEndian) {
  const std::string file =
      npy_file("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", std::string("\x01\x02\x00\x03", 4));
  EXPECT_EQ(to_doubles(parse_npy(bytes_of(file), "t")), (std::vector<double>{258, 3}));
}

TEST(Npy, ReadsFortranOrder) {
  const std::string file = npy_file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                                    std::string("\x00\x03\x01\x04\x02\x05", 6));
  EXPECT_EQ(to_doubles(parse_npy(bytes_of(file), "t")), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, ReadsFormatTwoAndByteStrings) {
  const std::string file =
      npy_file("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", std::string("ab\0xyz", 6), 2);
  EXPECT_EQ(parse_npy(bytes_of(file), "t").strings(), (std::vector<std::string>{"ab", "xyz"}));
}

TEST(Npy, RefusesEveryTruncation) {
  const std::string file = format_npy(counting(DType::f32, {2, 3}));
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_EQ(refusal_of(file.substr(0, length)), ErrorCode::invalid_input) << length;
}

TEST(Npy, RefusesShapesThatTheFileDoesNotBack) {
  for (const char* shape :
       {"(1000000000000,)", "(4294967296, 4294967296)", "(99999999999999999, 99999999999999999, 99)", "(2, 2)"})
    EXPECT_EQ(refusal_of(npy_file(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + ", }",
                                  "12345678")),
              ErrorCode::invalid_input)
        << shape;
}

TEST(Npy, RefusesMalformedHeaders) {
  for (const char* dictionary :
       {"", "{}", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<c4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 'f', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<U99999999999', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1x,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"})
    EXPECT_EQ(refusal_of(npy_file(dictionary, std::string(64, '\0'))), ErrorCode::invalid_input) << dictionary;
}

TEST(Npy, SurvivesEverySingleByteChange) {
  const std::string file = format_npy(counting(DType::i16, {3, 2}));
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string changed = file;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
      try {
        EXPECT_LE(parse_npy(bytes_of(changed), "t").size(), 12);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      }
    }
}

std::string archive_of_two() {
  const Tensor a = counting(DType::f32, {2, 2});
  const Tensor b = counting(DType::i64, {3});
  const std::vector<TensorReference> items{{"a", &a}, {"folder/b", &b}};
  return format_npz(items);
}

/// A one-entry archive with a deflated entry: one of what is packed, whose headers are corrected.
std::string deflated_archive(const std::string& name, const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  const ZipEntry entry{name, packed};
  std::string archive = format_zip({&entry, 1});
  const auto put = [&](std::size_t at, std::size_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) archive[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
  };
  const std::size_t crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  for (const std::size_t header : {std::size_t{4}, archive.find("PK\x01\x02") + 6}) {
    put(header + 4, 8, 2);
    put(header + 10, crc, 4);
    put(header + 18, content.size(), 4);
  }
  return archive;
}

TEST(Npz, RoundTrips) {
  const std::vector<NamedTensor> read = parse_npz(bytes_of(archive_of_two()), "x.npz");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].name, "a");
  EXPECT_EQ(read[1].name, "folder/b");
  EXPECT_TRUE(identical(read[0].tensor, counting(DType::f32, {2, 2})));
  EXPECT_TRUE(identical(read[1].tensor, counting(DType::i64, {3})));
}

TEST(Npz, ReadsDeflatedEntries) {
  const Tensor tensor = counting(DType::f32, {100, 30});
  const std::string archive = deflated_archive("x.npy", format_npy(tensor));
  EXPECT_LT(archive.size(), 2000u);
  const std::vector<NamedTensor> read = parse_npz(bytes_of(archive), "x.npz");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_TRUE(identical(read[0].tensor, tensor));
}

TEST(Npz, RefusesEveryTruncation) {
  const std::string archive = archive_of_two();
  for (std::size_t length = 0; length < archive.size(); ++length)
    EXPECT_THROW(parse_npz(bytes_of(archive.substr(0, length)), "x.npz"), Error) << length;
}

TEST(Npz, NoticesAChangedElement) {
  std::string archive = archive_of_two();
  const std::size_t element = archive.find("folder/b") - 40;
  archive[element] = static_cast<char>(archive[element] ^ 1);
  EXPECT_THROW(parse_npz(bytes_of(archive), "x.npz"), Error);
}

TEST(Npz, SurvivesEverySingleByteChange) {
  const std::string plain = archive_of_two();
  const std::string packed = deflated_archive("x.npy", format_npy(counting(DType::f32, {100})));
  for (const std::string& archive : {plain, packed})
    for (std::size_t i = 0; i < archive.size(); ++i)
      for (const int flip : {0x01, 0x40, 0xff}) {
        std::string changed = archive;
        changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
        try {
          EXPECT_LE(parse_npz(bytes_of(changed), "x.npz").size(), 2u);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
        }
      }
}

/// Many entries of the directory that are one and the same deflated data.
TEST(Npz, RefusesEntriesThatTogetherAreTooLarge) {
  const std::string archive = deflated_archive("x.npy", format_npy(Tensor(DType::f32, {1 << 22})));
  const std::size_t central = archive.find("PK\x01\x02"), end = archive.find("PK\x05\x06");
  std::string bomb = archive.substr(0, central), tail = archive.substr(end);
  constexpr std::size_t kEntries = 100;
  for (std::size_t i = 0; i < kEntries; ++i) bomb += archive.substr(central, end - central);
  const auto put = [&](std::size_t at, std::size_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) tail[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
  };
  put(8, kEntries, 2);
  put(10, kEntries, 2);
  put(12, kEntries * (end - central), 4);
  try {
    parse_npz(bytes_of(bomb + tail), "x.npz");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("impossible size"), std::string::npos) << error.what();
  }
}

TEST(Npz, RefusesAClaimOfGigabytes) {
  std::string archive = deflated_archive("x.npy", format_npy(counting(DType::f32, {100})));
  const std::size_t central = archive.find("PK\x01\x02");
  for (std::size_t i = 0; i < 4; ++i) archive[central + 24 + i] = static_cast<char>(0x7f);
  try {
    parse_npz(bytes_of(archive), "x.npz");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("impossible size"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace colonnade::cli
