// The bodies of messages. Numbers and lists are written by Cereal; whatever is read may come from anybody.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/device/device_name.hpp"
#include "rill/device/step_progress.hpp"
#include "rill/net/frame.hpp"
#include "rill/run/tasks/exchange.hpp"
#include "rill/run/tasks/step_id.hpp"

namespace rill::net {

/// The version of the protocol. Processes with different ones do not talk with each other.
inline constexpr std::uint32_t protocol = 3;
inline constexpr std::string_view protocol_name = "rill:net";

template <class T>
concept in_message = requires(T& v) { v.fields(); };

template <class T> void put(wire::writer& to, T const& v);
template <class T> void get(wire::reader& from, T& v);

namespace detail {

template <class T> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<std::vector<T>> = true;
/// The least bytes that a value takes.
template <class T> constexpr std::size_t least() {
  if constexpr (std::is_arithmetic_v<T>) return sizeof(T);
  else if constexpr (std::same_as<T, std::string> || is_vector<T>) return sizeof(std::uint64_t);
  else return 1;
}

}  // namespace detail

template <class T> void put(wire::writer& to, T const& v) {
  if constexpr (in_message<T>) std::apply([&](auto&... field) { (put(to, field), ...); }, const_cast<T&>(v).fields());
  else if constexpr (std::same_as<T, std::vector<bool>>) {
    to(static_cast<std::uint64_t>(v.size()));
    for (bool each : v) to(each);
  } else if constexpr (detail::is_vector<T>) wire::save_list(to, v, [&](auto const& each) { put(to, each); });
  else if constexpr (std::same_as<T, step_id>) to(v.master, v.number);
  else if constexpr (std::same_as<T, edge_key>) to(v.edge, v.path);
  else if constexpr (std::same_as<T, device_name>) to(v.text());
  else to(v);
}
template <class T> void get(wire::reader& from, T& v) {
  if constexpr (in_message<T>) std::apply([&](auto&... field) { (get(from, field), ...); }, v.fields());
  else if constexpr (std::same_as<T, std::vector<bool>>) {
    for (auto n = from.count(1); n > 0; --n) {
      bool each = false;
      from(each);
      v.push_back(each);
    }
  } else if constexpr (detail::is_vector<T>)
    wire::load_list(from, detail::least<typename T::value_type>(), [&] { get(from, v.emplace_back()); });
  else if constexpr (std::same_as<T, step_id>) from(v.master, v.number);
  else if constexpr (std::same_as<T, edge_key>) from(v.edge, v.path);
  else if constexpr (std::same_as<T, device_name>) {
    std::string text;
    from(text);
    v = device_name::parse(text);
  } else from(v);
}

/// Returns values as the body of a message, and reads them again. Throws error(data_loss) for other bytes.
template <class... T> std::string body_of(T const&... values) {
  wire::writer to;
  (put(to, values), ...);
  return to.take();
}
template <class... T> void read_body(std::string_view body, T&... values) {
  wire::reader from(body);
  (get(from, values), ...);
  if (from.remaining() != 0) wire::fail("a message is longer than what it says");
}

// Each of the following is the body of the message of its name. `call` is the number that its answer has.

struct hello_body {
  std::string name{protocol_name};
  std::uint32_t version = protocol;
  std::string kernels = {};               ///< the instruction set
  std::uint64_t process = 0;              ///< a number that no other process has
  device_name task = {};                  ///< empty: of no cluster
  std::vector<device_name> devices = {};  ///< of a server
  std::vector<device_name> tasks = {};    ///< of a server: its cluster
  std::vector<std::string> addresses = {};
  auto fields() { return std::tie(name, version, kernels, process, task, devices, tasks, addresses); }
};
struct error_body {
  static constexpr std::size_t most_bytes = std::size_t{64} << 10;  // of its text
  std::uint64_t call = 0;
  std::uint8_t code = 0, cause = 0;
  std::string message = {}, node = {};
  auto fields() { return std::tie(call, code, cause, message, node); }
};
struct values_body {
  static constexpr std::size_t most = 100'000;  // names
  std::uint64_t call = 0;
  std::vector<std::string> variables = {};
  /// Throws error(resource_exhausted) for a body with more names, before they are read.
  static void check_number(std::string_view body) {
    wire::reader from(body);
    std::uint64_t asking = 0;
    from(asking);
    if (auto const n = from.count(sizeof(std::uint64_t)); n > most)
      throw error(code::resource_exhausted, "a request names " + std::to_string(n) + " variables; at most " +
                                                std::to_string(most) + " are allowed");
  }
  auto fields() { return std::tie(call, variables); }
};
struct add_body {
  std::uint64_t call = 0, share = 0;
  std::string bytes = {};  ///< share_codec.hpp
  auto fields() { return std::tie(call, share, bytes); }
};
struct share_body {
  std::uint64_t share = 0;
  auto fields() { return std::tie(share); }
};
struct run_body {
  std::uint64_t call = 0, share = 0;
  step_id step = {};
  std::uint64_t oldest = 0;  ///< steps of this master with lower numbers have ended
  std::uint64_t number = 0;
  std::uint64_t stream = 0;     ///< what random numbers are drawn by
  std::int64_t generation = 0;  ///< of the session
  std::int64_t time_left = -1;  ///< in nanoseconds; -1: the step has no deadline
  bool watched = false, logged = false;
  auto fields() { return std::tie(call, share, step, oldest, number, stream, generation, time_left, watched, logged); }
};
struct call_body {
  std::uint64_t call = 0;
  auto fields() { return std::tie(call); }
};
struct forget_body {
  step_id step = {};
  auto fields() { return std::tie(step); }
};
struct explain_body {
  std::uint64_t call = 0, share = 0;
  std::uint32_t stages = 0;
  auto fields() { return std::tie(call, share, stages); }
};
struct pull_body {
  std::uint64_t call = 0;
  step_id step = {};
  edge_key key = {};
  auto fields() { return std::tie(call, step, key); }
};
struct took_body {
  std::uint64_t call = 0;
  step_id step = {};
  std::uint32_t edge = 0;
  std::uint64_t values = 0;  ///< how many more have been taken
  auto fields() { return std::tie(call, step, edge, values); }
};
struct push_body {
  step_id step = {};
  edge_key key = {};
  auto fields() { return std::tie(step, key); }
};
struct ran_body {
  struct node {
    std::string name = {}, operation = {};
    std::int64_t begin = 0, end = 0;  ///< nanoseconds before the message was sent
    auto fields() { return std::tie(name, operation, begin, end); }
  };
  std::uint64_t call = 0, step = 0;
  std::vector<node> nodes = {};
  auto fields() { return std::tie(call, step, nodes); }
};
struct print_body {
  static constexpr std::size_t most_bytes = (std::size_t{16} << 20) - 64;  // of a line
  std::uint64_t call = 0;
  std::string line = {};
  auto fields() { return std::tie(call, line); }
};

struct status_body {
  struct item {
    std::string what = {};
    std::int64_t lasted = 0;  ///< nanoseconds
    auto fields() { return std::tie(what, lasted); }
  };
  static constexpr std::size_t most = 16, most_bytes = 500;  // of the items, and of what one says
  std::uint64_t call = 0;
  std::vector<item> items = {};
  error_body failed = {};  ///< code 0: no node has failed
  auto fields() { return std::tie(call, items, failed); }
};

struct step_body {
  std::uint64_t call = 0;
  step_id step = {};
  auto fields() { return std::tie(call, step); }
};
struct moved_body {
  struct value {
    std::uint8_t kind = 0;
    edge_key key = {};
    device_name peer = {};
    std::uint64_t bytes = 0;
    std::int64_t ago = 0;  ///< nanoseconds before the message was sent
    auto fields() { return std::tie(kind, key, peer, bytes, ago); }
  };
  static constexpr std::size_t most = 200;
  std::uint64_t call = 0;
  std::vector<value> values = {};
  auto fields() { return std::tie(call, values); }
};

/// Returns an error as a message, and a message as an error.
inline error_body as_body(std::uint64_t call, error const& e) {
  return {.call = call,
          .code = static_cast<std::uint8_t>(e.code()),
          .cause = static_cast<std::uint8_t>(e.cause()),
          .message = e.message().substr(0, error_body::most_bytes),
          .node = e.node().substr(0, error_body::most_bytes)};
}
inline error as_error(error_body const& b) {
  auto const known = b.code <= static_cast<std::uint8_t>(code::internal);
  auto const why = b.cause <= static_cast<std::uint8_t>(cause::derived) ? static_cast<cause>(b.cause) : cause::own;
  return {{known ? static_cast<code>(b.code) : code::internal, why}, b.message, b.node};
}

/// Returns why the other side ends the connection: what a `refused` says.
inline error refusal_of(message const& m) {
  error_body why;
  read_body(m.body, why);
  return as_error(why);
}

/// Returns what a run has been doing for long as a message, of which the most are told first.
inline status_body as_status(std::uint64_t call, std::vector<lasting> const& all, failure const& why) {
  status_body made{.call = call};
  for (auto const& each : all) {
    if (made.items.size() == status_body::most) break;
    made.items.push_back({each.what.substr(0, status_body::most_bytes), each.lasted.count()});
  }
  if (why) made.failed = as_body(call, *why);
  return made;
}
/// Reads what it has been doing.
inline std::vector<lasting> lasting_of(status_body const& b) {
  std::vector<lasting> all;
  for (auto const& each : b.items) {
    if (all.size() == status_body::most) break;
    auto const lasted = std::clamp<std::int64_t>(each.lasted, 0, std::int64_t{1} << 60);
    all.push_back({each.what.substr(0, status_body::most_bytes), std::chrono::nanoseconds(lasted)});
  }
  return all;
}

/// The number that a message begins with, by which it belongs to a call. Throws error(data_loss).
inline std::uint64_t call_of(message const& m) {
  wire::reader from(m.body);
  std::uint64_t call = 0;
  from(call);
  return call;
}

}  // namespace rill::net
