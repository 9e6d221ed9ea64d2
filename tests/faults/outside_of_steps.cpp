// There is no memory for the n-th who asks, in what users call outside of a step: each call throws an error of rill,
// and can be called again.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/limit.hpp"
#include "faults/throughout.hpp"
#include "io/scratch.hpp"
#include "rill/graph/dot.hpp"
#include "rill/io.hpp"
#if RILL_COMPILED_NET || RILL_NET_RUNTIME
#include "rill/net/cluster.hpp"
#include "rill/net/security.hpp"
#endif
#include "rill/rill.hpp"
#include "rill/tensor/dlpack.hpp"
#include "rill/train/bucket.hpp"
#include "rill/train/folds.hpp"

namespace rill {
namespace {

using faults::fail_throughout;
using faults::what;

constexpr char long_word[] = "a word that is too long to be held without memory";

// What the calls are called with: made before there is no memory.
struct given {
  scratch dir;
  std::filesystem::path const csv = dir / "a.csv", npy = dir / "a.npy", npz = dir / "a.npz", idx = dir / "a.idx",
                              tensors = dir / "a.safetensors", lines = dir / "a.txt", zipped = dir / "a.txt.gz",
                              json = dir / "a.jsonl", records = dir / "a.tfrecord",
                              zipped_records = dir / "b.tfrecord.gz", out = dir / "out", saved = dir / "saved";
  tensor const numbers = matrix<double>({{1.5, -0.25}, {1234567.125, 5e-324}});
  tensor const words = vector<std::string>({long_word, "short", std::string(long_word) + " and another"});
  tensor const one_word = tensor(std::string(long_word));
  tensor const bytes = matrix<std::uint8_t>({{1, 2}, {3, 4}});
  tensor const deep = tensor(dtype::float32, {2, 1, 2, 1, 2, 1, 2, 1});
  std::vector<tensor> const columns{numbers};
  std::vector<named_tensor> const named{{long_word, numbers}, {"b", bytes}};
  std::vector<type> const row{of<double, 2>};
  std::vector<std::string> const names{"a", long_word};
  safetensors::metadata const metadata{{long_word, long_word}};
  std::string const pattern = (dir / "*.txt*").string(), name = long_word, outer = std::string(long_word) + " around";
  std::string const text = std::string(long_word) + "\n\nanother line, which is as long as the first one\n",
                    object = R"({"a": [[1, 2.5], [3, 4]], "a word that is too long to be held without memory": "x"})";
  std::string const key = "rill-key " + name.substr(0, 1) + " client " + std::string(128, 'a'),
                    key_file = (dir / "a.key").string(), cluster_file = (dir / "a cluster.json").string();
  std::string csv_bytes, npy_bytes, npz_bytes, idx_bytes, safetensors_bytes, zipped_bytes;
  std::vector<std::int64_t> const order{1, 0, 1}, lengths{1, 5, 3, 2}, bounds{2, 4, 6};
  tensor const labels = vector<std::int64_t>({0, 1, 1, 0}), scores = vector<double>({0.1, 0.9, 0.8, 0.2});
  graph g;
  expr<of<float, 2>> x;
  std::vector<operation> first;
  std::vector<value> twice;
  value x_value;
  std::vector<std::int64_t> const cuts{1};
  client const who{long_word};
  std::optional<session> s;
  std::optional<saver> keep;
  checkpoint newest;

  given() {
    csv_bytes = csv_text(columns);
    npy_bytes = rill::npy_bytes(numbers);
    npz_bytes = rill::npz_bytes(named);
    idx_bytes = rill::idx_bytes(bytes);
    safetensors_bytes = rill::safetensors_bytes(named, metadata);
    zipped_bytes = gzip(text);
    write_file(csv, csv_bytes);
    write_file(npy, npy_bytes);
    write_file(npz, npz_bytes);
    write_file(idx, idx_bytes);
    write_file(tensors, safetensors_bytes);
    write_file(lines, text);
    write_file(key_file, key + "\n");
    write_file(cluster_file, R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})");
    ::setenv("RILL_CLUSTER_FILE", cluster_file.c_str(), 1);
    write_file(zipped, zipped_bytes);
    write_file(json, object + "\n" + object + "\n");
    for (auto const& path : {records, zipped_records}) {
      tfrecord_writer to(path);
      for (auto const* each : {"first", long_word, "third"}) to.write(each);
      to.commit();
    }
    auto const v = variable(constant<float, 2>(g, {1, 2}), long_word);
    x = g.scope(long_word, [&] { return v + 1.f; });
    x_value = x;
    first = {operation{&g, x.node}};
    twice = {x, x};
    s.emplace(g, session_options{.threads = 1});
    s->run(initializer(g));
    keep.emplace(g, saved, saver_options{.better = better::lower});
    newest = keep->save(*s, {1, 2}, 0.5);
  }
};

struct call {
  char const* name;
  std::function<void(given&)> run;
};

// Calls each while the n-th who asks for memory gets none, and once more when there is memory again.
void expect_only_errors(std::vector<call> const& calls) {
  test::allow(600);
  given with;
  for (auto const& each : calls) {
    SCOPED_TRACE(each.name);
    fail_throughout(
        what::memory, 60, [&] { return &with; }, [&](given& g) { each.run(g); }, [&](given& g) { each.run(g); });
    EXPECT_FALSE(std::filesystem::exists(with.out)) << each.name;
  }
}

template <class Managed> void import(Managed* m) {
  try {
    from_dlpack(m);
  } catch (...) {
    m->deleter(m);  // it is the caller's still
    throw;
  }
}

// Writes a file under a name of its own, and removes it.
template <class Write> void write_out(given& w, Write write) {
  write(w.out);
  std::filesystem::remove(w.out);
}

TEST(faults, of_memory_outside_of_steps_are_errors_of_tensors) {
  expect_only_errors({
      {"tensor of numbers", [](given&) { tensor(dtype::float32, {2, 3}); }},
      {"tensor of strings", [](given&) { tensor(dtype::string, {2, 3}); }},
      {"a string", [](given& w) { tensor{w.name}; }},
      {"tensor::copy", [](given& w) { tensor::copy(w.words.span<std::string>(), {3}); }},
      {"vector", [](given& w) { vector(w.names); }},
      {"tensor::borrow", [](given& w) { tensor::borrow(w.words.span<std::string>(), {3}); }},
      {"tensor::borrow of a type", [](given& w) { tensor::borrow(of<double, 2, 2>, w.numbers.raw()); }},
      {"clone", [](given& w) { w.words.clone(); }},
      {"assign", [](given& w) { tensor(dtype::string, {3}).assign(w.words); }},
      {"item", [](given& w) { w.one_word.item<std::string>(); }},
      {"at", [](given& w) { w.words.at<std::string>(0); }},
      {"text of numbers", [](given& w) { text(w.numbers); }},
      {"text of strings", [](given& w) { text(w.words); }},
      {"text of a type", [](given& w) { w.deep.type().text(); }},
      {"text of extents", [](given& w) { w.deep.shape().text(); }},
      {"to_dlpack", [](given& w) { import(to_dlpack(w.numbers)); }},
      {"to_dlpack_unversioned", [](given& w) { import(to_dlpack_unversioned(w.numbers)); }},
  });
}

TEST(faults, of_memory_outside_of_steps_are_errors_of_files) {
  expect_only_errors({
      {"write_file", [](given& w) { write_out(w, [&](auto const& to) { write_file(to, w.text); }); }},
      {"read_file", [](given& w) { read_file(w.lines); }},
      {"matching_files", [](given& w) { matching_files(w.pattern); }},
      {"csv_text", [](given& w) { csv_text(w.columns); }},
      {"parse_csv", [](given& w) { parse_csv(w.csv_bytes, w.row); }},
      {"parse_csv by types", [](given& w) { parse_csv<of<double>, of<double>>(w.csv_bytes); }},
      {"read_csv", [](given& w) { read_csv(w.csv, w.row); }},
      {"read_csv by types", [](given& w) { read_csv<of<double, 2>>(w.csv); }},
      {"write_csv", [](given& w) { write_out(w, [&](auto const& to) { write_csv(to, w.columns); }); }},
      {"npy_bytes", [](given& w) { npy_bytes(w.words); }},
      {"parse_npy", [](given& w) { parse_npy(w.npy_bytes); }},
      {"read_npy", [](given& w) { read_npy(w.npy); }},
      {"write_npy", [](given& w) { write_out(w, [&](auto const& to) { write_npy(to, w.numbers); }); }},
      {"npz_bytes", [](given& w) { npz_bytes(w.named); }},
      {"parse_npz", [](given& w) { parse_npz(w.npz_bytes); }},
      {"read_npz", [](given& w) { read_npz(w.npz); }},
      {"write_npz", [](given& w) { write_out(w, [&](auto const& to) { write_npz(to, w.named); }); }},
      {"safetensors_bytes", [](given& w) { safetensors_bytes(w.named, w.metadata); }},
      {"parse_safetensors", [](given& w) { parse_safetensors(w.safetensors_bytes); }},
      {"read_safetensors", [](given& w) { read_safetensors(w.tensors); }},
      {"safetensors_file", [](given& w) { safetensors_file(w.tensors).read(w.name); }},
      {"write_safetensors", [](given& w) { write_out(w, [&](auto const& to) { write_safetensors(to, w.named); }); }},
      {"idx_bytes", [](given& w) { idx_bytes(w.bytes); }},
#if RILL_COMPILED_NET || RILL_NET_RUNTIME
      {"shared_key::parse", [](given& w) { shared_key::parse(w.key); }},
      {"shared_key::file", [](given& w) { shared_key::file(w.key_file); }},
      {"cluster::from_environment", [](given&) { (void)cluster::from_environment(); }},
#endif
      {"parse_idx", [](given& w) { parse_idx(w.idx_bytes); }},
      {"read_idx", [](given& w) { read_idx(w.idx); }},
      {"write_idx", [](given& w) { write_out(w, [&](auto const& to) { write_idx(to, w.bytes); }); }},
      {"gzip", [](given& w) { gzip(w.text); }},
      {"gunzip", [](given& w) { gunzip(w.zipped_bytes); }},
      {"gunzip_start", [](given& w) { gunzip_start(w.zipped_bytes, 40); }},
      {"parse_json_line", [](given& w) { parse_json_line(w.object); }},
      {"parse_json_line by names", [](given& w) { parse_json_line(w.object, w.names); }},
      {"json_member_as", [](given& w) { json_member_as(w.numbers, of<float, 2, 2>, w.name); }},
      {"idx_rows", [](given& w) { idx_rows(w.idx).next(); }},
      {"npy_rows", [](given& w) { npy_rows(w.npy).next(); }},
      {"fixed_record_reader", [](given& w) { fixed_record_reader(w.lines, {.record_bytes = 20}).next(); }},
      {"csv_record_reader", [](given& w) { csv_record_reader(w.csv).next(); }},
      {"tfrecord_reader", [](given& w) { tfrecord_reader(w.zipped_records).next(); }},
      {"record_reader", [](given& w) { record_reader(text_line_reader(w.zipped)).next(); }},
      {"tfrecord_writer",
       [](given& w) {
         write_out(w, [&](auto const& path) {
           tfrecord_writer to(path);
           to.write(w.text);
           to.commit();
         });
       }},
  });
}

TEST(faults, of_memory_outside_of_steps_are_errors_of_graphs_sessions_and_training) {
  expect_only_errors({
      {"graph", [](given&) { graph(); }},
      {"dot", [](given& w) { dot(w.g); }},
      {"name", [](given& w) { w.x.name(); }},
      {"contains", [](given& w) { EXPECT_TRUE(w.g.contains(w.name)); }},
      {"find", [](given& w) { w.g.find(w.name); }},
      {"scope", [](given& w) { w.g.scope(w.outer, [] {}); }},
      {"on", [](given& w) { w.g.on("/job:worker/task:0/device:cpu:0", [] {}); }},
      {"near", [](given& w) { w.g.near(w.x, [] {}); }},
      {"after", [](given& w) { w.g.after(w.first, [] {}); }},
      {"session", [](given& w) { session(w.g, {.threads = 1}); }},
      {"explain", [](given& w) { w.s->explain(std::span<feed const>(), w.x); }},
      {"memory", [](given& w) { w.s->memory(std::span<feed const>(), w.x); }},
      {"checkpoints", [](given& w) { w.keep->checkpoints(); }},
      {"best", [](given& w) { w.keep->best(); }},
      {"index", [](given& w) { w.newest.index(); }},
      {"shard", [](given& w) { w.newest.shard(0, 1); }},
      {"batches",
       [](given& w) {
         for (auto const& [x, y] : batches(std::tuple{w.labels, w.scores}, 3)) EXPECT_EQ(x.elements(), y.elements());
       }},
      {"add_n", [](given& w) { add_n(w.twice); }},
      {"split", [](given& w) { split(w.x_value, 2); }},
      {"split_at", [](given& w) { split_at(w.x_value, w.cuts); }},
      {"trainable_variables", [](given& w) { trainable_variables(w.g, "a"); }},
      {"all_variables", [](given& w) { all_variables(w.g); }},
      {"global_norm", [](given& w) { global_norm(variable_gradients(sum(w.x))); }},
      {"clip_by_global_norm", [](given& w) { clip_by_global_norm(variable_gradients(sum(w.x)), 1); }},
      {"clip_by_value", [](given& w) { clip_by_value(variable_gradients(sum(w.x)), 1); }},
      {"gradient_descent", [](given& w) { gradient_descent{0.1}.minimize(sum(w.x)); }},
      {"adam", [](given& w) { adam{}.minimize(sum(w.x)); }},
      {"set_draws", [](given& w) { w.s->set_draws(w.s->draws()); }},
      {"set_steps", [](given& w) { w.s->set_steps(w.s->steps()); }},
      {"explain for a client", [](given& w) { w.s->explain(std::span<feed const>(), w.x, w.who); }},
      {"text of memory", [](given& w) { w.s->memory(std::span<feed const>(), w.x).text(); }},
      {"take_rows", [](given& w) { take_rows(w.words, w.order); }},
      {"k_folds", [](given&) { k_folds(10, 3); }},
      {"train_test_split", [](given&) { train_test_split(10, 0.5); }},
      {"standardizer", [](given& w) { standardizer(w.numbers).transform(w.numbers); }},
      {"bucket_by_length", [](given& w) { bucket_by_length(w.lengths, w.bounds, 2); }},
      {"accuracy", [](given& w) { metrics::accuracy().update(w.labels, w.labels); }},
      {"confusion_matrix",
       [](given& w) {
         metrics::confusion_matrix counts(2);
         counts.update(w.labels, w.labels);
         counts.result();
       }},
      {"roc_auc",
       [](given& w) {
         metrics::roc_auc area;
         area.update(w.labels, w.scores);
         EXPECT_EQ(area.result(), 1.0);
       }},
  });
}

// What calls that record nodes are called with: a graph, and values in it.
struct recording {
  graph g;
  expr<of<float, 2, 4>> x = placeholder<float, 2, 4>(g, "x");
  expr<of<std::int64_t>> number = placeholder<std::int64_t>(g, "number");
  expr<of<bool>> yes = placeholder<bool>(g, "yes");
  expr<of<std::int64_t, 2>> indices = placeholder<std::int64_t, 2>(g, "indices");
  expr<of<std::string, 2>> lines = placeholder<std::string, 2>(g, "lines");
  expr<of<std::string>> bytes = placeholder<std::string>(g, "bytes");
  expr<of<float, 2, 3, 4>> sequences = placeholder<float, 2, 3, 4>(g, "sequences");
  expr<of<float, 3, 2, 4>> many = placeholder<float, 3, 2, 4>(g, "many");
  expr<of<float, 1, 8, 8, 2>> images = placeholder<float, 1, 8, 8, 2>(g, "images");
  variable_expr<of<float, 2, 4>> v = variable(fill<2, 4>(constant(g, 1.f)), "v");
  expr<of<float>> loss = sum(x * v);
  std::vector<value> const both{x, v}, of_x{x}, one{loss}, none, rows{indices, x};
  std::vector<operation> const first{operation{&g, loss.node}};
  std::vector<variable_value> const variables{v};
  std::array<std::vector<variable_value>, 2> averaged{variables, variables};
  held_constant const held{std::vector<value>{x}};
  queue<of<float, 2, 4>> const elements = fifo_queue<of<float, 2, 4>>(g);
  moving_averages const averages{variables};
  named_field<of<float, 2>> const field{long_word, tensor(vector<float>({1, 2}))};
  std::vector<type> const row{of<float>, of<std::string>};
  std::vector<erased_field> const fields{{long_word, of<float, 2>, {}}};
  batch_options const named{.name = long_word};
  std::array<std::vector<std::string>, 2> files{{{long_word}, {long_word}}};
  std::string const names[2]{std::string(long_word) + " a", std::string(long_word) + " b"};
  std::size_t calls = 0;

  // The name of a layer: another when it is called again, because its variables' names may be taken by then.
  std::string_view name() const { return names[calls]; }
};

struct recorded_call {
  char const* name;
  std::function<void(recording&)> run;
};

void expect_only_errors(std::vector<recorded_call> const& calls) {
  test::allow(600);
  for (auto const& each : calls) {
    SCOPED_TRACE(each.name);
    fail_throughout(
        what::memory, 30, [] { return std::make_unique<recording>(); }, [&](recording& r) { each.run(r); },
        [&](recording& r) {
          r.calls = 1;
          each.run(r);
        });
  }
}

TEST(faults, of_memory_outside_of_steps_are_errors_of_control_flow) {
  expect_only_errors({
      {"cond", [](recording& r) { cond(r.yes, [&] { return r.x * 2.f; }, [&] { return r.x - 1.f; }); }},
      {"case_ by a number",
       [](recording& r) {
         case_(r.number, [&] { return r.x * 2.f; }, [&] { return r.x - 1.f; }, [&] { return r.x + 1.f; });
       }},
      {"case_ by predicates",
       [](recording& r) {
         case_(std::pair{r.yes, [&] { return r.x * 2.f; }}, std::pair{r.yes, [&] { return r.x - 1.f; }},
               [&] { return r.x + 1.f; });
       }},
      {"case_ by exclusive predicates",
       [](recording& r) {
         case_(
             std::pair{r.yes, [&] { return r.x * 2.f; }}, std::pair{r.yes, [&] { return r.x - 1.f; }},
             [&] { return r.x + 1.f; }, exclusive);
       }},
      {"while_loop",
       [](recording& r) {
         while_loop([](auto k, auto) { return k < 3; }, [](auto k, auto y) { return std::tuple{k + 1, y * 2.f}; },
                    r.number, r.x);
       }},
      {"for_loop", [](recording& r) { for_loop(0, r.number, 1, [](auto, auto y) { return y * 2.f; }, r.x); }},
      {"map", [](recording& r) { map([](auto row) { return row * 2.f; }, r.x); }},
      {"scan", [](recording& r) { scan([](auto s, auto row) { return s + row; }, r.x[0], r.x); }},
      {"fold", [](recording& r) { fold([](auto s, auto row) { return s + sum(row); }, 0.f, r.x); }},
      {"function", [](recording& r) { function<"twice", of<float, 2, 4>>(r.g, [](auto y) { return y + y; })(r.x); }},
      {"custom_gradient",
       [](recording& r) {
         custom_gradient([](auto y) { return y * y; }, [](auto, auto, auto dy) { return dy; })(r.x);
       }},
      {"recompute", [](recording& r) { recompute(r.g, [&] { return r.x * r.x; }); }},
      {"tensor_array", [](recording& r) { tensor_array<of<float, 4>, 2>(r.g).scatter(r.indices, r.x).stack(); }},
      {"identity", [](recording& r) { identity(r.x); }},
      {"no_op", [](recording& r) { no_op(r.g, r.name()); }},
      {"group", [](recording& r) { group(r.g, r.first, r.name()); }},
      {"initializer", [](recording& r) { initializer(r.g); }},
      {"check", [](recording& r) { check(r.x > 0.f, long_word); }},
      {"check_numerics", [](recording& r) { check_numerics(r.x, long_word); }},
      {"print", [](recording& r) { print(r.x, long_word); }},
      {"assign", [](recording& r) { assign(r.v, r.x); }},
      {"mutex", [](recording& r) { mutex(r.g, "short").locked([&] { return assign_add(r.v, r.x); }); }},
      {"arrive", [](recording& r) { arrive(r.g, "short", 2); }},
      {"accumulator",
       [](recording& r) {
         accumulator<of<float, 2, 4>> const sums(r.g, "short");
         sums.apply(r.x, r.number), sums.average(2), sums.count();
       }},
  });
}

TEST(faults, of_memory_outside_of_steps_are_errors_of_mathematics) {
  expect_only_errors({
      {"constant", [](recording& r) { constant<float, 3>(r.g, {1, 2, 3}); }},
      {"placeholder", [](recording& r) { placeholder<float>(r.g, r.name()); }},
      {"fuse", [](recording& r) { fuse<"swish">([](auto a) { return a / (1.f + exp(-a)); }, r.x); }},
      {"einsum", [](recording& r) { einsum<"ij,kj->ik">(r.x, r.x); }},
      {"einsum of many", [](recording& r) { einsum("ij,ij->i", r.both); }},
      {"tensordot", [](recording& r) { tensordot(r.x, r.v, 2); }},
      {"kron", [](recording& r) { kron(r.x, r.x); }},
      {"concat", [](recording& r) { concat(r.both, 0); }},
      {"unstack", [](recording& r) { unstack(value(r.x)); }},
      {"concat of nothing",
       [](recording& r) {
         try {
           concat(r.none, 0);
         } catch (error const& e) {
           if (e.code() != code::invalid_argument) throw;
         }
       }},
      {"one_hot", [](recording& r) { one_hot<4>(r.indices); }},
      {"gather", [](recording& r) { gather(r.x, r.indices); }},
      {"subscript", [](recording& r) { r.x[0]; }},
      {"tile", [](recording& r) { tile(r.x, {2, 1}); }},
      {"pad", [](recording& r) { pad(r.x, {1, 1}, {1, 1}); }},
      {"range", [](recording& r) { range(r.number); }},
      {"softmax", [](recording& r) { softmax(r.x); }},
      {"moments", [](recording& r) { moments(r.x); }},
      {"top_k", [](recording& r) { top_k(r.x, 2, 1); }},
      {"uniform", [](recording& r) { uniform<float, 2, 3>(r.g); }},
      {"random_crop", [](recording& r) { random_crop(r.images, 4, 4); }},
      {"adjust_contrast", [](recording& r) { adjust_contrast(r.images, 0.5); }},
      {"gradients", [](recording& r) { gradients(r.loss, r.x); }},
      {"gradients of many", [](recording& r) { gradients(r.loss, r.both); }},
      {"gradients with values held", [](recording& r) { gradients(r.loss, r.both, r.held, true); }},
      {"partial_gradients", [](recording& r) { partial_gradients(r.loss, r.both); }},
      {"vjp", [](recording& r) { vjp(r.loss, r.x, 1.f); }},
      {"vjp of many", [](recording& r) { vjp(r.loss, r.both, value(r.loss)); }},
      {"jvp", [](recording& r) { jvp(r.loss, r.x, r.x); }},
      {"jvp of many", [](recording& r) { jvp(r.one, r.both, r.both); }},
      {"hvp", [](recording& r) { hvp(sum(r.x * r.x), r.x, r.x); }},
      {"jacobian", [](recording& r) { jacobian(sum<1>(r.x * r.x), r.x); }},
      {"hessian", [](recording& r) { hessian(sum(r.x * r.x), r.x); }},
  });
}

TEST(faults, of_memory_outside_of_steps_are_errors_of_queues_and_input) {
  expect_only_errors({
      {"fifo_queue", [](recording& r) { fifo_queue<of<float>, of<std::string>>(r.g); }},
      {"padding_queue", [](recording& r) { padding_queue<of<float, unknown>>(r.g); }},
      {"bucket_queue", [](recording& r) { bucket_queue<of<std::int64_t>, of<float>>(r.g, {.together = 2}); }},
      {"enqueue", [](recording& r) { r.elements.enqueue(r.x); }},
      {"enqueue_by", [](recording& r) { r.elements.enqueue_by(2, r.of_x); }},
      {"enqueue_many", [](recording& r) { r.elements.enqueue_many(r.many); }},
      {"dequeue", [](recording& r) { dequeue(r.elements); }},
      {"dequeue_many", [](recording& r) { dequeue_many<2>(r.elements); }},
      {"dequeue_up_to", [](recording& r) { dequeue_up_to(r.elements, r.number); }},
      {"queue::size", [](recording& r) { r.elements.size(), r.elements.is_closed(); }},
      {"queue::close", [](recording& r) { r.elements.close(); }},
      {"batch", [](recording& r) { batch<2>(r.x, r.number); }},
      {"batch of sources", [](recording& r) { batch_up_to<2>(std::tuple{r.x, r.number}, std::tuple{r.x, r.number}); }},
      {"shuffle_batch", [](recording& r) { shuffle_batch<2>({.min_after_dequeue = 4}, r.x); }},
      {"batch with a name", [](recording& r) { batch<2>(r.named, r.x); }},
      {"prefetch", [](recording& r) { prefetch(r.x); }},
      {"decode_raw", [](recording& r) { decode_raw<float, 2>(r.lines); }},
      {"decode_csv", [](recording& r) { decode_csv<of<float>, of<std::string>>(r.lines); }},
      {"decode_csv by types", [](recording& r) { decode_csv(r.lines, r.row); }},
      {"decode_json", [](recording& r) { decode_json(r.lines, r.field); }},
      {"decode_json by types", [](recording& r) { decode_json(r.lines, r.fields); }},
      {"text_reader", [](recording& r) { text_reader(r.g, std::move(r.files[r.calls])).next(); }},
      {"idx_reader", [](recording& r) { idx_reader<of<std::uint8_t, 2>>(r.g, std::move(r.files[r.calls])).next(); }},
  });
}

TEST(faults, of_memory_outside_of_steps_are_errors_of_layers_and_training) {
  expect_only_errors({
      {"variable", [](recording& r) { variable(constant(r.g, 1.f), r.name()); }},
      {"zeros", [](recording& r) { variable(r.g, of<float, 2, 3>, r.name(), zeros()); }},
      {"glorot", [](recording& r) { variable(r.g, of<float, 2, 3>, r.name(), glorot()); }},
      {"truncated_normal", [](recording& r) { variable<float, 2, 3>(r.g, r.name(), truncated_normal(0, 1)); }},
      {"dense", [](recording& r) { dense<3>(r.x, r.name()); }},
      {"dense of a value", [](recording& r) { dense(value(r.x), 3, r.name()); }},
      {"conv2d", [](recording& r) { conv2d<3, 3>(r.images, r.name()); }},
      {"conv2d of a value", [](recording& r) { conv2d(value(r.images), 3, 3, r.name()); }},
      {"embedding", [](recording& r) { embedding<10, 4>(r.indices, r.name(), {}, {.padding = 0}); }},
      {"embedding of a value", [](recording& r) { embedding(value(r.indices), of<float, 10, 4>, r.name()); }},
      {"dynamic_rnn", [](recording& r) { dynamic_rnn(lstm_cell<3>{}, r.sequences, r.name()); }},
      {"recurrent_layer::step",
       [](recording& r) { recurrent_layer<gru_cell<4>, of<float, 4>>(r.g, r.name()).step(r.x, r.x); }},
      {"recurrent_layer::variables",
       [](recording& r) { recurrent_layer<gru_cell<4>, of<float, 4>>(r.g, r.name()).variables(); }},
      {"bidirectional_rnn",
       [](recording& r) {
         bidirectional_rnn(gru_cell<3>{}, r.sequences, placeholder<std::int64_t, 3>(r.g), r.name());
       }},
      {"layer_norm", [](recording& r) { layer_norm_layer(r.g, 4, r.name())(r.x); }},
      {"batch_norm", [](recording& r) { batch_norm_layer(r.g, 4, r.name())(r.x, true); }},
      {"batch_norm by a value", [](recording& r) { batch_norm_layer(r.g, 4, r.name())(r.x, r.yes); }},
      {"group_norm", [](recording& r) { group_norm_layer(r.g, 2, 1, r.name())(r.images); }},
      {"rms_norm", [](recording& r) { rms_norm_layer(r.g, 4, r.name())(r.x); }},
      {"attention", [](recording& r) { attention(r.sequences, r.sequences, r.sequences, {.causal = true}); }},
      {"multi_head_attention", [](recording& r) { multi_head_attention<2>(r.sequences, r.name()); }},
      {"multi_head_attention_layer::variables",
       [](recording& r) { multi_head_attention_layer<2>(r.g, 4, r.name()).variables(); }},
      {"mixture_of_experts", [](recording& r) { mixture_of_experts<2, 3>(r.x, r.name()); }},
      {"mixture_of_experts_layer::variables",
       [](recording& r) { mixture_of_experts_layer<2, 3>(r.g, 4, r.name()).variables(); }},
      {"dropout", [](recording& r) { dropout(r.x, 0.5, true); }},
      {"dropout by a value", [](recording& r) { dropout(r.x, 0.5, r.yes); }},
      {"momentum", [](recording& r) { momentum{0.1}.minimize(r.loss); }},
      {"rmsprop", [](recording& r) { rmsprop{0.1}.minimize(r.loss); }},
      {"adagrad", [](recording& r) { adagrad{0.1}.minimize(r.loss); }},
      {"ftrl", [](recording& r) { ftrl{0.1}.minimize(r.loss); }},
      {"a scheduled rate", [](recording& r) { exponential_decay{0.1}(r.number); }},
      {"moving_averages", [](recording& r) { moving_averages(std::move(r.averaged[r.calls])); }},
      {"moving_averages::update", [](recording& r) { r.averages.update(r.first); }},
      {"moving_averages::swap", [](recording& r) { r.averages.swap(); }},
      {"clip_by_norm", [](recording& r) { clip_by_norm(value(r.x), 1); }},
      {"clip_by_norm, typed", [](recording& r) { clip_by_norm(r.x, 1); }},
      {"saver", [](recording& r) { saver(r.g, "short"); }},
      {"container",
       [](recording& r) {
         container c;
         c.variable(r.names[0], of<float>), c.find_variable(r.names[0]), c.mutex(r.names[0]);
         c.accumulator(r.names[0], of<float>), c.sparse_accumulator(r.names[0], of<float, 2>);
         c.barrier(r.names[0], 2), c.keyed_barrier(r.names[0], r.row), c.variables(), r.elements.in(c);
         c.reset();
       }},
  });
}

// A reader, and the records that it has read.
template <class Reader> struct reading {
  explicit reading(std::filesystem::path const& path) : from(path) { got.reserve(16); }
  void read() {
    while (auto r = from.next()) got.push_back(std::move(*r));
  }
  Reader from;
  std::vector<std::string> got;
};

template <class Reader> void expect_no_record_is_lost(std::filesystem::path const& path, std::size_t count) {
  SCOPED_TRACE(path);
  reading<Reader> whole(path);
  whole.read();
  ASSERT_EQ(whole.got.size(), count);
  fail_throughout(
      what::memory, 100, [&] { return std::make_unique<reading<Reader>>(path); }, [](reading<Reader>& r) { r.read(); },
      [&](reading<Reader>& r) {
        r.read();
        if (r.got != whole.got) throw std::runtime_error("other records");
      });
}

// The same of readers whose records are no strings: as many texts.
struct keys {
  explicit keys(std::filesystem::path const& path) : from_(text_line_reader(path)) {}
  std::optional<std::string> next() {
    auto r = from_.next();
    return r ? std::optional(std::move(r->key)) : std::nullopt;
  }

 private:
  record_reader from_;
};
struct json_texts {
  explicit json_texts(std::filesystem::path const& path) : from_(path) {}
  std::optional<std::string> next() {
    auto const r = from_.next();
    return r ? std::optional<std::string>("x") : std::nullopt;
  }

 private:
  json_line_reader from_;
};

TEST(faults, of_memory_lose_no_record_of_a_file) {
  test::allow(600);
  given const w;
  expect_no_record_is_lost<text_line_reader>(w.lines, 3);
  expect_no_record_is_lost<text_line_reader>(w.zipped, 3);
  expect_no_record_is_lost<csv_record_reader>(w.csv, 2);
  expect_no_record_is_lost<tfrecord_reader>(w.records, 3);
  expect_no_record_is_lost<tfrecord_reader>(w.zipped_records, 3);
  expect_no_record_is_lost<json_texts>(w.json, 2);
  expect_no_record_is_lost<keys>(w.zipped, 3);
}

TEST(faults, of_memory_write_whole_records_or_no_file) {
  test::allow(600);
  given const w;
  std::string const long_record(1 << 17, 'x');  // more than what waits to be written
  for (auto const* name : {"c.tfrecord", "c.tfrecord.gz"}) {
    auto const path = w.dir / name;
    fail_throughout(
        what::memory, 60,
        [&] {
          std::filesystem::remove(path);
          return std::make_unique<tfrecord_writer>(path);
        },
        [&](tfrecord_writer& to) {
          to.write(w.name);
          to.write(long_record);
          to.write(w.text);
          to.commit();
        },
        [&](tfrecord_writer& to) {
          if (!std::filesystem::exists(path)) try {
              to.commit();
            } catch (error const& e) {
              if (e.code() != code::failed_precondition) throw;
              return;
            }
          std::size_t n = 0;
          std::array<std::string_view, 3> const wanted{w.name, long_record, w.text};
          for (tfrecord_reader from(path); auto const r = from.next(); ++n)
            if (n == 3 || *r != wanted[n]) throw std::runtime_error("another record");
        });
  }
}

}  // namespace
}  // namespace rill
