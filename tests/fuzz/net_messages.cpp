// Bytes as what another process sends: they are refused, or are what they are written as again.
#include "seeded.hpp"

#include "rill/net.hpp"
#include "rill/net/messages.hpp"
#include "rill/net/share_codec.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill::fuzz {
namespace {

using namespace rill::net;

// Reads a body, and writes it again.
template <class Body> std::string again(std::string_view bytes) {
  Body body;
  read_body(bytes, body);
  return body_of(body);
}

std::string read_one(char kind, std::string_view bytes) {
  switch (kind) {
    case 0: {
      auto const [notes, small, body] = read_description(bytes);
      return described(notes, small, body);
    }
    case 1: {
      auto const s = share_from_bytes(bytes, all_operations());
      return share_as_bytes(s.nodes, s.fed, s.how);
    }
    case 2:
      return again<hello_body>(bytes);
    case 3:
      return again<error_body>(bytes);
    case 4:
      return again<values_body>(bytes);
    case 5:
      return again<add_body>(bytes);
    case 6:
      return again<rill::net::run_body>(bytes);
    case 7:
      return again<ran_body>(bytes);
    case 8:
      return again<push_body>(bytes);
    case 9:
      return again<pull_body>(bytes);
    default:
      require(bytes.size() < sizeof(frame_head) || text_of(head_of(bytes.data())).size() == sizeof(frame_head),
              "a head has 16 bytes");
      return std::string(bytes);
  }
}

// A share with branches, loops and functions, as a task gets it.
std::string a_share() {
  graph g(3);
  auto const x = placeholder<float, 2>(g, "x");
  auto const w = variable<float, 2>(g, "w", zeros());
  auto const y =
      std::get<1>(while_loop([](auto i, auto) { return i < 3; },
                             [&](auto i, auto a) { return std::tuple(i + 1, a * 2.f + w); }, constant(g, 0), x));
  subgraph sub;
  for (std::size_t i = 0; i < g.size(); ++i) {
    sub.nodes.push_back(g[i]);
    sub.origin.push_back(0);
  }
  sub.outputs = {y.endpoint()};
  return share_as_bytes(sub, {}, {.tasks = {device_name::parse("/job:worker/task:1")}});
}

}  // namespace

std::vector<std::string> seeds() {
  auto const with = [](char kind, std::string const& bytes) { return std::string(1, kind) + bytes; };
  hello_body hello{.kernels = "x86-64-v3", .task = device_name::parse("/job:ps/task:0")};
  hello.tasks = {hello.task};
  hello.addresses = {"127.0.0.1:7000"};
  return {with(0, described({{dtype::float32, extents{2, 3}, 24}, {dtype::string, extents{1}, 12}},
                            std::string(36, 'x'), "body")),
          with(1, a_share()),
          with(2, body_of(hello)),
          with(3, body_of(error_body{1, 2, 1, "why", "node"})),
          with(4, body_of(values_body{1, {"a", "b"}})),
          with(5, body_of(add_body{1, 2, "share"})),
          with(6, body_of(rill::net::run_body{.call = 1, .share = 2, .watched = true})),
          with(7, body_of(ran_body{.call = 1, .step = 2, .nodes = {{"n", "add", 3, 4}}})),
          with(8, body_of(push_body{{1, 2}, {3, 4}})),
          with(9, body_of(pull_body{1, {1, 2}, {3, 4}})),
          with(10, text_of({.bytes = 8, .kind = frame_kind::long_, .message = 3, .stream = 9}))};
}

void read(std::string_view bytes) {
  if (bytes.empty()) return;
  auto const rest = bytes.substr(1);
  auto const written = unless_refused([&] { return read_one(bytes[0], rest); });
  if (!written) return;
  // Names of tasks can be spelled in several ways; what is written again stays.
  auto const twice = unless_refused([&] { return read_one(bytes[0], *written); });
  require(twice && *twice == *written, "what was read and written again is read as the same");
}

}  // namespace rill::fuzz
