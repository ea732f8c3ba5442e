// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

namespace colonnade::serve::http {
namespace {

namespace beast = boost::beast::http;

/// A line that announces a chunk, or one of the trailer.
constexpr std::size_t kMostChunkLineBytes = 8192;
/// "0", two line ends: nothing shorter completes a chunked body, and Beast asserts that it is given no less.
constexpr std::size_t kLeastChunkBytes = 5;
/// A body may claim any length; no more than this is reserved before it comes.
constexpr std::size_t kMostReservedBytes = std::size_t{1} << 20;

[[noreturn]] void fail(const boost::system::error_code& error) {
  if (error == beast::error::header_limit)
    throw Problem(431, fmt::format("the request's head is longer than {} bytes", Reader::kMostHeadBytes));
  if (error == beast::error::bad_version) throw Problem(505, "expected HTTP/1.0 or HTTP/1.1");
  throw Problem(400, "malformed HTTP: " + error.message());
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct Reader::Impl {
  Impl(const HttpOptions& given, Lease lent) : options(given), lease(std::move(lent)) {
    parser.header_limit(kMostHeadBytes);
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // what is allowed is checked here
    parser.on_chunk_header(chunk_header);
    parser.on_chunk_body(chunk_body);
  }

  std::size_t put(std::span<const std::byte> bytes) {
    boost::system::error_code error;
    const std::size_t used = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    if (problem) throw *problem;
    waits = error == beast::error::need_more;
    if (error && !waits) fail(error);
    return used;
  }

  void check_fields();
  void start_body();
  std::size_t feed_head(std::span<const std::byte> bytes);
  std::size_t feed_chunks(std::span<const std::byte> bytes);
  std::size_t feed_plain(std::span<const std::byte> bytes);

  void check_body_size(std::uint64_t size) const {
    if (size > options.most_body_bytes)
      throw Problem(413, fmt::format("the body of {} bytes exceeds the limit of {}", size, options.most_body_bytes));
  }

  /// Beast calls these from within put(): what they find is kept until it is back.
  void on_chunk_header(std::uint64_t size) {
    if (++chunks > options.most_chunks)
      problem = Problem(413, fmt::format("the body has more than {} chunks", options.most_chunks));
    else if (size > options.most_body_bytes - request.body.size())
      problem = Problem(413, fmt::format("the body exceeds the limit of {} bytes", options.most_body_bytes));
  }

  const HttpOptions& options;
  const Lease lease;
  beast::request_parser<beast::empty_body> parser;
  std::function<void(std::uint64_t, boost::beast::string_view, boost::system::error_code&)> chunk_header =
      [this](std::uint64_t size, boost::beast::string_view, boost::system::error_code& error) {
        on_chunk_header(size);
        if (problem) error = beast::error::body_limit;
      };
  std::function<std::size_t(std::uint64_t, boost::beast::string_view, boost::system::error_code&)> chunk_body =
      [this](std::uint64_t, boost::beast::string_view bytes, boost::system::error_code&) {
        request.body.append(std::as_bytes(std::span(bytes.data(), bytes.size())));
        return bytes.size();
      };
  Request request;
  State state = State::head;
  bool waits = false, expects = false, chunked = false;
  std::size_t left = 0;    ///< bytes of a body of known length that have not come
  std::size_t chunks = 0;  ///< announced so far
  std::optional<Problem> problem;
};

void Reader::Impl::check_fields() {
  const auto& head = parser.get();
  const auto count = [&](beast::field field) {
    const auto range = head.equal_range(field);
    return std::distance(range.first, range.second);
  };
  if (static_cast<std::size_t>(std::distance(head.begin(), head.end())) > kMostFields)
    throw Problem(431, fmt::format("more than {} header fields", kMostFields));
  if (head.version() != 10 && head.version() != 11) throw Problem(505, "expected HTTP/1.0 or HTTP/1.1");
  if (head.version() == 11 && count(beast::field::host) != 1) throw Problem(400, "expected one Host field");
  const std::string_view length = view(head[beast::field::content_length]);
  if (length.find_first_not_of("0123456789") != std::string_view::npos)
    throw Problem(400, "Content-Length: expected one number");
  if (count(beast::field::content_length) > 1) throw Problem(400, "several Content-Length fields");
  if (count(beast::field::transfer_encoding) > 0) {
    if (count(beast::field::content_length) > 0) throw Problem(400, "Content-Length beside Transfer-Encoding");
    if (head.version() == 10) throw Problem(400, "Transfer-Encoding in HTTP/1.0");
    if (count(beast::field::transfer_encoding) > 1 ||
        !equal_ignoring_case(view(head[beast::field::transfer_encoding]), "chunked"))
      throw Problem(501, "of Transfer-Encoding only 'chunked' is supported");
  }
  if (count(beast::field::expect) > 0) {
    if (!equal_ignoring_case(view(head[beast::field::expect]), "100-continue"))
      throw Problem(417, "of Expect only '100-continue' is supported");
    expects = head.version() == 11;
  }
}

void Reader::Impl::start_body() {
  chunked = parser.chunked();
  const auto length = parser.content_length();
  if (length) check_body_size(*length);
  left = length ? static_cast<std::size_t>(*length) : 0;
  const bool compressed = request.field("Content-Encoding") != nullptr;
  const std::size_t aligned = compressed ? 0 : inference_header_length(request).value_or(0);
  request.body = Body(aligned % 64, std::min(left, kMostReservedBytes), lease.another());
  state = chunked || left > 0 ? State::body : State::done;
}

std::size_t Reader::Impl::feed_head(std::span<const std::byte> bytes) {
  const std::size_t used = put(bytes);
  if (!parser.is_header_done()) return used;
  check_fields();
  const auto& head = parser.get();
  request.method = view(head.method_string());
  request.target = view(head.target());
  request.keep_alive = head.keep_alive();
  for (const auto& field : head)
    request.fields.push_back({std::string(view(field.name_string())), std::string(view(field.value()))});
  start_body();
  return used;
}

std::size_t Reader::Impl::feed_chunks(std::span<const std::byte> bytes) {
  std::size_t used = 0;
  waits = false;
  while (bytes.size() - used >= kLeastChunkBytes && !parser.is_done() && !waits) used += put(bytes.subspan(used));
  if (parser.is_done())
    state = State::done;
  else if (waits && bytes.size() - used > kMostChunkLineBytes)
    throw Problem(400, fmt::format("malformed HTTP: a chunk's line is longer than {} bytes", kMostChunkLineBytes));
  return used;
}

std::size_t Reader::Impl::feed_plain(std::span<const std::byte> bytes) {
  const std::size_t used = std::min(left, bytes.size());
  request.body.append(bytes.first(used));
  left -= used;
  if (left == 0) state = State::done;
  return used;
}

Reader::Reader(const HttpOptions& options, const Lease& bytes)
    : impl_(std::make_unique<Impl>(options, bytes.another())) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Reader::State Reader::state() const { return impl_->state; }
const Request& Reader::request() const { return impl_->request; }
bool Reader::expects_continue() const { return impl_->expects; }
Request Reader::take() { return std::move(impl_->request); }

std::size_t Reader::feed(std::span<const std::byte> bytes) {
  if (bytes.empty() || state() == State::done) return 0;
  if (state() == State::head) return impl_->feed_head(bytes);
  return impl_->chunked ? impl_->feed_chunks(bytes) : impl_->feed_plain(bytes);
}

std::span<std::byte> Reader::room() {
  if (impl_->state != State::body || impl_->chunked) return {};
  const auto room = impl_->request.body.room();
  return room.first(std::min(room.size(), impl_->left));
}

void Reader::commit(std::size_t count) {
  impl_->request.body.commit(count);
  impl_->left -= count;
  if (impl_->left == 0) impl_->state = State::done;
}

}  // namespace colonnade::serve::http
