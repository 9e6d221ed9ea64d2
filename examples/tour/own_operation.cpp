// Two operations of your own: one from a lambda, and one from a struct with its rules side by side.
#include <rill/rill.hpp>

#include <algorithm>
#include <iostream>

// Reverses the elements of each row.
struct reverse_op {
  static constexpr std::string_view name = "reverse";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::type infer(rill::no_attributes, rill::type const& x, rill::checks expects = {}) {
    expects(x.element == rill::dtype::float32, "reverse: expected float32");
    expects(x.has_rank() && x.rank > 0, "reverse: expected at least one axis");
    return x;
  }
  static rill::cost work(rill::no_attributes, std::span<rill::type const> in, std::span<rill::type const>) {
    return {0, 8.0 * static_cast<double>(rill::elements(in[0].shape()))};  // reads and writes each element once
  }
  template <class V> static std::vector<rill::gradient> grad(rill::gradient_request const& r) {
    return {rill::record<reverse_op>(V(r.dy()))};
  }
  static rill::kernel cpu(rill::kernel_request const& r) {
    auto const n = rill::elements(r.outputs[0].shape()), row = r.outputs[0].shape()[r.outputs[0].rank - 1];
    return rill::kernel([=](rill::kernel_call const& call) {
      for (std::int64_t at = 0; at < n; at += row)
        std::reverse_copy(call.in<float>(0) + at, call.in<float>(0) + at + row, call.out<float>(0) + at);
    });
  }
};
template <rill::operand X> auto reverse(X x) { return rill::record<reverse_op>(x); }

int main() {
  rill::graph g;
  auto x = rill::placeholder<float, "n", 3>(g, "x");
  auto beta = rill::constant(g, 1.5f);

  auto swish = [](auto v, auto b) { return v / (1.f + exp(-b * v)); };
  auto y = rill::fuse<"swish">(swish, x, beta);  // one kernel, differentiable
  auto z = reverse(y);
  auto [dx] = rill::gradients(rill::sum(z * rill::constant<float, 3>(g, {1, 10, 100})), x);

  rill::session s{g};
  auto const [vy, vz, vdx] = s.run({{x, rill::matrix<float>({{-1, 0, 1}, {2, 3, 4}})}}, y, z, dx);
  std::cout << vy << '\n' << vz << '\n' << vdx << '\n';
}
