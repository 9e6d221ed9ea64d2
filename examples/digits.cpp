// Trains a network on handwritten digits and shows its results. examples/digits --help lists the options.
#include <rill/io.hpp>
#include <rill/rill.hpp>

#include <cstdio>
#include <exception>
#include <optional>
#include <vector>

#include "device.hpp"
#include "digits/data.hpp"
#include "digits/model.hpp"
#include "digits/options.hpp"
#include "digits/report.hpp"

namespace digits {

split load(options const& o) {
  if (!o.images.empty()) return read_idx(o.images, o.labels);
  return read_csv(o.data.empty() ? digits_csv() : o.data);
}

std::int64_t parameters(model const& m) {
  std::int64_t n = 0;
  for (auto const& v : rill::trainable_variables(m.loss)) n += elements(v.type().shape());
  return n;
}

void train(rill::session& s, model const& m, split const& data, options const& o, rill::saver& saver) {
  auto const usual = o.images.empty() ? 20 : 3;
  auto epochs = o.epochs.value_or(usual);
  rill::batch_position position;
  if (o.resume) {
    auto const found = saver.restore(s);
    if (!found)
      throw usage_error("--resume: found no checkpoint in '" + o.checkpoints.string() +
                        "'; train once without --resume");
    position = found->position;
    std::printf("Resuming from %s\n", found->index().c_str());
    if (!o.epochs && position.epoch >= epochs) epochs = position.epoch + usual;  // training had ended: train on
  } else s.run(rill::initializer(s.graph()));

  auto step = s.prepare(rill::inputs(m.image, m.label), rill::outputs(m.loss, m.accuracy), m.train);
  auto batches = rill::batches(data.training, 32, rill::epochs(epochs), {.seed = o.seed});
  batches.resume(position);
  std::optional<progress> shown;
  for (auto const& [images, labels] : batches) {
    if (!shown) shown.emplace(position.epoch + 1, epochs, batches.per_epoch());
    auto const [loss, accuracy] = step(images, labels);
    shown->step(loss.template item<float>(), accuracy.template item<float>(), labels.elements());
    if (batches.position().epoch == position.epoch) continue;
    shown->finish();
    shown.reset();
    saver.save(s, position = batches.position());
  }
}

/// Returns the digit that the network predicts for each image.
std::vector<std::int32_t> predict(rill::session& s, model const& m, rill::tensor const& images) {
  std::vector<std::int32_t> all;
  for (auto const& [some] : rill::batches(std::tuple{images}, 512, rill::epochs(1), {.shuffle = false})) {
    auto const numbers = s.run({{m.image, some}}, m.prediction).to(rill::host);
    all.insert(all.end(), numbers.span<std::int32_t>().begin(), numbers.span<std::int32_t>().end());
  }
  return all;
}

void run(options const& o) {
  auto const data = load(o);
  std::printf("%lld digits of %lldx%lld pixels for training, %lld for the test\n",
              static_cast<long long>(count(data.training)), static_cast<long long>(data.side()),
              static_cast<long long>(data.side()), static_cast<long long>(count(data.test)));
  rill::graph g(o.seed);
  auto const m = example::on_device(g, o.device, [&] { return record(g, o.model, data.side()); });
  rill::session s{g, example::with_device(o.device, {.threads = o.threads})};
  std::printf("Model %s: %lld parameters, %d thread%s\n", o.model.c_str(), static_cast<long long>(parameters(m)),
              s.threads(), s.threads() == 1 ? "" : "s");
  rill::saver saver(g, o.checkpoints);
  train(s, m, data, o, saver);

  auto const predicted = predict(s, m, std::get<0>(data.test));
  auto const labels = std::get<1>(data.test).span<std::int32_t>();
  long long right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += predicted[i] == labels[i];
  std::printf("\nTest accuracy %.4f: %lld of %zu digits that it has not been trained on\n",
              static_cast<double>(right) / static_cast<double>(labels.size()), right, labels.size());
  print_confusion(predicted, data.test);
  print_digits(predicted, data.test);
  if (auto const last = saver.checkpoints(); !last.empty())
    std::printf("\nSaved as %s; --resume continues from it\n", last.back().index().c_str());
}

}  // namespace digits

int main(int count, char** words) {
  try {
    auto const o = digits::parse(count, words);
    if (o.help) std::fputs(digits::help.data(), stdout);
    else digits::run(o);
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "digits: %s\n", e.what());
    return 2;
  }
}
