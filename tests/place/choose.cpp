#include "rill/place/choose.hpp"

#include "place/targets.hpp"

namespace rill {
namespace {

TEST(choose_near_inputs, adds_up_the_bytes_of_inputs_by_device) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const two = [&](char const* device) {
    return g.on(device, [&] { return std::pair(value(exp(x)), value(neg(x))); });
  };
  auto const [a, b] = two("accelerator:0");
  auto const [c, d] = two("accelerator:1");
  auto const y = concat({a, b, c}, 0);
  auto const p = placed(part_of(g, {y, d}, {}, {x}), machine());
  EXPECT_EQ(p.device(y), accelerator0);
  EXPECT_EQ(p.reason(y), "next to its largest input 'exp'");
}

TEST(choose_near_inputs, does_not_stay_beside_what_the_host_alone_can_make) {
  graph g;
  auto const x = placeholder<float, 1000>(g, "x");
  auto const y = exp(x);
  EXPECT_EQ(placed(part_of(g, {y}, {}, {x}), machine()).device(y), accelerator1);
}

TEST(choose_near_inputs, keeps_counters_and_predicates_on_the_host) {
  graph g;
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const next = i + 1;
  auto const more = next < 10;
  auto const step = variable(constant(g, std::int64_t{0}), "step");
  auto const count = assign_add(step, constant(g, std::int64_t{1}));
  auto const p = placed(part_of(g, {more}, {count}, {i}), machine());
  for (auto const& v : {value(next), value(more), value(step), value(count)}) {
    EXPECT_EQ(p.device(v), cpu0) << v;
  }
  EXPECT_EQ(p.reason(more), "counters and predicates stay on the host");
}

TEST(choose_near_inputs, takes_the_faster_memory_of_devices_that_compute_alike) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto devices = machine();
  devices[accelerator0].flops = devices[accelerator1].flops;
  devices[accelerator0].bandwidth = devices[accelerator1].bandwidth * 2;
  auto const y = exp(x);
  EXPECT_EQ(placed(part_of(g, {y}, {}, {x}), devices).device(y), accelerator0);
}

}  // namespace
}  // namespace rill
