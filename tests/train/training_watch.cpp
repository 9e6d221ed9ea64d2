#include "rill/train/training_watch.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>

#include "rill/io.hpp"

namespace rill {
namespace {

using detail::caught_signals;
using detail::training_watch;

void (*handler_of(int signal))(int) {
  struct sigaction now = {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

TEST(caught_signals, are_told_to_all_that_want_them) {
  auto const before = handler_of(SIGTERM);
  {
    caught_signals const one(true), unwanted(false);
    std::optional<caught_signals> two(std::in_place, true);
    EXPECT_FALSE(one.told());
    ::raise(SIGTERM);
    EXPECT_TRUE(one.told() && two->told());
    EXPECT_FALSE(unwanted.told());
    EXPECT_EQ(handler_of(SIGTERM), SIG_DFL) << "a second one ends the process";
    two.reset();
    EXPECT_NE(handler_of(SIGINT), SIG_DFL) << "one is still there";
  }
  EXPECT_EQ(handler_of(SIGTERM), before);
  caught_signals const later(true);
  EXPECT_FALSE(later.told());
}

TEST(training_watch, stops_when_what_it_looks_at_fails) {
  std::atomic<bool> fails = false;
  training_watch const watch([&] { return fails ? failed(code::aborted, "it failed") : nullptr; });
  EXPECT_FALSE(watch.why());
  EXPECT_FALSE(watch.token().stop_requested());
  fails = true;
  while (!watch.token().stop_requested()) std::this_thread::yield();
  EXPECT_EQ(watch.why()->message(), "it failed");
  training_watch const throwing([]() -> failure { throw std::runtime_error("it threw"); });
  while (!throwing.token().stop_requested()) std::this_thread::yield();
  EXPECT_NE(throwing.why()->message().find("it threw"), std::string::npos);
}

}  // namespace
}  // namespace rill
