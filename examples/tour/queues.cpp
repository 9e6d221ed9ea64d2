// Chapter 5 of the guide: queues, and threads that fill them.
#include <rill/rill.hpp>

#include <iostream>

int main() {
  rill::graph g;
  rill::session s{g};

  // Examples are made by a step that runs again and again: here random points, and whether they lie within a circle.
  auto point = rill::uniform<float, 2>(g);
  auto within = rill::cast<std::int32_t>(rill::sum(rill::square(point)) < 1.f);

  auto q = rill::shuffle_queue<rill::of<float, 2>, rill::of<std::int32_t>>(
      g, {.capacity = 200, .min_after_dequeue = 50, .seed = 1}, "examples");
  auto limited = rill::fifo_queue<rill::of<std::int32_t>>(g, {}, "tickets");
  auto ticket = rill::placeholder<std::int32_t>(g, "ticket");
  auto put_ticket = limited.enqueue(ticket);
  for (int i = 0; i < 640; ++i) s.run({{ticket, rill::tensor(i)}}, put_ticket);
  s.run(limited.close());
  auto one_more = rill::dequeue(limited);  // fails with out_of_range after the last: the end of the input
  auto put = g.after({one_more}, [&] { return q.enqueue(point, within); });

  rill::queue_runner fill{s, put};                    // its own client thread
  auto [points, labels] = rill::dequeue_many<32>(q);  // expr<of<float, 32, 2>>, expr<of<std::int32_t, 32>>
  auto share = rill::mean(rill::cast<float>(labels));
  float sum = 0;
  int batches = 0;
  try {
    for (;; ++batches) sum += float(s.run(share));
  } catch (rill::error const& e) {
    if (e.code() != rill::code::out_of_range) throw;  // the end; an error of the thread would come here, too
  }
  fill.join();
  std::cout << batches << " batches; about π/4: " << sum / static_cast<float>(batches) << '\n';
  return batches == 20 ? 0 : 1;
}
