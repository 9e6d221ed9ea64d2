// Trains a network on handwritten digits with several processes: parameters on `ps` tasks, a part of the digits for
// each worker. `examples/run.sh cluster` starts two of the former and three of the latter on this machine. Each has
//
//   RILL_CLUSTER='ps=ADDRESS,ADDRESS worker=ADDRESS,ADDRESS,ADDRESS' RILL_TASK=worker:0
//
// in its environment; or `mpirun -n 5 cluster`, `srun -n 5 cluster` and others start it. With `--synchronous` the
// workers' steps go together, and each update has the gradients of all. With `--checkpoints FOLDER` training survives
// the loss of any process that is started again (`examples/run.sh cluster --kill` kills some). `cluster --look ADDRESS`
// is a client, which looks at a cluster that runs and leaves. `cluster --alone` trains the same network in one process.
// With `--sockets`, processes of one machine share no memory.
#include <rill/io.hpp>
#include <rill/net.hpp>
#include <rill/rill.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

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
};

/// What is asked for.
struct options {
  std::int64_t epochs = 10;
  bool synchronous = false;
  bool alone = false;
  std::optional<std::string> look;         // an address
  std::filesystem::path checkpoints = {};  // a folder
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
  auto const adam = rill::adam{.rate = o.synchronous ? 6e-3f : 2e-3f};  // a third of the updates, each of three batches
  auto train = o.synchronous ? rill::synchronous(adam, rill::replicas(workers)).minimize(loss) : adam.minimize(loss);
  return {image, label, b, loss, accuracy, train};
}

/// Trains the network: in one of the workers, or in one process.
int train(rill::target const& on, std::int64_t workers, options const& o) {
  rill::graph g;
  auto const m = record(g, o, workers);
  rill::session s{g, on};
  auto const data = digits::read_csv(digits::digits_csv());
  auto const flat = [](digits::examples const& all) {
    return std::tuple{std::get<0>(all).reshaped({digits::count(all), 64}), std::get<1>(all)};
  };
  auto const measure = [&] {
    auto const [images, labels] = flat(data.test);
    std::printf("accuracy on %lld digits that nobody trained on: %.1f %%\n", static_cast<long long>(labels.elements()),
                100 * double{float(s.run({{m.image, images}, {m.label, labels}}, m.accuracy))});
  };
  rill::training_options how;
  how.directory = o.checkpoints;
  how.save.time = std::chrono::seconds(1);
  how.at_end = measure;
  how.log_every = std::chrono::seconds(1);
  rill::training_loop loop{s, how};
  return loop
      .run(rill::inputs(m.image, m.label), m.loss, m.train,
           rill::batches(flat(data.training), 16, rill::epochs(o.epochs), loop.share()))
      .exit_code();
}

/// What a process has sent and received.
std::string text_of(rill::net_traffic const& t) {
  char text[160];
  std::snprintf(text, sizeof text, "sent %.1f MB in %llu messages, received %.1f MB in %llu",
                static_cast<double>(t.bytes_sent) / 1e6, static_cast<unsigned long long>(t.messages_sent),
                static_cast<double>(t.bytes_received) / 1e6, static_cast<unsigned long long>(t.messages_received));
  return text;
}

/// Calls a function every second on a thread of its own.
template <class F> std::jthread every_second(F f) {
  return std::jthread([f = std::move(f)](std::stop_token const& end) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ends;
    while (!ends.wait_for(lock, end, std::chrono::seconds(1), [] { return false; }) && !end.stop_requested()) f();
  });
}

/// Runs the shares of the workers' steps that need this task's parameters, until all workers have left, or SIGTERM.
int serve(rill::server& server) {
  auto const task = static_cast<long long>(*server.task().task);
  std::uint64_t told = 0;
  auto const tell = [&](char const* when) {
    auto const t = server.traffic();
    if (std::exchange(told, t.messages_received) == t.messages_received && *when == '\0') return;  // nothing is new
    std::printf("ps:%lld: %shas %zu variables, %s\n", task, when, server.state().variables().size(),
                text_of(t).c_str());
    std::fflush(stdout);
  };
  int code = 0;
  {
    auto const progress = every_second([&] { tell(""); });
    code = server.join("worker");
  }
  tell("at the end ");
  return code;
}

/// Prints the devices of a cluster, which of the network's variables have a value on which task, and one of them.
void look(std::string_view address, rill::net_options const& net) {
  rill::graph g;
  auto const m = record(g);
  auto const cluster = rill::connect(address, net);
  rill::session s{g, cluster};
  for (auto const& d : s.devices()) std::printf("%s\n", d.c_str());
  s.wait_for_variables(std::chrono::minutes(1));
  auto const variables = rill::trainable_variables(g);
  std::vector<std::string> names;
  for (auto const& v : variables) names.push_back(v.name());
  for (auto const& task : cluster.tasks) {
    auto const has = task->have_values(names);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (has[i])
        std::printf("%s: %s on %s\n", names[i].c_str(), variables[i].type().text().c_str(),
                    task->name().text().c_str());
  }
  rill::tensor const bias = s.run(m.bias);
  std::printf("the first of hidden/bias: %g\n", static_cast<double>(bias.data<float>()[0]));
}

options read(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    bool const has_more = i + 1 < argc;
    if (word == "--synchronous") o.synchronous = true;
    else if (word == "--alone") o.alone = true;
    else if (word == "--sockets") o.server.net.shared_memory = false;
    else if (word == "--epochs" && has_more) o.epochs = std::stoll(argv[++i]);
    else if (word == "--look" && has_more) o.look = argv[++i];
    else if (word == "--checkpoints" && has_more) o.checkpoints = argv[++i];
    else if (word == "--trusted-network") o.server.trusted_network = true;
    else
      throw std::invalid_argument(
          "expected --synchronous, --alone, --sockets, --epochs NUMBER, --checkpoints FOLDER, --trusted-network, or "
          "--look ADDRESS");
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) try {
  auto const options = read(argc, argv);
  if (options.look) {
    look(*options.look, options.server.net);
    return 0;
  }
  if (options.alone) {
    rill::local_cluster const one({{"ps", 1}, {"worker", 1}});
    return train(one.target("/job:worker/task:0"), 1, options);
  }
  rill::server server{rill::cluster::from_environment({.jobs = "ps=2 worker=*"}), options.server};
  if (server.task().job == "ps") return serve(server);
  auto const code = train(server.target(), static_cast<std::int64_t>(server.cluster().size("worker")), options);
  std::printf("worker:%lld: %s\n", static_cast<long long>(*server.task().task), text_of(server.traffic()).c_str());
  return code;
} catch (std::exception const& e) {
  std::fprintf(stderr, "cluster: %s\n", e.what());
  return 1;
}
