// Bytes as what comes over a connection: it ends once, with a reason, and what has come before is read again as it is
// written.
#include "seeded.hpp"

#include <cstring>
#include <memory>

#include "rill/net/link.hpp"

namespace rill::fuzz {
namespace {

using namespace rill::net;

// Bytes that come, a few at a time, and bytes that are written.
class memory_stream final : public byte_stream {
 public:
  memory_stream(asio::io_context& io, std::string_view bytes, std::size_t piece, std::string& written)
      : io_(io), bytes_(bytes), piece_(piece), written_(written) {}
  asio::any_io_executor executor() override { return io_.get_executor(); }
  asio::awaitable<std::size_t> read(asio::mutable_buffer to) override {
    auto const n = std::min({piece_, to.size(), bytes_.size()});
    if (n == 0) throw std::system_error(make_error_code(asio::error::eof));
    std::memcpy(to.data(), bytes_.data(), n);
    bytes_.remove_prefix(n);
    co_return n;
  }
  std::size_t write(std::span<asio::const_buffer const> from, std::error_code&) override {
    auto const before = written_.size();
    for (auto const& b : from) written_.append(static_cast<char const*>(b.data()), b.size());
    return written_.size() - before;
  }
  asio::awaitable<void> writable() override { co_return; }
  void close() override {}

 private:
  asio::io_context& io_;
  std::string_view bytes_;
  std::size_t piece_;
  std::string& written_;
};

class collector final : public link_handler {
 public:
  void came(message m) override {
    require(ends == 0, "nothing comes behind the end");
    messages.push_back(std::move(m));
  }
  void closed(failure why) override {
    require(why != nullptr, "an end has a reason");
    ++ends;
  }
  std::vector<message> messages;
  int ends = 0;
};

std::shared_ptr<link> link_of(asio::io_context& io, std::string_view bytes, std::size_t piece, std::string& written) {
  return std::make_shared<link>(std::make_unique<memory_stream>(io, bytes, piece, written),
                                net_options{.most_incoming = 1 << 20}, std::make_shared<traffic_count>());
}

// The messages that these bytes are, of a side that has said who it is or has not.
std::vector<message> messages_of(std::string_view bytes, std::size_t piece, bool trusted) {
  asio::io_context io;
  std::string beats;
  auto const box = std::make_shared<collector>();
  auto const l = link_of(io, bytes, piece, beats);
  if (trusted) l->trust();
  l->start(box);
  io.run();
  require(box->ends == 1, "a connection ends once");
  return std::move(box->messages);
}
std::string bytes_of(std::vector<message> const& messages) {
  asio::io_context io;
  std::string written;
  auto const l = link_of(io, {}, 1, written);
  for (auto const& m : messages) l->send(m);
  io.run();
  return written;
}

bool is_same(message const& a, message const& b) {
  if (a.kind != b.kind || a.body != b.body || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i)
    if (!same_bits(a.tensors[i], b.tensors[i])) return false;
  return true;
}

}  // namespace

std::vector<std::string> seeds() {
  tensor const numbers = tensor::adopt(std::vector<float>{1, 2, 3}, shape{3});
  tensor const words = tensor::adopt(std::vector<std::string>{"", "two"}, shape{2});
  message const hello{.kind = message_kind::hello, .body = "who it is"};
  message const push{.kind = message_kind::push, .body = "step", .tensors = {numbers, words, tensor(true)}};
  std::uint64_t const length = 12;
  std::string const description(sizeof length, '\0');  // of no tensors
  auto const long_one = text_of({.bytes = sizeof length, .kind = frame_kind::long_, .message = 3, .stream = 9}) +
                        std::string(reinterpret_cast<char const*>(&length), sizeof length) +
                        text_of({.bytes = 12, .kind = frame_kind::chunk, .stream = 9}) + description + "body";
  std::string const begin = "\x01\x40";  // trusted, 64 bytes at a time
  return {begin + bytes_of({hello}), begin + bytes_of({push}), begin + bytes_of({hello, push, hello}), begin + long_one,
          begin + text_of({.kind = frame_kind::beat}) + bytes_of({push})};
}

void read(std::string_view bytes) {
  if (bytes.size() < 2) return;
  auto const piece = std::size_t{1} + static_cast<unsigned char>(bytes[1]);
  for (auto const& m : messages_of(bytes.substr(2), piece, bytes[0] % 2 != 0)) {
    auto const again = messages_of(bytes_of({m}), std::size_t{1} << 20, true);
    require(again.size() == 1 && is_same(again[0], m), "what has come is read again as it is written");
  }
}

}  // namespace rill::fuzz
