// What random operations share. Their numbers come from a counter-based generator (base/philox.hpp), keyed by the
// graph's seed, a number of the node and the step. So the bits depend neither on the number of threads nor on passes
// that move the node.
#pragma once
#include "rill/base/philox.hpp"
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

namespace rill::ops {

/// A call of a random kernel.
struct random_call {
  random_stream stream;
  void* to;
  std::size_t n;
  double a, b;         ///< of floats: the bounds, or mean and standard deviation
  std::int64_t first;  ///< of integers: the lower bound
  std::uint64_t count;
};
struct random_table {
  std::array<void (*)(random_call const&, parallel const&), dtype_count> run{};
};

/// What random operations share: no input, or one input that determines the extents of the result.
struct draw_rules {
  static constexpr std::int8_t arity = -2;
  static constexpr std::uint32_t shape_only = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr std::string_view draws_random = "key";
  using kernels = random_table;

  static constexpr type drawn(type const& of, std::span<type const> like, checks expects = {}) {
    expects(like.size() <= 1, "a random operation takes at most one operand, for its extents");
    return like.empty() ? of : like[0].with(of.element);
  }
  // The numbers do not depend on the operand's elements.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return std::vector<gradient>(r.inputs());
  }
  template <class Op> static kernel make(kernel_request const& r, random_call c, std::int64_t key);
};

}  // namespace rill::ops

namespace rill::detail {

inline std::int64_t random_key(graph& g) { return g.random_key(); }

}  // namespace rill::detail

#if RILL_KERNELS
#include "rill/ops/random/random_kernels.hpp"

#endif

#if RILL_DEFINITIONS
#include "rill/device/step.hpp"

namespace rill::ops {

template <class Op> kernel draw_rules::make(kernel_request const& r, random_call c, std::int64_t key) {
  auto const element = r.outputs[0].element;
  auto const run = kernels_of<Op>(element).run[static_cast<std::size_t>(element)];
  c.n = static_cast<std::size_t>(rill::elements(r.outputs[0].shape()));
  c.stream.key = random_stream::key_of(r.seed, static_cast<std::uint64_t>(key));
  return kernel([=](kernel_call const& call) {
    auto with = c;
    with.to = call.out(0);
    with.stream.step = call.step.stream;
    run(with, call.threads);
  });
}

}  // namespace rill::ops
#endif
