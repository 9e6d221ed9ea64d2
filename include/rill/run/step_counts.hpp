// The counts by which the steps of a session are numbered and draw random numbers. Each client, training and other
// steps have counts of their own, so that none of them shifts the random numbers of another.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/base/philox.hpp"
#include "rill/base/utf8.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/first_draws.hpp"
#include "rill/run/draw_counts.hpp"
#include "rill/run/step_uses.hpp"

namespace rill {

/// Numbers the steps of a session. Several threads may use it at the same time.
class step_counts {
 public:
  /// Gives a beginning step its number, and the stream of its random numbers.
  [[gnu::always_inline]] void number(step_context& step, step_uses const& uses) {
    step.number = step.stream = begun_.fetch_add(1, std::memory_order_relaxed);
    if (uses.first_values) step.stream = first_values_stream;
    else if (uses.draws) step.stream = next_stream(step.client, uses.trains);
    step.client = nullptr;  // the name belongs to the options of the run, which may end first
  }

  /// Returns the number of steps begun so far, of all clients.
  std::uint64_t begun() const { return begun_.load(); }
  /// Sets the number of steps begun, and each count of draws, to `n`. Throws error(invalid_argument) if it is above
  /// 2^63 - 1.
  void set(std::uint64_t n) {
    set(draw_counts{{{"", n}}, {{"", n}}, n});
    begun_.store(n);
  }
  draw_counts draws() const;
  /// Sets the counts of draws. Throws error(invalid_argument) if one is above 2^63 - 1, or a name is not UTF-8, as
  /// checkpoints could not contain it; then nothing changes.
  void set(draw_counts const& counts);

 private:
  struct client_counts {
    std::uint64_t training, others;
  };

  // Training has streams of its own, so that the n-th step of training and the n-th other step draw different numbers.
  std::uint64_t next_stream(std::string const* client, bool trains) {
    if (client) return next_stream_of(*client, trains);
    auto const n = (trains ? training_ : others_).fetch_add(1, std::memory_order_relaxed);
    return trains ? random_stream::key_of(1, n) : n;
  }
  std::uint64_t next_stream_of(std::string const& client, bool trains);

  std::atomic<std::uint64_t> begun_{0}, training_{0}, others_{0};
  mutable std::mutex mutex_;
  std::map<std::string, client_counts> clients_;
  std::uint64_t first_ = 0;
};

#if RILL_RUNTIME

namespace detail {

inline void expect_count(std::uint64_t n, std::string const& client) {
  if (n > INT64_MAX)
    throw error(code::invalid_argument, "expected a number of steps from 0 to 2^63 - 1, got " + std::to_string(n) +
                                            (client.empty() ? "" : " for the client '" + readable(client) + "'"));
}
inline void expect_counts(std::map<std::string, std::uint64_t> const& all) {
  for (auto const& [client, n] : all) {
    if (!decode_utf8(client))
      throw error(code::invalid_argument, "expected the name of a client in UTF-8, got '" + readable(client) + "'");
    expect_count(n, client);
  }
}

}  // namespace detail

RILL_INLINE std::uint64_t step_counts::next_stream_of(std::string const& client, bool trains) {
  std::uint64_t name = 0;
  for (char c : client) name = random_stream::key_of(name, static_cast<unsigned char>(c));
  std::lock_guard lock(mutex_);
  auto& counts = clients_.try_emplace(client, client_counts{first_, first_}).first->second;
  auto& count = trains ? counts.training : counts.others;
  return random_stream::key_of(random_stream::key_of(name, trains), count++);
}

RILL_INLINE draw_counts step_counts::draws() const {
  std::lock_guard lock(mutex_);
  draw_counts all{{{"", training_.load()}}, {{"", others_.load()}}, first_};
  for (auto const& [name, counts] : clients_) {
    all.training.emplace(name, counts.training);
    all.others.emplace(name, counts.others);
  }
  return all;
}

RILL_INLINE void step_counts::set(draw_counts const& counts) {
  detail::expect_counts(counts.training), detail::expect_counts(counts.others);
  detail::expect_count(counts.first, "");
  auto const of = [&](auto const& all, std::string const& name) {
    auto const at = all.find(name);
    return at == all.end() ? counts.first : at->second;
  };
  std::map<std::string, client_counts> clients;
  for (auto const* all : {&counts.training, &counts.others})
    for (auto const& [name, _] : *all)
      if (!name.empty()) clients.try_emplace(name, client_counts{of(counts.training, name), of(counts.others, name)});
  std::lock_guard lock(mutex_);
  clients_ = std::move(clients);
  first_ = counts.first;
  training_.store(of(counts.training, ""));
  others_.store(of(counts.others, ""));
}

#endif

}  // namespace rill
