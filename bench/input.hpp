// The cost of input alone: digits from a file through a queue, in batches, without a network that learns.
#pragma once
#include <rill/ops/control/flow.hpp>
#include <rill/ops/input/decode_csv.hpp>
#include <rill/ops/input/reader.hpp>
#include <rill/ops/queues/queue.hpp>
#include <rill/run/queue_runner.hpp>

#include <filesystem>

#include "../examples/source_folder.hpp"
#include "model.hpp"

namespace bench {

inline constexpr int pipeline_epochs = 10, pipeline_images = 1797 * pipeline_epochs;

/// Takes ten epochs of digits, shuffled, in batches of 32. One client thread per thread of the session reads, decodes
/// and scales them.
inline step shuffle_batch() {
  auto const file = rill::source_folder() / "examples/data/digits.csv";
  return [file] {
    model m;
    auto const q = rill::shuffle_queue<rill::of<float, 64>, rill::of<std::int32_t>>(
        m.graph, {.capacity = 2000, .min_after_dequeue = 500, .seed = 1});
    auto const line = rill::csv_reader(m.graph, {file.string()}, {.epochs = pipeline_epochs}).next();
    auto const [pixels, digit] = rill::decode_csv<rill::of<float, 64>, rill::of<std::int32_t>>(line);
    auto const put = q.enqueue(pixels * (1 / 16.f), digit);
    auto const [images, labels] = rill::dequeue_up_to<32>(q);
    m.session.run(rill::initializer(m.graph));
    rill::queue_runner const fill{m.session,
                                  std::vector<rill::operation>(static_cast<std::size_t>(m.session.threads()), put)};
    auto batch = m.session.prepare(rill::inputs(), rill::outputs(images, labels));
    std::int64_t seen = 0;
    try {
      for (;;) seen += std::get<1>(batch()).elements();
    } catch (rill::error const& e) {
      if (e.code() != rill::code::out_of_range || seen != pipeline_images) throw;
    }
  };
}

}  // namespace bench
