#include "rill/ops/state/shard_store.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rill {
namespace {

TEST(snapshots, are_of_the_last_attempt_of_each_saver) {
  detail::snapshots all;
  auto const of = [](float x) { return std::vector<named_tensor>{{"x", tensor(x)}}; };
  all.put("a", "1", of(1));
  all.put("b", "1", of(2));
  all.put("a", "2", of(3));  // the first attempt was given up
  EXPECT_EQ(all.size(), 2u);
  all.drop("a", "1");
  EXPECT_EQ(all.take("a", "2")[0].value.item<float>(), 3.f);
  auto const lost = [&](std::string const& saver, std::string const& attempt) {
    try {
      all.take(saver, attempt);
    } catch (error const& e) {
      return e.cause() == cause::lost;
    }
    return false;
  };
  EXPECT_TRUE(lost("a", "2") && lost("b", "2"));
  all.drop("b", "1");
  EXPECT_EQ(all.size(), 0u);
}

}  // namespace
}  // namespace rill
