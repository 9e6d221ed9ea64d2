// Trains a network on handwritten digits with several processes: parameters on `ps` tasks, a part of the digits for
// each worker. `examples/run.sh cluster` starts two of the former and three of the latter on this machine. Each has
//
//   RILL_CLUSTER='ps=ADDRESS,ADDRESS worker=ADDRESS,ADDRESS,ADDRESS' RILL_TASK=worker:0
//
// in its environment; or `mpirun -n 5 cluster`, `srun -n 5 cluster` and others start it. With `--synchronous` the
// workers' steps go together, and each update has the gradients of all. When a worker is lost, the others end and say
// so. `cluster --look ADDRESS` is a client, which looks at a cluster that runs and leaves. `cluster --alone` trains the
// same network in one process. With `--sockets`, processes of one machine share no memory.
#include <rill/io.hpp>
#include <rill/net.hpp>
#include <rill/rill.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
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
  rill::expr<rill::of<std::int32_t>> finished;  // how many workers have finished
  rill::operation finish;
  rill::operation present;  // runs a node on each worker, and so fails when one is gone
};

/// What is asked for.
struct options {
  std::int64_t epochs = 10;
  bool synchronous = false;
  bool alone = false;
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
  std::vector<rill::operation> present;
  for (std::int64_t k = 0; k < workers; ++k)
    present.emplace_back(g.on("/job:worker/task:" + std::to_string(k), [&] { return rill::value(finished + 1); }));
  return {image,
          label,
          b,
          loss,
          accuracy,
          train,
          finished,
          rill::assign_add(finished, rill::constant(g, std::int32_t{1})),
          rill::group(g, present)};
}

/// The rows of the digits that are a worker's: as many for each.
digits::examples share_of(digits::examples const& all, std::int64_t worker, std::int64_t workers) {
  auto const n = digits::count(all) / workers;
  auto const& [images, labels] = all;
  auto const flat = images.reshaped({digits::count(all), 64});
  return {flat.rows(worker * n, (worker + 1) * n), labels.rows(worker * n, (worker + 1) * n)};
}

/// Calls a function again and again on a thread of its own, until it throws or this ends.
class repeated {
 public:
  repeated(std::chrono::milliseconds pause, std::function<void(std::stop_token)> f)
      : thread_([this, pause, f = std::move(f)](std::stop_token const& end) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any ends;
          while (!end.stop_requested()) try {
              f(end);
              ends.wait_for(lock, end, pause, [] { return false; });
            } catch (...) {
              if (end.stop_requested()) return;
              thrown_ = std::current_exception();
              threw_.request_stop();
              return;
            }
        }) {}

  /// Returns a token that is stopped when the function has thrown.
  std::stop_token threw() const { return threw_.get_token(); }
  /// Throws what the function has thrown.
  void check() const {
    if (threw_.stop_requested()) std::rethrow_exception(thrown_);
  }

 private:
  std::exception_ptr thrown_;
  std::stop_source threw_;
  std::jthread thread_;  // ends first
};

/// Which worker a process is, and where its steps run.
struct place {
  rill::target on;
  std::int64_t worker = 0, workers = 1;
  bool is_chief = true;
};

/// Trains the network on the worker's part of the digits.
void learn(rill::session& s, model const& m, place const& at, digits::examples const& mine, options const& o,
           std::stop_token const& end) {
  auto step = s.prepare(rill::inputs(m.image, m.label), rill::outputs(m.loss), m.train, end);
  for (std::int64_t epoch = 1; epoch <= o.epochs; ++epoch) {
    double sum = 0;
    int steps = 0;
    for (auto const& [images, labels] :
         rill::batches(mine, 16, rill::epochs(1), {.seed = static_cast<std::uint64_t>(epoch)})) {
      if (labels.elements() < 16) continue;
      sum += float(step(images, labels));
      ++steps;
    }
    std::printf("worker:%lld: epoch %2lld of %lld, mean loss %.4f\n", static_cast<long long>(at.worker),
                static_cast<long long>(epoch), static_cast<long long>(o.epochs), sum / steps);
    std::fflush(stdout);
  }
}

/// Waits until all workers have finished. Throws if one of them is gone before.
void wait_for_all(rill::session& s, model const& m, place const& at, repeated const& present) {
  s.run(m.finish);
  std::printf("worker:%lld: has finished, and waits for the others\n", static_cast<long long>(at.worker));
  std::fflush(stdout);
  for (;;) {
    bool const is_one_gone = present.threw().stop_requested();  // asked first: whoever leaves well has seen all finish
    if (std::int32_t(s.run(m.finished)) == at.workers) return;
    if (is_one_gone) present.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void train(place const& at, options const& o) {
  rill::graph g;
  auto const m = record(g, o, at.workers);
  rill::session s{g, at.on};
  if (at.is_chief) s.run(rill::initializer(g, rill::only_missing));
  else s.wait_for_variables(std::chrono::minutes(1));

  auto const data = digits::read_csv(digits::digits_csv());
  // In rounds, a step waits for the gradients of all workers: for ever, if nobody asks whether these are there.
  repeated const present(std::chrono::milliseconds(200), [&](std::stop_token end) { s.run(m.present, end); });
  try {
    learn(s, m, at, share_of(data.training, at.worker, at.workers), o, present.threw());
  } catch (rill::error const& e) {
    if (e.code() == rill::code::cancelled) present.check();
    throw;
  }
  auto const [images, labels] = share_of(data.test, 0, 1);
  auto const right = float(s.run({{m.image, images}, {m.label, labels}}, m.accuracy));
  // A session compiles with all tasks of its cluster, so nobody leaves before all have come this far.
  wait_for_all(s, m, at, present);
  std::printf("worker:%lld: accuracy on %lld digits that nobody trained on: %.1f %%\n",
              static_cast<long long>(at.worker), static_cast<long long>(labels.elements()), 100 * right);
}

void train_alone(options const& o) {
  rill::local_cluster const one({{"ps", 1}, {"worker", 1}});
  train({.on = one.target("/job:worker/task:0")}, o);
}

/// What a process has sent and received.
std::string text_of(rill::net_traffic const& t) {
  char text[160];
  std::snprintf(text, sizeof text, "sent %.1f MB in %llu messages, received %.1f MB in %llu",
                static_cast<double>(t.bytes_sent) / 1e6, static_cast<unsigned long long>(t.messages_sent),
                static_cast<double>(t.bytes_received) / 1e6, static_cast<unsigned long long>(t.messages_received));
  return text;
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
    repeated const progress(std::chrono::seconds(1), [&](std::stop_token const&) { tell(""); });
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
    else if (word == "--trusted-network") o.server.trusted_network = true;
    else
      throw std::invalid_argument(
          "expected --synchronous, --alone, --sockets, --epochs NUMBER, --trusted-network, or --look ADDRESS");
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
    train_alone(options);
    return 0;
  }
  rill::server server{rill::cluster::from_environment({.jobs = "ps=2 worker=*"}), options.server};
  if (server.task().job == "ps") return serve(server);
  train({.on = server.target(),
         .worker = *server.task().task,
         .workers = static_cast<std::int64_t>(server.cluster().size("worker")),
         .is_chief = server.is_chief()},
        options);
  std::printf("worker:%lld: %s\n", static_cast<long long>(*server.task().task), text_of(server.traffic()).c_str());
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "cluster: %s\n", e.what());
  return 1;
}
