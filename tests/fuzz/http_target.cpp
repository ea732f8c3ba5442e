// SPDX-License-Identifier: Apache-2.0
// Damaged HTTP requests for inference, images among them, through everything that reads them. However the bytes are
// cut, the same request comes out; what is understood survives being written and read again; everything else is a
// refusal of one line.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "frontends/server/datatype.hpp"
#include "frontends/server/http/compression.hpp"
#include "frontends/server/http/infer_response.hpp"
#include "frontends/server/http/reader.hpp"
#include "frontends/server/http/route.hpp"
#include "frontends/server/http/shared_regions.hpp"
#include "frontends/server/raw_tensor.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/shared_region.hpp"
#include "support/image_files.hpp"

namespace colonnade::fuzz {
namespace {

using namespace serve;        // NOLINT
using namespace serve::http;  // NOLINT

constexpr std::size_t kMostMessage = 1100;
constexpr std::size_t kMostRefusedBytes = 2000;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

HttpOptions limits() {
  HttpOptions options;
  options.most_body_bytes = 1 << 20;
  options.most_chunks = 1000;
  return options;
}

/// What comes out of a connection's bytes: a request, or nothing since it is refused or not complete.
std::string text_of(const std::optional<Request>& request) {
  if (!request) return {};
  const auto body = request->body.bytes();
  return request->method + ' ' + request->target + ' ' +
         std::string(reinterpret_cast<const char*>(body.data()), body.size());
}

void check_response(const Response& response) {
  const auto json = nlohmann::json::parse(response.text, nullptr, false);
  if (!json.is_object() || !json.contains("error")) throw Failure("no JSON error: " + response.text);
  if (response.status == 500) throw Failure("internal error: " + response.error);
  const std::string message = json["error"];
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (message.empty() || std::any_of(message.begin(), message.end(), is_control))
    throw Failure("not one line: " + message);
  if (message.size() > kMostMessage) throw Failure("too long a message: " + message);
  if (response.text.size() > 6 * kMostRefusedBytes) throw Failure("too long a refusal");
}

/// Feeds pieces of this size, as a connection does: what is not taken comes again with more behind it.
std::optional<Request> read(std::string_view bytes, std::size_t piece) {
  static const HttpOptions options = limits();
  Reader reader(options);
  std::size_t taken = 0, given = 0;
  try {
    while (reader.state() != Reader::State::done) {
      const std::size_t used = reader.feed(bytes_of(bytes.substr(taken, given - taken)));
      taken += used;
      if (used > 0 && taken < given) continue;
      if (given == bytes.size() && used == 0) return std::nullopt;
      given = std::min(given + piece, bytes.size());
    }
    return reader.take();
  } catch (...) {
    check_response(error_response_of_exception());
    return std::nullopt;
  }
}

struct Subject {
  std::string_view path, datatype;
  Shape shape;
};

/// The models that take a body without JSON; the last one is any other.
const Subject kSubjects[] = {{"text", "BYTES", {-1, 1, 8, 8}},
                             {"grey-image", "FP32", {-1, 1, 8, 8}},
                             {"byte-image", "UINT8", {2, 9, 7, 3}},
                             {"open-image", "FP16", {-1, 3, -1, -1}},
                             {"", "FP32", {-1, 1, 8, 8}}};

inference::ModelMetadataResponse metadata_of(std::string_view path) {
  const auto subject = std::find_if(std::begin(kSubjects), std::end(kSubjects), [&](const Subject& each) {
    return path.find(each.path) != std::string_view::npos;
  });
  inference::ModelMetadataResponse metadata;
  auto* input = metadata.add_inputs();
  input->set_name("x");
  input->set_datatype(std::string(subject->datatype));
  for (const std::int64_t dimension : subject->shape) input->add_shape(dimension);
  return metadata;
}

InferCall call_of(Request& request) {
  const Route route = find_route(request.target);
  const auto header_bytes = inference_header_length(request);
  if (const std::string* coding = request.field("Content-Encoding"))
    request.body =
        decompress(coding_of(*coding), request.body.bytes(), limits().most_body_bytes, header_bytes.value_or(0));
  if (route.endpoint == Endpoint::shared_register) {
    register_shared_region(shared_memory(), route.model, request.body.bytes(), limits().deepest_json);
    if (route.model != "r") shared_memory().remove(route.model);
    return {};
  }
  if (route.path.ends_with("image"))
    return parse_image_infer(request.body, metadata_of(route.path), limits().most_body_bytes);
  if (header_bytes == std::size_t{0}) return parse_raw_infer(request.body, metadata_of(route.path));
  InferCall call = parse_infer(request.body, header_bytes, limits().deepest_json, shared_memory());
  const auto json = request.body.bytes().first(header_bytes.value_or(request.body.size()));
  if (!nlohmann::json::accept(reinterpret_cast<const char*>(json.data()),
                              reinterpret_cast<const char*>(json.data() + json.size())))
    throw Failure("accepted what is no JSON");
  read_shared(call, {});
  if (!call.shared.empty()) throw Failure("inputs left in shared memory");
  return call;
}

http::Body body_of(std::string_view text) {
  http::Body body(0, text.size());
  body.append(bytes_of(text));
  return body;
}

bool equal(const TensorView& a, const TensorView& b) {
  std::string x, y;
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  const auto left = raw_bytes(a, x), right = raw_bytes(b, y);
  return left.size() == right.size() && (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0);
}

/// Gives the inputs back as outputs and reads the answer as a request.
void check_round_trip(const InferCall& call, bool binary) {
  InferenceResponse answer;
  for (const InputTensor& input : call.request.inputs) answer.outputs.push_back({input.name, input.view, input.owner});
  AnswerForm form;
  form.binary = binary;
  const Response response = infer_response(answer, form);
  std::string text = response.text;
  const std::size_t at = text.find("\"outputs\":");
  text.replace(at, 10, "\"inputs\":");
  const std::size_t header_bytes = text.size();
  for (const auto& part : response.parts) text.append(reinterpret_cast<const char*>(part.data()), part.size());
  const InferCall again = parse_infer(body_of(text), header_bytes, limits().deepest_json, shared_memory());
  for (std::size_t i = 0; i < call.request.inputs.size(); ++i)
    if (!equal(call.request.inputs[i].view, again.request.inputs.at(i).view)) throw Failure("another tensor: " + text);
}

/// An output that goes to shared memory is there, or refused.
void check_shared(const InferCall& call) {
  if (call.request.inputs.empty() || call.request.outputs.empty() || !call.request.outputs[0].place) return;
  const InputTensor& input = call.request.inputs[0];
  InferenceResponse answer;
  answer.outputs.push_back({input.name, input.view, input.owner, call.request.outputs[0].place});
  infer_response(answer, {});
  std::string scratch;
  const auto bytes = raw_bytes(input.view, scratch);
  std::vector<std::byte> written(bytes.size());
  answer.outputs[0].place->region->read(answer.outputs[0].place->offset, written);
  if (!std::equal(bytes.begin(), bytes.end(), written.begin())) throw Failure("other bytes in shared memory");
}

void check(std::string_view bytes) {
  clear_shared();
  std::optional<Request> whole = read(bytes, std::max<std::size_t>(bytes.size(), 1));
  for (const std::size_t piece : {std::size_t{1}, 2 + bytes.size() % 61})
    if (text_of(read(bytes, piece)) != text_of(whole)) throw Failure("the way bytes are cut changes the request");
  if (!whole) return;
  std::optional<InferCall> call;
  for (const bool binary : {false, true}) {
    try {
      if (!call) call = call_of(*whole);
      check_round_trip(*call, binary);
      check_shared(*call);
    } catch (const Failure&) {
      throw;
    } catch (...) {
      check_response(error_response_of_exception());
      if (!call) return;
    }
  }
}

constexpr std::string_view kTypes[] = {"FP32",  "FP64",  "FP16",   "BF16",   "INT8",   "INT16", "INT32",
                                       "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL",  "BYTES"};

std::string element(std::string_view type, Random& random) {
  if (type == "BOOL") return random.one_in(2) ? "true" : "false";
  if (type == "BYTES") return random.one_in(2) ? "\"a\\u00e4\\n\"" : "\"\"";
  if (random.one_in(3) || !(type.starts_with("FP") || type == "BF16")) return std::to_string(random.below(100));
  return random.one_in(4) ? "-1.5e-3" : std::to_string(random.integer());
}

struct Input {
  std::string json, binary;
};

/// One in how many inputs, outputs and requests has to do with shared memory.
struct SharedMemoryOdds {
  std::size_t input, output, registration;
};
constexpr SharedMemoryOdds kSomeShared = {8, 4, 16};
constexpr SharedMemoryOdds kMostShared = {2, 2, 4};

std::string shared_parameters(std::size_t bytes, Random& random) {
  return fmt::format(R"("parameters":{{"shared_memory_region":"r","shared_memory_byte_size":{},)"
                     R"("shared_memory_offset":{}}})",
                     random.one_in(8) ? random.integer() : static_cast<std::int64_t>(bytes),
                     random.one_in(8) ? random.integer() : static_cast<std::int64_t>(random.below(64)));
}

Input input(std::size_t index, SharedMemoryOdds odds, Random& random) {
  const std::string_view type = random.one_of(kTypes);
  const std::size_t rows = random.below(4), columns = random.below(4);
  const bool is_nested = random.one_in(2);
  const std::string head = fmt::format(R"("name":"x{}","datatype":"{}","shape":[{},{}])", index, type, rows, columns);
  if (random.one_in(odds.input)) {
    const std::size_t bytes = rows * columns * (type == "BYTES" ? 4 : size_of(*dtype_of(type)));
    return {fmt::format(R"({{{},{}}})", head, shared_parameters(bytes, random)), ""};
  }
  if (random.one_in(2)) {
    std::string binary;
    for (std::size_t i = 0; i < rows * columns; ++i) {
      const std::size_t size = type == "BYTES" ? 4 : size_of(*dtype_of(type));
      std::string bytes(size, '\0');
      bytes[0] = static_cast<char>(random.below(2));
      binary += bytes + std::string(type == "BYTES" ? static_cast<std::size_t>(bytes[0]) : 0, 'z');
    }
    return {fmt::format(R"({{{},"parameters":{{"binary_data_size":{}}}}})", head, binary.size()), binary};
  }
  std::string data;
  for (std::size_t row = 0; row < rows; ++row) {
    if (row > 0) data += ',';
    if (is_nested) data += '[';
    for (std::size_t i = 0; i < columns; ++i) data += (i > 0 ? "," : "") + element(type, random);
    if (is_nested) data += ']';
    if (columns == 0 && !is_nested) return {fmt::format(R"({{{},"data":[]}})", head), ""};
  }
  return {fmt::format(R"({{"data":[{}],{}}})", data, head), ""};
}

std::string infer_body(std::size_t& header_bytes, SharedMemoryOdds odds, Random& random) {
  std::string inputs, binary;
  for (std::size_t i = random.below(4); i > 0; --i) {
    const Input one = input(i, odds, random);
    inputs += (inputs.empty() ? "" : ",") + one.json;
    binary += one.binary;
  }
  const std::string head = fmt::format(
      R"({{"id":"i","parameters":{{"priority":{},"timeout":1000,"binary_data_output":true,"p":"q"}},"inputs":[{}],)"
      R"("outputs":[{{"name":"y",{}}}]}})",
      random.below(3), inputs,
      random.one_in(odds.output) ? shared_parameters(random.below(96), random)
                                 : R"("parameters":{"classification":2,"binary_data":false})");
  header_bytes = head.size();
  return head + binary;
}

std::string small_image(Random& random) {
  const int width = 1 + static_cast<int>(random.below(24)), height = 1 + static_cast<int>(random.below(24));
  if (random.one_in(3)) {
    const std::string jpeg = test::jpeg_of(test::checkered(width, height), random.one_in(2));
    return random.one_in(3) ? test::with_scans(jpeg, static_cast<int>(random.below(120))) : jpeg;
  }
  constexpr std::pair<int, int> kForms[] = {{PNG_COLOR_TYPE_GRAY, 1},      {PNG_COLOR_TYPE_GRAY, 4},
                                            {PNG_COLOR_TYPE_GRAY, 16},     {PNG_COLOR_TYPE_PALETTE, 1},
                                            {PNG_COLOR_TYPE_PALETTE, 8},   {PNG_COLOR_TYPE_RGB, 8},
                                            {PNG_COLOR_TYPE_RGB, 16},      {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
                                            {PNG_COLOR_TYPE_RGB_ALPHA, 8}, {PNG_COLOR_TYPE_RGB_ALPHA, 16}};
  const auto& [color, depth] = random.one_of(kForms);
  const bool transparent = (color & PNG_COLOR_MASK_ALPHA) == 0 && random.one_in(3);
  const test::PngForm form{width, height, color, depth, random.one_in(2), transparent, random.one_in(4) ? 0.45455 : 0};
  const std::size_t most_row_bytes = static_cast<std::size_t>(width) * 8;
  const std::vector<std::uint8_t> row(most_row_bytes, static_cast<std::uint8_t>(random.below(256)));
  return test::png_file(form, [&](int) { return row; });
}

/// As it should be, damaged, or promising more than it holds.
std::string image(Random& random) {
  if (random.one_in(8)) {
    constexpr int kMostPixels = 1 << 19;  // the limit allows half of them
    const int width = 1 << random.below(20);
    return test::black_png(width, 1 + static_cast<int>(random.below(kMostPixels / static_cast<std::size_t>(width))),
                           random.one_in(2));
  }
  std::string file = small_image(random);
  const bool is_png = file.starts_with("\x89PNG");
  if (is_png && random.one_in(8))
    return test::with_size(file, static_cast<std::uint32_t>(random.integer()),
                           static_cast<std::uint32_t>(random.integer()));
  if (random.one_in(3)) return file;
  file = damage(std::move(file), small_image(random), random);
  return is_png && random.one_in(2) ? test::with_checksums(std::move(file)) : file;
}

std::string chunked(std::string_view body, Random& random) {
  std::string out;
  while (!body.empty()) {
    const std::string_view chunk = body.substr(0, 1 + random.below(100));
    out += fmt::format("{:x}{}\r\n{}\r\n", chunk.size(), random.one_in(8) ? ";a=b" : "", chunk);
    body.remove_prefix(chunk.size());
  }
  return out + "0\r\n" + (random.one_in(4) ? "T: 1\r\n" : "") + "\r\n";
}

/// A well-formed request; damage that should be seen behind the framing is done to the body before it is framed.
std::string request(SharedMemoryOdds odds, Random& random) {
  std::size_t header_bytes = 0;
  std::string body = infer_body(header_bytes, odds, random);
  std::string path = "/v2/models/m/infer", fields = "Host: h\r\n";
  if (random.one_in(2)) {
    std::size_t unused = 0;
    body = damage(std::move(body), infer_body(unused, odds, random), random);
  }
  if (random.one_in(odds.registration)) {
    path = "/v2/systemsharedmemory/region/x/register";
    body = fmt::format(R"({{"key":"{}","offset":{},"byte_size":{}}})",
                       random.one_in(4) ? "/colonnade_fuzz_/../x" : shared_object().name(),
                       random.one_in(2) ? 0 : random.integer(), random.one_in(2) ? 8 : random.integer());
    if (random.one_in(3)) body = damage(std::move(body), body, random);
    header_bytes = body.size();
  } else if (random.one_in(8)) {
    path = random.one_in(2) ? "/v2/models/text/versions/1/infer" : "/v2/models/m%2f/infer?q";
    header_bytes = 0;
  } else if (random.one_in(4)) {
    path = fmt::format("/v2/models/{}-image", random.one_of(std::array{"grey", "byte", "open"}));
    body = image(random);
  }
  fields += fmt::format("Inference-Header-Content-Length: {}\r\n", header_bytes);
  if (random.one_in(4)) {
    const Coding coding = random.one_in(2) ? Coding::gzip : Coding::deflate;
    const auto piece = bytes_of(body);
    body = compress(coding, std::span(&piece, 1));
    fields += fmt::format("Content-Encoding: {}\r\n", name_of(coding));
  }
  if (random.one_in(3))
    return fmt::format("POST {} HTTP/1.1\r\n{}Transfer-Encoding: chunked\r\n\r\n{}", path, fields,
                       chunked(body, random));
  return fmt::format("POST {} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{}", path, fields, body.size(), body);
}

Target target_of(std::string name, SharedMemoryOdds odds) {
  return {std::move(name),
          [odds](Random& random) {
            std::string bytes = request(odds, random);
            return random.one_in(3) ? damage(std::move(bytes), request(odds, random), random) : bytes;
          },
          check};
}

}  // namespace

Target http_target() { return target_of("http", kSomeShared); }

Target shared_target() { return target_of("shared", kMostShared); }

}  // namespace colonnade::fuzz
