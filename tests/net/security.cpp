// Who may do what: keys, certificates, and what clients and strangers are refused.
#include "rill/net/security.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/sentence.hpp"
#include "net/served.hpp"
#include "rill/net/asio.hpp"
#include "rill/net/bound_socket.hpp"
#include "rill/net/frame.hpp"
#include "rill/net/messages.hpp"
#include "rill/net/tls_stream.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

std::string line(std::string const& name, char const* role, char digit) {
  return "rill-key " + name + " " + role + " " + std::string(64, digit);
}

TEST(shared_key, is_a_line_of_text) {
  auto const k = shared_key::parse(line("ps", "client", 'a') + "\n");
  EXPECT_EQ(k.name, "ps");
  EXPECT_EQ(k.of, shared_key::role::client);
  EXPECT_EQ(k.bytes, std::string(32, '\xaa'));
  EXPECT_EQ(shared_key::parse("\t rill-key\v a  task\t" + std::string(64, 'b') + "\r\n").name, "a");
}

TEST(shared_key, is_the_first_line_of_a_file) {
  auto const path = testing::TempDir() + "rill.key";
  std::ofstream(path) << line("ps", "client", 'a') << "\nmore\n";
  EXPECT_EQ(shared_key::file(path).name, "ps");
  std::filesystem::remove(path);
  EXPECT_EQ(refusal([&] { (void)shared_key::file(path); }), code::not_found);
}

TEST(shared_key, says_what_is_wrong_and_never_shows_the_bytes) {
  for (auto const& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"hunter2", "does not begin with 'rill-key'"},
           {"rill-key a boss " + std::string(64, '7'), "neither 'task' nor 'client'"},
           {"rill-key a task " + std::string(62, '7'), "64 to 128 hexadecimal digits"},
           {"rill-key a task " + std::string(63, '7') + "x", "a hexadecimal digit"},
           {"rill-key a task " + std::string(64, '7') + " 7", "more follows"}}) {
    auto const found = sentence([&, t = text] { (void)shared_key::parse(t); });
    EXPECT_NE(found.find(said), std::string::npos) << found;
    EXPECT_EQ(found.find("7777"), std::string::npos) << found;
  }
  EXPECT_NE(sentence([] { (void)shared_key::file("/nowhere/a.key"); }).find("/nowhere/a.key"), std::string::npos);
}

#if RILL_TLS

// A cluster of tasks in this process, at ports of 127.0.0.1.
class secured : public testing::Test {
 public:
  static server_options with_key() {
    server_options o;
    o.threads = 1;
    o.net = test::quick();
    o.key = shared_key::parse(line("cluster", "task", 'a'));
    o.client_keys = {shared_key::parse(line("reader", "client", 'b'))};
    return o;
  }
  void start(server_options const& options) {
    rill::cluster c{.jobs = {{.name = "worker", .addresses = {}}}, .task = {}};
    // Each has a free port, which the others have to be told.
    std::shared_ptr<net::bound_socket> const ports[] = {std::make_shared<net::bound_socket>(false),
                                                        std::make_shared<net::bound_socket>(false)};
    for (auto const& p : ports) c.jobs[0].addresses.push_back("127.0.0.1:" + std::to_string(p->port()));
    for (std::uint32_t i = 0; i < 2; ++i) {
      c.task = {.job = "worker", .task = i};
      c.socket = ports[i];
      servers.push_back(std::make_unique<server>(c, options));
    }
    address = c.jobs[0].addresses[0];
  }
  // Runs a step over both tasks.
  static float run(target const& where, float fed = 3) {
    graph g;
    auto const x = placeholder<float>(g, "x");
    auto const y = g.on("/job:worker/task:1", [&] { return x * 2.f; });
    auto const z = g.on("/job:worker/task:0", [&] { return y + 1.f; });
    session s{g, where};
    return float(s.run({{x, fed}}, z));
  }
  std::string refused(client_options const& o) {
    return sentence([&] { run(connect(address, o)); });
  }
  // One that is refused is not patient for long, but lets the attempt come to its end that is under way.
  static net_options refused_soon() { return {.start_timeout = 1s, .connect_timeout = 30s, .silence = 60s}; }
  static client_options client(shared_key k) { return {.key = std::move(k), .net = refused_soon()}; }

  std::vector<std::unique_ptr<server>> servers;
  std::string address;
};

TEST_F(secured, tasks_and_clients_with_a_key_run_steps) {
  start(with_key());
  EXPECT_EQ(run(servers[0]->target()), 7);
  EXPECT_EQ(run(connect(address, client(shared_key::parse(line("reader", "client", 'b'))))), 7);
  EXPECT_EQ(run(connect(address, client(shared_key::parse(line("cluster", "task", 'a'))))), 7);
}

TEST_F(secured, keys_are_read_from_files) {
  test::socket_folder const folder;
  struct working_folder {
    explicit working_folder(std::string const& now) { std::filesystem::current_path(now); }
    ~working_folder() { std::filesystem::current_path(before); }
    std::filesystem::path before = std::filesystem::current_path();
  } const there(folder.socket("").substr(5));
  std::ofstream("cluster.key") << line("cluster", "task", 'a') << '\n';
  std::ofstream("reader.key") << line("reader", "client", 'b') << '\n';
  rill::server_options options;
  options.key = rill::shared_key::file("cluster.key");
  options.client_keys = {rill::shared_key::file("reader.key")};  // "rill-key reader client …"
  start(options);
  graph g;
  auto const x = rill::constant(g, 3.f);
  rill::session s{g, rill::connect(address, {.key = rill::shared_key::file("reader.key")})};
  EXPECT_EQ(float(s.run(x + 1.f)), 4);
}

TEST_F(secured, large_tensors_go_both_ways) {
  start(with_key());
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  auto const y = g.on("/job:worker/task:1", [&] { return x + 1.f; });
  session s{g, servers[0]->target()};
  std::vector<float> numbers(5000000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
  auto const r = s.run({{x, tensor::adopt(numbers, shape{5000000})}}, y);
  for (std::size_t i = 0; i < numbers.size(); i += 997) ASSERT_EQ(r.values()[i], numbers[i] + 1);
}

TEST_F(secured, others_are_refused) {
  start(with_key());
  EXPECT_NE(refused(client(shared_key::parse(line("reader", "client", 'c')))).find("who it is"), std::string::npos)
      << "the wrong bytes";
  EXPECT_NE(refused(client(shared_key::parse(line("nobody", "client", 'b')))).find("who it is"), std::string::npos)
      << "a name that is not known";
  auto const plain = refused({.net = refused_soon()});
  EXPECT_NE(plain.find("unavailable"), std::string::npos) << plain;
  EXPECT_EQ(run(servers[0]->target()), 7) << "the others don't notice";
}

// What a connection is answered before it ends.
std::size_t read_all(asio::ip::tcp::socket& from) {
  std::error_code e;
  std::string all;
  return asio::read(from, asio::dynamic_buffer(all), e);
}

TEST_F(secured, bytes_of_strangers_end_their_connections_and_nothing_else) {
  auto options = with_key();
  options.net.connect_timeout = 2s;  // after which a stranger is given up
  start(options);
  asio::io_context io;
  auto const where = rill::address::parse(address);
  for (auto const& bytes : {std::string(100000, 'x'), std::string(), std::string("GET / HTTP/1.1\r\n\r\n"),
                            std::string("\x16\x03\x01\x40\x00", 5), std::string(200, '\0')}) {
    std::vector<asio::ip::tcp::socket> several;
    for (int i = 0; i < 30; ++i) {
      auto& s = several.emplace_back(io);
      s.connect({asio::ip::make_address(where.host), where.port});
      std::error_code ignored;
      asio::write(s, asio::buffer(bytes), ignored);
    }
    for (auto& s : several) EXPECT_LT(read_all(s), 100u);  // at most an alert of TLS
  }
  EXPECT_EQ(run(servers[0]->target()), 7);
}

TEST_F(secured, strangers_who_say_nothing_do_not_keep_others_out) {
  auto options = with_key();
  options.net.connect_timeout = 2s;
  start(options);
  asio::io_context io;
  auto const where = rill::address::parse(address);
  std::vector<asio::ip::tcp::socket> silent;
  for (int i = 0; i < 150; ++i) silent.emplace_back(io).connect({asio::ip::make_address(where.host), where.port});
  auto const reader = shared_key::parse(line("reader", "client", 'b'));
  EXPECT_EQ(run(connect(address, {.key = reader, .net = test::quick()})), 7);
}

TEST_F(secured, a_key_meets_a_process_without_one) {
  server_options open;
  open.threads = 1;
  start(open);
  auto const said = refused(client(shared_key::parse(line("reader", "client", 'b'))));
  EXPECT_NE(said.find("has it a certificate or the same key"), std::string::npos) << said;
}

TEST_F(secured, a_client_may_have_fewer_operations_than_tasks) {
  auto options = with_key();
  std::vector<op_def const*> few;
  for (auto const* op : all_operations())
    if (op->name != "mul") few.push_back(op);
  options.clients.operations = few;
  start(options);
  auto const said = refused(client(shared_key::parse(line("reader", "client", 'b'))));
  EXPECT_NE(said.find("'mul'"), std::string::npos) << said;
  EXPECT_EQ(run(servers[0]->target()), 7);
}

TEST_F(secured, a_client_has_as_many_connections_shares_and_seconds_as_it_is_allowed) {
  auto options = with_key();
  options.clients = {.connections = 1, .shares = 1, .step_time = 100ms};
  start(options);
  auto const reader = client(shared_key::parse(line("reader", "client", 'b')));
  auto const where = connect(address, reader);
  graph g;
  auto const q = g.on("/job:worker/task:0", [&] { return fifo_queue<of<float>>(g, {.capacity = 2}, "q"); });
  auto const waits = g.on("/job:worker/task:0", [&] { return dequeue(q); });
  session s{g, where};
  EXPECT_NE(sentence([&] { s.run(waits); }).find("deadline_exceeded"), std::string::npos);
  EXPECT_NE(sentence([&] { s.run(waits + 1.f); }).find("client_limits::shares"), std::string::npos);
  EXPECT_NE(refused(reader).find("client_limits::connections"), std::string::npos);
}

TEST_F(secured, a_client_is_no_task) {
  start(with_key());
  rill::cluster c{.jobs = servers[0]->cluster().jobs, .task = device_name::parse("/job:worker/task:1")};
  c.jobs[0].addresses[1] = "127.0.0.1:0";
  servers[1].reset();
  auto options = with_key();
  options.key = shared_key::parse(line("reader", "client", 'b'));
  options.client_keys.clear();
  server impostor(c, options);
  auto const said = sentence([&] { run(impostor.target()); });
  EXPECT_NE(said.find("no client is a task"), std::string::npos) << said;
}

TEST(server, refuses_addresses_that_strangers_reach_without_a_key) {
  rill::cluster const c{.jobs = {{.name = "worker", .addresses = {"0.0.0.0:0"}}},
                        .task = device_name::parse("/job:worker/task:0")};
  EXPECT_NE(sentence([&] { server s(c); }).find("server_options::key"), std::string::npos);
  server_options with;
  with.key = shared_key::parse(line("cluster", "task", 'a'));
  server s(c, with);
  with.key.bytes.resize(8);
  EXPECT_NE(sentence([&] { server t(c, with); }).find("8 bytes: 32 to 64"), std::string::npos);
}

// Certificates that OpenSSL's command makes: an authority, two tasks, a client, one that has expired, and a stranger's.
class certified : public secured {
 public:
  void SetUp() override {
    if (std::system("openssl version > /dev/null 2>&1") != 0) GTEST_SKIP() << "the command openssl is not there";
    authority("ca");
    authority("other");
    for (auto const* name : {"task", "client", "late"}) sign(name, "ca", std::string_view(name) == "late" ? -1 : 2);
    sign("stranger", "other", 2);
  }
  ~certified() override { std::filesystem::remove_all(folder); }
  std::string path(std::string const& name) const { return (folder / name).string(); }
  rill::tls of(std::string const& name, std::string const& by = "ca") const {
    auto files = rill::tls::files(path(name + ".pem"), path(name + ".key"), path(by + ".pem"));
    files.tasks = {"task"};  // the name in the certificates of tasks
    return files;
  }
  server_options as(std::string const& name) const {
    server_options o;
    o.threads = 1;
    o.net = test::quick();
    o.tls = of(name);
    return o;
  }

 private:
  void call(std::string const& command) const {
    ASSERT_EQ(std::system(("cd " + folder.string() + " && openssl " + command + " > log 2>&1").c_str()), 0) << command;
  }
  void authority(std::string const& name) const {
    call("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name + " -keyout " + name +
         ".key -out " + name + ".pem");
  }
  void sign(std::string const& name, std::string const& by, int days) const {
    std::ofstream(folder / "more") << "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
    call("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " + name +
         ".key -out " + name + ".csr");
    call("x509 -req -in " + name + ".csr -CA " + by + ".pem -CAkey " + by +
         ".key -CAcreateserial -extfile more -days " + std::to_string(days) + " -out " + name + ".pem");
  }
  std::filesystem::path folder = [] {
    auto name = (std::filesystem::temp_directory_path() / "rill-tls-XXXXXX").string();
    return std::filesystem::path(::mkdtemp(name.data()));
  }();
};

TEST_F(certified, tasks_and_clients_know_each_other) {
  start(as("task"));
  EXPECT_EQ(run(servers[0]->target()), 7);
  EXPECT_EQ(run(connect(address, {.tls = of("client"), .net = test::quick()})), 7);
}

TEST_F(certified, others_are_refused) {
  start(as("task"));
  auto const said = [&](rill::tls t) { return refused({.tls = std::move(t), .net = refused_soon()}); };
  EXPECT_NE(said(of("stranger", "ca")), "") << "signed by another authority";
  EXPECT_NE(said(of("late")), "") << "expired";
  auto const other = said(of("stranger", "other"));
  EXPECT_NE(other.find("certificate"), std::string::npos) << other;
  EXPECT_NE(said({}), "") << "without one";
  EXPECT_EQ(run(servers[0]->target()), 7);
}

TEST_F(certified, files_that_are_not_there_or_do_not_fit_are_named) {
  auto bad = as("task");
  bad.tls.certificate = path("none.pem");
  rill::cluster const c{.jobs = {{.name = "worker", .addresses = {"127.0.0.1:0"}}},
                        .task = device_name::parse("/job:worker/task:0")};
  EXPECT_NE(sentence([&] { server s(c, bad); }).find("none.pem"), std::string::npos);
  bad = as("task");
  bad.tls.private_key = path("client.key");
  EXPECT_NE(sentence([&] { server s(c, bad); }).find("client.key"), std::string::npos);
}

#endif

}  // namespace
}  // namespace rill
