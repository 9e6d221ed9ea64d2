// Trains a network on handwritten digits with several processes: parameters on `ps` tasks, a part of the digits for
// each worker. `examples/run.sh cluster` starts two of the former and three of the latter on this machine. Each has
//
//   RILL_CLUSTER='ps=ADDRESS,ADDRESS worker=ADDRESS,ADDRESS,ADDRESS' RILL_TASK=worker:0
//
// in its environment; or `mpirun -n 5 cluster`, `srun -n 5 cluster` and others start it. With `--synchronous` the
// workers' steps go together, and each update has the gradients of all. `cluster --look ADDRESS` is a client, which
// looks at a cluster that runs and leaves.
#include <rill/io.hpp>
#include <rill/net.hpp>
#include <rill/rill.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "digits/data.hpp"

namespace {

/// The handles of the network. Its variables are dealt out to the ps tasks; whatever asks for no task runs on the
/// worker.
struct model {
  rill::expr<rill::of<float, "batch", 64>> image;
  rill::expr<rill::of<std::int32_t, "batch">> label;
  rill::value bias;
  rill::expr<rill::of<float>> loss, accuracy;
  rill::operation train;
  rill::expr<rill::of<std::int32_t>> finished;  // how many workers have finished
  rill::operation finish;
};

/// What is asked for.
struct options {
  std::int64_t epochs = 10;
  bool synchronous = false;
  std::optional<std::string> look;  // an address
  rill::server_options server = {};
};

model record(rill::graph& g, options const& o = {}, std::int64_t workers = 1) {
  auto const parameters = [&](auto const& f) { return g.on("/job:ps", f); };
  auto image = rill::placeholder<float, "batch", 64>(g, "image");
  auto label = rill::placeholder<std::int32_t, "batch">(g, "label");
  auto w = parameters([&] { return rill::variable<float, 64, 128>(g, "hidden/weights", rill::he()); });
  auto b = parameters([&] { return rill::variable<float, 128>(g, "hidden/bias", rill::zeros()); });
  auto v = parameters([&] { return rill::variable<float, 128, 10>(g, "logits/weights", rill::glorot()); });
  auto c = parameters([&] { return rill::variable<float, 10>(g, "logits/bias", rill::zeros()); });
  auto logits = rill::matmul(rill::relu(rill::matmul(image, w) + b), v) + c;
  auto loss = rill::mean(rill::softmax_cross_entropy(logits, label));
  auto accuracy = rill::mean(rill::cast<float>(rill::argmax<1>(logits) == label));
  auto finished = parameters([&] { return rill::variable<std::int32_t>(g, "finished", rill::zeros()); });
  auto const adam = rill::adam{.rate = o.synchronous ? 6e-3f : 2e-3f};  // a third of the updates, each of three batches
  auto train = o.synchronous ? rill::synchronous(adam, rill::replicas(workers)).minimize(loss) : adam.minimize(loss);
  return {image,    label, b,        loss,
          accuracy, train, finished, rill::assign_add(finished, rill::constant(g, std::int32_t{1}))};
}

/// The rows of the digits that are a worker's: as many for each.
digits::examples share_of(digits::examples const& all, std::int64_t worker, std::int64_t workers) {
  auto const n = digits::count(all) / workers;
  auto const& [images, labels] = all;
  auto const flat = images.reshaped({digits::count(all), 64});
  return {flat.rows(worker * n, (worker + 1) * n), labels.rows(worker * n, (worker + 1) * n)};
}

void train(rill::server& server, options const& o) {
  rill::graph g;
  auto const workers = static_cast<std::int64_t>(server.cluster().size("worker"));
  auto const m = record(g, o, workers);
  rill::session s{g, server.target()};
  if (server.is_chief()) s.run(rill::initializer(g));
  else s.wait_for_variables(std::chrono::minutes(1));

  auto const who = server.task().job + ":" + std::to_string(*server.task().task);
  auto const data = digits::read_csv(digits::digits_csv());
  auto const mine = share_of(data.training, *server.task().task, workers);
  auto step = s.prepare(rill::inputs(m.image, m.label), rill::outputs(m.loss), m.train);
  for (std::int64_t epoch = 1; epoch <= o.epochs; ++epoch) {
    double sum = 0;
    int steps = 0;
    for (auto const& [images, labels] :
         rill::batches(mine, 16, rill::epochs(1), {.seed = static_cast<std::uint64_t>(epoch)})) {
      if (labels.elements() < 16) continue;
      sum += float(step(images, labels));
      ++steps;
    }
    std::printf("%s: epoch %2lld of %lld, mean loss %.4f\n", who.c_str(), static_cast<long long>(epoch),
                static_cast<long long>(o.epochs), sum / steps);
    std::fflush(stdout);
  }
  auto const [images, labels] = share_of(data.test, 0, 1);
  auto const right = float(s.run({{m.image, images}, {m.label, labels}}, m.accuracy));
  // A session compiles with all tasks of its cluster, so nobody leaves before all have come this far.
  s.run(m.finish);
  while (std::int32_t(s.run(m.finished)) < workers) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  auto const t = server.traffic();
  std::printf("%s: accuracy on %lld digits that nobody trained on: %.1f %%; sent %.1f MB in %llu messages\n",
              who.c_str(), static_cast<long long>(labels.elements()), 100 * right,
              static_cast<double>(t.bytes_sent) / 1e6, static_cast<unsigned long long>(t.messages_sent));
}

void look(std::string_view address) {
  rill::graph g;
  auto const m = record(g);
  rill::session s{g, rill::connect(address)};
  for (auto const& d : s.devices()) std::printf("%s\n", d.c_str());
  s.wait_for_variables(std::chrono::minutes(1));
  rill::tensor const bias = s.run(m.bias);
  std::printf("hidden/bias: %s, the first of it %g\n", bias.type().text().c_str(),
              static_cast<double>(bias.data<float>()[0]));
}

options read(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    bool const has_more = i + 1 < argc;
    if (word == "--synchronous") o.synchronous = true;
    else if (word == "--epochs" && has_more) o.epochs = std::stoll(argv[++i]);
    else if (word == "--look" && has_more) o.look = argv[++i];
    else if (word == "--trusted-network") o.server.trusted_network = true;
    else throw std::invalid_argument("expected --synchronous, --epochs NUMBER, --trusted-network, or --look ADDRESS");
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) try {
  auto const options = read(argc, argv);
  if (options.look) {
    look(*options.look);
    return 0;
  }
  rill::server server{rill::cluster::from_environment({.jobs = "ps=2 worker=*"}), options.server};
  if (server.task().job == "ps") return server.join("worker");  // until all workers have left, or SIGTERM
  train(server, options);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "cluster: %s\n", e.what());
  return 1;
}
