// There is no memory for the n-th who asks, in what users call outside of a step: each call throws an error of rill,
// and can be called again.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
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
      {"clip_by_global_norm", [](given& w) { clip_by_global_norm(variable_gradients(sum(w.x)), 1); }},
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
