// A run that launchers.py starts in many ways: one ps task holds a sum, to which each worker adds its number. The
// processes of the ps job end when the workers have left.
#include <rill/net.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

namespace {

void work(rill::server& server) {
  rill::graph g;
  auto const on_ps = [&](auto const& f) { return g.on("/job:ps", f); };
  auto sum = on_ps([&] { return rill::variable<std::int32_t>(g, "sum", rill::zeros()); });
  auto came = on_ps([&] { return rill::variable<std::int32_t>(g, "came", rill::zeros()); });
  rill::session s{g, server.target()};
  if (server.is_chief()) s.run(rill::initializer(g));
  else s.wait_for_variables(std::chrono::minutes(5));

  auto const index = static_cast<std::int32_t>(*server.task().task);
  auto const workers = static_cast<std::int32_t>(server.cluster().size("worker"));
  s.run(rill::assign_add(sum, rill::constant(g, index + 1)));
  s.run(rill::assign_add(came, rill::constant(g, std::int32_t{1})));
  while (std::int32_t(s.run(came)) < workers) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::printf("worker %d of %d: the sum is %d\n", index, workers, std::int32_t(s.run(sum)));
}

}  // namespace

int main(int argc, char** argv) try {
  rill::server_options options;
  rill::launch_options launch{.jobs = "ps=1 worker=*"};
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--trusted") options.trusted_network = true;
    else launch.net.start_timeout = std::chrono::milliseconds(std::stoi(argv[i]));
  rill::server server{rill::cluster::from_environment(launch), options};
  std::string line = server.task().text() + ":";
  for (auto const& t : server.cluster().tasks()) line += " " + server.cluster().at(t).text();
  std::printf("%s\n", line.c_str());
  if (server.task().job == "ps") return server.join("worker");
  work(server);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "launched: %s\n", e.what());
  return 1;
}
