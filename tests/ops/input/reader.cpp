#include "rill/ops/input/reader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "../../io/scratch.hpp"
#include "base/sentence.hpp"
#include "rill/io.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

void write(std::filesystem::path const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(file_reader, goes_through_its_files_epoch_by_epoch_and_then_is_out_of_range) {
  scratch const folder;
  write(folder / "a1.txt", "one\ntwo\n");
  write(folder / "a2.txt", "");
  write(folder / "a3.txt", "three");
  graph g;
  auto const reader = text_reader(g, {(folder / "a*.txt").string()}, {.epochs = 2}, "lines");
  auto const [key, line] = reader.next_with_key();
  session s(g);
  s.run(initializer(g));
  std::vector<std::string> seen;
  for (int i = 0; i < 6; ++i) {
    auto const [k, l] = s.run(key, line);
    seen.push_back(l.template item<std::string>());
    EXPECT_TRUE(std::string(k.template item<std::string>()).find(".txt:") != std::string::npos);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "two", "three", "one", "two", "three"}));
  EXPECT_NE(sentence([&] { s.run(line); }).find("has given every record 2 times"), std::string::npos);
}

TEST(file_reader, goes_on_where_a_checkpoint_says) {
  scratch const folder;
  write(folder / "a.txt", "1\n2\n3\n4\n5\n");
  graph g;
  auto const line = text_reader(g, {(folder / "a.txt").string()}, {.epochs = -1}, "lines").next();
  auto const next = [&](session& s) { return s.run(line).item<std::string>(); };
  session first(g);
  first.run(initializer(g));
  for (int i = 0; i < 8; ++i) next(first);
  saver keep(g, folder / "checkpoints");
  keep.save(first);
  EXPECT_EQ(next(first), "4");
  session second(g);
  keep.restore(second);
  EXPECT_EQ(next(second), "4");
  EXPECT_EQ(next(second), "5");
  EXPECT_EQ(next(second), "1");
}

TEST(file_reader, that_nobody_named_has_a_name_of_its_own) {
  scratch const folder;
  write(folder / "a.txt", "a1\na2\n");
  write(folder / "b.txt", "b1\nb2\n");
  graph g;
  auto const a = text_reader(g, {(folder / "a.txt").string()});
  auto const b = text_reader(g, {(folder / "b.txt").string()}, epochs(1));
  auto const within = g.scope("part", [&] { return text_reader(g, {(folder / "b.txt").string()}); });
  EXPECT_EQ(a.place().name(), "text_reader/place");
  EXPECT_NE(b.place().name(), a.place().name());
  EXPECT_EQ(within.place().name(), "part/text_reader/place");
  auto const x = a.next(), y = b.next(), z = within.next();
  session s(g);
  s.run(initializer(g));
  for (char const* n : {"1", "2"}) {
    auto const [of_a, of_b, of_part] = s.run(x, y, z);
    EXPECT_EQ(of_a.item<std::string>(), std::string("a") + n);
    EXPECT_EQ(of_b.item<std::string>(), std::string("b") + n);
    EXPECT_EQ(of_part.item<std::string>(), std::string("b") + n);
  }
}

TEST(file_reader, of_one_name_is_one_in_a_container_and_made_alike) {
  scratch const folder;
  write(folder / "a.txt", "1\n2\n3\n");
  write(folder / "b.txt", "b1\nb2\n");
  auto const state = std::make_shared<container>();
  auto const file = [&](char const* name) { return std::vector{(folder / name).string()}; };
  graph first, same, other, longer;
  auto const x = text_reader(first, file("a.txt"), {}, "lines").next();
  auto const y = text_reader(same, file("a.txt"), {}, "lines").next();
  auto const z = text_reader(other, file("b.txt"), {}, "lines").next();
  auto const w = text_reader(longer, file("a.txt"), {.epochs = 2}, "lines").next();
  session a(first, {.state = state}), b(same, {.state = state}), c(other, {.state = state}),
      d(longer, {.state = state});
  a.run(initializer(first));
  EXPECT_EQ(a.run(x).item<std::string>(), "1");
  EXPECT_EQ(b.run(y).item<std::string>(), "2");
  EXPECT_EQ(a.run(x).item<std::string>(), "3");
  for (auto const& said : {sentence([&] { c.run(z); }), sentence([&] { d.run(w); })}) {
    EXPECT_NE(said.find("failed_precondition"), std::string::npos) << said;
    EXPECT_NE(said.find("the container already has a reader of that name that is made otherwise"), std::string::npos)
        << said;
  }
  EXPECT_NE(sentence([&] { d.run(w); }).find("they differ in epochs"), std::string::npos);
}

TEST(file_reader, shuffles_its_files_anew_each_epoch_and_the_same_for_the_same_seed) {
  scratch const folder;
  for (int i = 0; i < 8; ++i) write(folder / ("f" + std::to_string(i)).c_str(), std::to_string(i) + "\n");
  auto const order = [&](std::int64_t seed) {
    graph g;
    auto const line =
        text_reader(g, {(folder / "f*").string()}, {.epochs = 2, .shuffle_files = true, .seed = seed}).next();
    session s(g);
    s.run(initializer(g));
    std::string all;
    for (int i = 0; i < 16; ++i) all += s.run(line).item<std::string>();
    return all;
  };
  auto const one = order(1);
  EXPECT_EQ(order(1), one);
  EXPECT_NE(order(2), one);
  EXPECT_NE(one.substr(0, 8), one.substr(8));
  EXPECT_EQ(std::set<char>(one.begin(), one.begin() + 8).size(), 8);
}

TEST(file_reader, skips_the_header_of_each_csv_file_in_each_epoch_and_knows_the_delimiter) {
  scratch const folder;
  write(folder / "a1.csv", "name;\"of\nmuch\"\nx;1\n");
  write(folder / "a2.csv", "name;number\n;\ny;2\n\"z\n\";3\n");
  graph g;
  auto const line =
      csv_reader(g, {(folder / "a*.csv").string()}, {.epochs = 2, .header_lines = 2, .delimiter = ';'}, "r").next();
  auto const fields = decode_csv(line, {of<std::string>, of<std::int32_t>}, ';');
  session s(g);
  s.run(initializer(g));
  auto const three = [&](session& in) {
    std::vector<std::string> seen;
    for (int i = 0; i < 3; ++i) seen.push_back(in.run(fields[0]).item<std::string>());
    return seen;
  };
  EXPECT_EQ(three(s), (std::vector<std::string>{"x", "y", "z\n"}));
  saver keep(g, folder / "checkpoints");
  keep.save(s);
  session again(g);
  keep.restore(again);
  EXPECT_EQ(three(again), (std::vector<std::string>{"x", "y", "z\n"}));
}

TEST(file_reader, refuses_a_header_where_there_are_no_lines_to_skip) {
  graph g;
  EXPECT_NE(
      sentence([&] { text_reader(g, {"a"}, {.header_lines = 1}).next(); }).find("only CSV files have header lines"),
      std::string::npos);
  EXPECT_NE(sentence([&] { csv_reader(g, {"a"}, {.header_lines = -1}).next(); }).find("header lines"),
            std::string::npos);
  EXPECT_NE(sentence([&] { csv_reader(g, {"a"}, {.delimiter = '"'}).next(); }).find("delimiter"), std::string::npos);
}

TEST(file_reader, reads_rows_of_arrays_with_their_type) {
  scratch const folder;
  write_npy(folder / "a.npy", matrix<float>({{1, 2}, {3, 4}}));
  graph g;
  auto const row = npy_reader<of<float, 2>>(g, {(folder / "a.npy").string()}).next();
  auto const wrong = npy_reader<of<float, 3>>(g, {(folder / "a.npy").string()}).next();
  session s(g);
  s.run(initializer(g));
  EXPECT_TRUE(same_bits(s.run(row), vector<float>({1, 2})));
  EXPECT_TRUE(same_bits(s.run(row * 2.f), vector<float>({6, 8})));
  EXPECT_NE(sentence([&] { s.run(wrong); }).find("not a float32[3]"), std::string::npos);
}

TEST(file_reader, says_what_is_missing) {
  scratch const folder;
  write(folder / "empty.txt", "");
  write(folder / "gone.txt", "a\nb\n");
  graph g;
  session s(g);
  auto const none = text_reader(g, {(folder / "no*.txt").string()}, {}, "none").next();
  auto const empty = text_reader(g, {(folder / "empty.txt").string()}, {.epochs = -1}, "empty").next();
  auto const gone = text_reader(g, {(folder / "gone.txt").string()}, {.epochs = 2}, "gone").next();
  EXPECT_NE(sentence([&] { s.run(none); }).find("failed_precondition"), std::string::npos);  // not initialised
  s.run(initializer(g));
  EXPECT_NE(sentence([&] { s.run(none); }).find("no file matches"), std::string::npos);
  EXPECT_NE(sentence([&] { s.run(empty); }).find("have no records"), std::string::npos);
  for (int i = 0; i < 2; ++i) s.run(gone);
  std::filesystem::remove(folder / "gone.txt");
  EXPECT_NE(sentence([&] { s.run(gone); }).find("no file matches"), std::string::npos);
}

TEST(file_reader, names_the_file_that_vanishes_within_an_epoch) {
  scratch const folder;
  for (auto const* name : {"a.txt", "b.txt", "c.txt"}) write(folder / name, name + std::string("1\n2\n"));
  graph g;
  auto const reader = text_reader(g, {(folder / "*.txt").string()}, {}, "lines");
  auto const line = reader.next();
  auto const back = assign(variable_value{reader.place()}, constant<std::int64_t, 4>(g, {0, 0, 7, 1}));
  session s(g);
  s.run(initializer(g));
  auto const next = [&] { return s.run(line).item<std::string>(); };
  auto const gone = [&](char const* name) {
    auto const e = error_of(next);
    EXPECT_EQ(e.code(), code::not_found);
    EXPECT_NE(e.message().find("'" + (folder / name).string() + "'"), std::string::npos) << e.what();
  };
  EXPECT_EQ(next(), "a.txt1");
  std::filesystem::remove(folder / "a.txt");
  EXPECT_EQ(next(), "2");  // it was open
  s.run(back);             // and is opened again
  write(folder / "a.txt", "a.txt1\nnew\n");
  EXPECT_EQ(next(), "new");
  std::filesystem::remove(folder / "b.txt");
  gone("b.txt");
  gone("b.txt");  // the place is still before it
  write(folder / "b.txt", "again\n");
  EXPECT_EQ(next(), "again");
  s.run(back);
  std::filesystem::remove(folder / "a.txt");
  gone("a.txt");
}

TEST(file_reader, names_a_file_that_became_shorter_between_two_of_its_records) {
  scratch const folder;
  write(folder / "a.bin", std::string(400'000, 'x'));
  graph g;
  auto const record = fixed_length_reader(g, {(folder / "a.bin").string()}, {.record_bytes = 100'000}).next();
  session s(g);
  s.run(initializer(g));
  s.run(record);
  std::filesystem::resize_file(folder / "a.bin", 250'000);
  s.run(record);
  auto const e = error_of([&] { s.run(record); });
  EXPECT_EQ(e.code(), code::data_loss);
  EXPECT_NE(e.message().find("a.bin' had 400000 bytes when it was opened, and now ends at byte 250000"),
            std::string::npos)
      << e.what();
}

TEST(file_reader, feeds_a_queue_from_several_threads_each_record_once) {
  scratch const folder;
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i) + "\n";
  write(folder / "a.txt", text);
  graph g;
  auto const line = text_reader(g, {(folder / "a.txt").string()}, epochs(1)).next();
  auto const q = fifo_queue<of<std::string>>(g, {.capacity = 10});
  session s(g);
  s.run(initializer(g));
  auto const put = q.enqueue(line);
  queue_runner fill{s, {put, put, put}};
  auto const ten = dequeue_up_to<10>(q);
  std::set<std::string> seen;
  try {
    for (;;) {
      auto const some = s.run(ten);
      for (auto const& l : some.span<std::string>()) EXPECT_TRUE(seen.insert(l).second) << l;
    }
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::out_of_range) << e.what();
  }
  EXPECT_EQ(seen.size(), 300);
}

}  // namespace
}  // namespace rill
