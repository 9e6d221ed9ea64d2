// The program whose compilation is measured: trains a network with a hidden layer by Adam and computes its accuracy.
#include <cstdint>
#include <cstdio>
#include <rill/ops/array/placeholder.hpp>
#include <rill/ops/math/cast.hpp>
#include <rill/ops/math/comparison.hpp>
#include <rill/ops/math/relu.hpp>
#include <rill/ops/matrix/matmul.hpp>
#include <rill/ops/network/softmax_cross_entropy.hpp>
#include <rill/ops/reduction/argmax.hpp>
#include <rill/run/session.hpp>
#include <rill/train/adam.hpp>

namespace {

rill::tensor noise(rill::shape const& extents) {
  rill::tensor t(rill::dtype::float32, extents);
  std::uint32_t bits = 1;
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.mutable_data<float>()[i] = static_cast<float>((bits = bits * 1664525 + 1013904223) >> 8) * 0x1p-27f - 0.0625f;
  return t;
}

}  // namespace

int main() {
  rill::graph g;
  auto const image = rill::placeholder<float, 32, 64>(g, "image");
  auto const label = rill::placeholder<std::int32_t, 32>(g, "label");
  auto const w1 = rill::variable(rill::constant<float, 64, 128>(g, noise({64, 128})), "w1");
  auto const b1 = rill::variable(rill::constant<float, 128>(g, noise({128})), "b1");
  auto const w2 = rill::variable(rill::constant<float, 128, 10>(g, noise({128, 10})), "w2");
  auto const b2 = rill::variable(rill::constant<float, 10>(g, noise({10})), "b2");

  auto const hidden = rill::relu(rill::matmul(image, w1) + b1);
  auto const logits = rill::matmul(hidden, w2) + b2;
  auto const loss = rill::mean(rill::softmax_cross_entropy(logits, label));
  auto const accuracy = rill::mean(rill::cast<float>(rill::argmax<1>(logits) == label));
  auto const train = rill::adam{.rate = 1e-3f}.minimize(loss);

  rill::session s{g};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(image, label), rill::outputs(loss, accuracy), train);
  rill::tensor const images = noise({32, 64});
  rill::tensor labels(rill::dtype::int32, {32});
  for (std::int32_t i = 0; i < 32; ++i) labels.mutable_data<std::int32_t>()[i] = i % 10;
  for (int i = 0; i < 1000; ++i) {
    auto const [l, a] = step(images, labels);
    if (i % 100 == 0)
      std::printf("%4d  loss %.4f  accuracy %.3f\n", i, static_cast<double>(float(l)), static_cast<double>(float(a)));
  }
}
