// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/connection.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "frontends/server/certificates.hpp"
#include "frontends/server/http/input.hpp"
#include "frontends/server/http/reader.hpp"
#include "frontends/server/http/write_head.hpp"
#include "frontends/server/log.hpp"

namespace colonnade::serve::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using SystemError = boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

/// How long a client may take to hear that the connection is closed.
constexpr std::chrono::seconds kLinger{2};
/// For requests that were sent before the client could know that the server stops.
constexpr std::chrono::milliseconds kGrace{500};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

enum class Phase {
  idle,       ///< between requests
  head,       ///< a request has begun
  body,       ///< and its head is accepted
  answering,  ///< it is complete
  writing,    ///< the answer is on its way
  lingering,  ///< closed on our side; what still comes is dropped
  closed,
};

template <class Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(const Listening& listening, Stream stream, ClientPtr client, Lease place, Seat seat)
      : seat_(std::move(seat)),
        listening_(listening),
        stream_(std::move(stream)),
        client_(std::move(client)),
        place_(std::move(place)),
        reader_(new_reader()) {
    listening_.connections.add(*this);
  }
  ~StreamConnection() override { listening_.connections.remove(*this); }

  void start() override;
  void finish() override;
  void abort() override;
  void expire() override;

 private:
  auto self() { return std::static_pointer_cast<StreamConnection>(shared_from_this()); }
  auto& socket() { return stream_.lowest_layer(); }
  Reader new_reader() const { return Reader(listening_.options, Clients::lease(client_, Holding::bytes)); }
  void expect(Phase phase, std::chrono::milliseconds limit);
  bool is_receiving() const { return phase_ == Phase::idle || phase_ == Phase::head || phase_ == Phase::body; }

  void read();
  void on_read(SystemError error, std::size_t count);
  void on_end();
  void advance();
  bool step();
  void admit();
  void dispatch();
  void on_answer(std::uint64_t serial, Response response);
  void refuse(Response response);
  void send(Response response);
  void write();
  void on_written(SystemError error);
  void log_answer();
  void linger();
  void close();

  const Seat seat_;
  const Listening& listening_;
  Stream stream_;
  const ClientPtr client_;
  const Lease place_;
  Lease request_;  ///< while one is under way
  Reader reader_;
  Input input_;
  Phase phase_ = Phase::idle;
  bool is_reading_ = false, reads_body_ = false, has_ended_ = false, is_finishing_ = false, keeps_ = true;
  bool is_admitted_ = false, is_continuing_ = false;
  std::uint64_t serial_ = 0;  ///< of the request under way

  Route route_;
  std::string method_, target_;
  Accepting accepting_;
  std::stop_source stop_;
  Clock::time_point began_;
  std::uint64_t bytes_in_ = 0;
  std::string allow_, head_;
  Response response_;
};

template <class Stream>
void StreamConnection<Stream>::start() {
  SystemError ignored;
  socket().set_option(tcp::no_delay(true), ignored);
  if constexpr (std::is_same_v<Stream, TlsStream>) {
    asio::dispatch(stream_.get_executor(), [self = self()] {
      self->expect(Phase::idle, self->listening_.options.header_timeout);
      self->stream_.async_handshake(asio::ssl::stream_base::server, [self](SystemError error) {
        if (error) return self->close();
        self->expect(Phase::idle, self->listening_.options.idle_timeout);
        self->read();
      });
    });
  } else {
    asio::dispatch(stream_.get_executor(), [self = self()] {
      self->expect(Phase::idle, self->listening_.options.idle_timeout);
      self->read();
    });
  }
}

template <class Stream>
void StreamConnection<Stream>::finish() {
  asio::dispatch(stream_.get_executor(), [self = self()] {
    if (self->is_finishing_) return;
    self->is_finishing_ = true;
    if (self->phase_ == Phase::idle) self->expect(Phase::idle, kGrace);
  });
}

template <class Stream>
void StreamConnection<Stream>::abort() {
  asio::dispatch(stream_.get_executor(), [self = self()] {
    self->stop_.request_stop();
    self->close();
  });
}

template <class Stream>
void StreamConnection<Stream>::expire() {
  asio::dispatch(stream_.get_executor(), [self = self()] {
    if (!self->is_late(Clock::now())) return;
    if (self->phase_ == Phase::head || self->phase_ == Phase::body)
      self->refuse(error_response(
          408, self->phase_ == Phase::head ? "the request's head took too long" : "the request's body took too long"));
    else
      self->close();
  });
}

template <class Stream>
void StreamConnection<Stream>::expect(Phase phase, std::chrono::milliseconds limit) {
  phase_ = phase;
  deadline_ = Clock::now() + limit;
}

template <class Stream>
void StreamConnection<Stream>::read() {
  if (is_reading_ || has_ended_ || phase_ == Phase::closed) return;
  std::span<std::byte> room;
  try {
    if (phase_ == Phase::body && input_.empty()) room = reader_.room();
  } catch (...) {
    return refuse(error_response_of_exception());
  }
  reads_body_ = !room.empty();
  if (!reads_body_) room = input_.room();
  if (room.empty()) return;
  is_reading_ = true;
  stream_.async_read_some(asio::buffer(room.data(), room.size()),
                          [self = self()](SystemError error, std::size_t count) { self->on_read(error, count); });
}

template <class Stream>
void StreamConnection<Stream>::on_read(SystemError error, std::size_t count) {
  is_reading_ = false;
  if (phase_ == Phase::closed) return;
  if (error) return on_end();
  if (phase_ == Phase::lingering) {
    input_.clear();
    return read();
  }
  if (!reads_body_)
    input_.commit(count);
  else if (phase_ == Phase::body)
    reader_.commit(count);
  advance();
}

/// The client has closed its side: it waits for no answer.
template <class Stream>
void StreamConnection<Stream>::on_end() {
  has_ended_ = true;
  if (phase_ == Phase::answering)
    stop_.request_stop();
  else if (phase_ != Phase::writing)
    close();
}

template <class Stream>
void StreamConnection<Stream>::advance() {
  try {
    while (is_receiving() && step()) {
    }
  } catch (...) {
    refuse(error_response_of_exception());
  }
  read();
}

/// One step towards a complete request; false when more bytes are needed.
template <class Stream>
bool StreamConnection<Stream>::step() {
  if (phase_ == Phase::idle) {
    if (input_.empty()) return false;
    began_ = Clock::now();
    expect(Phase::head, listening_.options.header_timeout);
  }
  const std::size_t used = reader_.feed(input_.bytes());
  input_.consume(used);
  if (reader_.state() != Reader::State::head && !is_admitted_) admit();
  if (reader_.state() == Reader::State::done && is_receiving()) {
    dispatch();
    return true;
  }
  return used > 0;
}

template <class Stream>
void StreamConnection<Stream>::admit() {
  const Request& request = reader_.request();
  is_admitted_ = true;
  method_ = request.method;
  target_ = request.target;
  accepting_ = accepting_of(request);
  keeps_ = request.keep_alive;
  try {
    route_ = listening_.endpoints.admit(request, allow_);
    if (listening_.metrics_only && route_.endpoint != Endpoint::metrics) throw Problem(404, "only /metrics is here");
  } catch (...) {
    keeps_ = keeps_ && reader_.state() == Reader::State::done;
    return send(error_response_of_exception());
  }
  if (reader_.state() != Reader::State::body) return;
  expect(Phase::body, listening_.options.body_timeout);
  if (!reader_.expects_continue() || !input_.empty()) return;
  is_continuing_ = true;
  asio::async_write(stream_, asio::buffer(kContinue), [self = self()](SystemError, std::size_t) {
    self->is_continuing_ = false;
    if (self->phase_ == Phase::writing) self->write();
  });
}

template <class Stream>
void StreamConnection<Stream>::dispatch() {
  phase_ = Phase::answering;
  deadline_ = Clock::time_point::max();
  stop_ = std::stop_source();
  Request request = reader_.take();
  bytes_in_ = request.body.size();
  const auto respond = [self = self(), serial = ++serial_](Response made) {
    auto response = std::make_shared<Response>(std::move(made));
    asio::dispatch(self->stream_.get_executor(),
                   [self, serial, response] { self->on_answer(serial, std::move(*response)); });
  };
  try {
    if (Endpoints::is_answered_at_once(route_, request)) return send(listening_.endpoints.answer(request, route_));
    request_ = Clients::lease(client_, Holding::requests);
    request_.need(1);
    seat_.loop().later([self = self(), request = std::make_shared<Request>(std::move(request)), respond] {
      try {
        self->listening_.endpoints.answer(std::move(*request), self->route_,
                                          {self->accepting_, self->stop_.get_token()}, respond);
      } catch (...) {
        respond(error_response_of_exception());
      }
    });
  } catch (...) {
    if (phase_ == Phase::answering) send(error_response_of_exception());
  }
}

template <class Stream>
void StreamConnection<Stream>::on_answer(std::uint64_t serial, Response response) {
  if (phase_ != Phase::answering || serial != serial_) return;
  if (!has_ended_) return send(std::move(response));
  response_ = Response();
  response_.status = 499;
  log_answer();
  close();
}

/// An answer to what is no request to the end: nothing can follow it.
template <class Stream>
void StreamConnection<Stream>::refuse(Response response) {
  keeps_ = false;
  send(std::move(response));
}

template <class Stream>
void StreamConnection<Stream>::send(Response response) {
  expect(Phase::writing, listening_.options.body_timeout);
  if (is_finishing_ || has_ended_) keeps_ = false;
  if (!allow_.empty()) response.fields.emplace_back("Allow", std::move(allow_));
  allow_.clear();
  response_ = std::move(response);
  encode(response_, accepting_);
  head_ = head_of(response_, keeps_);
  if (!is_continuing_) write();
}

template <class Stream>
void StreamConnection<Stream>::write() {
  std::vector<asio::const_buffer> buffers = {asio::buffer(head_)};
  if (method_ != "HEAD") {
    if (!response_.text.empty()) buffers.emplace_back(asio::buffer(response_.text));
    for (const auto& part : response_.parts)
      if (!part.empty()) buffers.emplace_back(part.data(), part.size());
  }
  asio::async_write(stream_, std::move(buffers),
                    [self = self()](SystemError error, std::size_t) { self->on_written(error); });
}

template <class Stream>
void StreamConnection<Stream>::on_written(SystemError error) {
  log_answer();
  request_ = Lease();
  if (error || has_ended_) return close();
  response_ = Response();
  method_.clear();
  target_.clear();
  accepting_ = {};
  bytes_in_ = 0;
  if (!keeps_) return linger();
  reader_ = new_reader();
  is_admitted_ = false;
  // The answer may have been made before the server was to stop: it said that the connection stays.
  expect(Phase::idle, is_finishing_ ? kGrace : listening_.options.idle_timeout);
  advance();
}

template <class Stream>
void StreamConnection<Stream>::log_answer() {
  if (!has_access_log()) return;
  SystemError ignored;
  const std::string peer = socket().remote_endpoint(ignored).address().to_string();
  Access access;
  access.protocol = "http";
  access.peer = peer;
  access.method = method_;
  access.path = target_;
  access.status = response_.status;
  access.id = response_.id;
  access.bytes_in = bytes_in_;
  access.bytes_out = response_.body_size();
  access.took = Clock::now() - began_;
  log_access(access);
}

/// Closing at once would, where bytes of the client are unread, destroy the answer on its way.
template <class Stream>
void StreamConnection<Stream>::linger() {
  expect(Phase::lingering, kLinger);
  SystemError ignored;
  socket().shutdown(tcp::socket::shutdown_send, ignored);
  input_.clear();
  read();
}

template <class Stream>
void StreamConnection<Stream>::close() {
  phase_ = Phase::closed;
  deadline_ = Clock::time_point::max();
  SystemError ignored;
  socket().close(ignored);
}

}  // namespace

std::shared_ptr<Connection> make_connection(const Listening& listening, tcp::socket socket, ClientPtr client,
                                            Lease place, Seat seat) {
  if (const auto tls = listening.certificates.now())
    return std::make_shared<StreamConnection<TlsStream>>(listening, TlsStream(std::move(socket), tls->context),
                                                         std::move(client), std::move(place), std::move(seat));
  return std::make_shared<StreamConnection<tcp::socket>>(listening, std::move(socket), std::move(client),
                                                         std::move(place), std::move(seat));
}

}  // namespace colonnade::serve::http
