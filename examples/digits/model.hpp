// The networks, as functions from images to logits, with their losses and training steps.
#pragma once
#include <rill/rill.hpp>

#include <string_view>

namespace digits {

/// The handles of a network in a graph.
struct model {
  rill::value image, label, prediction, loss, accuracy;
  rill::operation train;
};

template <class Image> auto linear(Image image) { return rill::dense<10>(rill::flatten(image), "logits"); }

template <class Image> auto mlp(Image image) {
  auto hidden = rill::relu(rill::dense<128>(rill::flatten(image), "hidden", rill::he()));
  return rill::dense<10>(hidden, "logits");
}

template <class Image> auto convolutional(Image image) {
  auto first = rill::max_pool(rill::relu(rill::conv2d<16, 3>(image, "first", rill::he())));
  auto second = rill::max_pool(rill::relu(rill::conv2d<32, 3>(first, "second", rill::he())));
  auto hidden = rill::relu(rill::dense<64>(rill::flatten(second), "hidden", rill::he()));
  return rill::dense<10>(hidden, "logits");
}

/// Records the network named `kind` for images of Side x Side pixels, with its loss and training step.
template <std::int64_t Side> model record(rill::graph& g, std::string_view kind) {
  auto image = rill::placeholder<float, "batch", Side, Side, 1>(g, "image");
  auto label = rill::placeholder<std::int32_t, "batch">(g, "label");
  auto logits = kind == "linear" ? linear(image) : kind == "mlp" ? mlp(image) : convolutional(image);
  auto loss = rill::mean(rill::softmax_cross_entropy(logits, label));
  auto prediction = rill::argmax<1>(logits);
  auto accuracy = rill::mean(rill::cast<float>(prediction == label));
  auto train = rill::adam{.rate = 2e-3f}.minimize(loss);
  return {image, label, prediction, loss, accuracy, train};
}
inline model record(rill::graph& g, std::string_view kind, std::int64_t side) {
  return side == 8 ? record<8>(g, kind) : record<28>(g, kind);
}

}  // namespace digits
