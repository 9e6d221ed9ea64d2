#include "rill/ops/image/images.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::resized(of<float, "n", 4, unknown, 3>, 2, 5, "") == of<float, "n", 2, 5, 3>);
static_assert(ops::resized(of<float, 4, 4, 3>, 2, 5, "") == of<float, 2, 5, 3>);
static_assert(ops::image_extents(of<float, 7, 4, 5, 3>).count == 7);
static_assert(ops::image_extents(of<float, 4, 5, 3>).count == 1);
static_assert(ops::image_extents(of<float, 4, 5, 3>).width == 5);

TEST(images, have_three_axes_or_four) {
  test::expect_error(code::invalid_argument, "why", [] { ops::resized(of<float, 4, 4>, 2, 2, "why"); });
  test::expect_error(code::invalid_argument, "why", [] { ops::resized(of<float, 1, 1, 1, 4, 4>, 2, 2, "why"); });
  EXPECT_FALSE(ops::resized(type::of_unknown_rank(dtype::float32), 2, 2, "why").has_rank());
}

}  // namespace
}  // namespace rill
