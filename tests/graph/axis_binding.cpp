#include "rill/graph/axis_binding.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(axis_binding, gives_a_name_one_extent_for_the_step) {
  axis_binding axes;
  axes.bind(of<float, "n", 2>, of<float, 5, 2>, "a");
  EXPECT_NO_THROW(axes.bind(of<float, "n">, of<float, 5>, "b"));
  auto const e = error_of([&] { axes.bind(of<float, "n">, of<float, 6>, "c"); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.node(), "c");
  EXPECT_EQ(e.message(), "axis 'n' is 5 elsewhere in this step and 6 here");
  EXPECT_EQ(axes.resolved(of<float, "n", "m", unknown>), (of<float, 5, "m", unknown>));
  EXPECT_EQ(axes.resolved(type::of_unknown_rank(dtype::float32)), type::of_unknown_rank(dtype::float32));
}

}  // namespace
}  // namespace rill
