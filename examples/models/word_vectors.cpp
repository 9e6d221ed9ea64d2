// Word vectors from Shakespeare's plays: skip-grams with negative samples (T. Mikolov et al., Distributed
// Representations of Words and Phrases, NIPS 2013). The derivatives of `gather` are sparse, so a step updates only the
// rows that it reads.
#include <rill/rill.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <random>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "arguments.hpp"

namespace {

constexpr std::int64_t width = 48, batch = 256, wrong = 5;  // `wrong` random words for each right one
constexpr int window = 4;

struct corpus {
  std::vector<std::string> words;   // by number, the most frequent first
  std::vector<std::int32_t> text;   // numbers of words; others are left out
  std::vector<double> frequencies;  // of each word, in the text

  explicit corpus(std::string const& path, std::size_t most) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot open '" + path + "'");
    std::unordered_map<std::string, int> counts;
    std::vector<std::string> all;
    std::string word;
    for (char c; file.get(c);)
      if (std::isalpha(static_cast<unsigned char>(c)) || c == '\'')
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else if (!word.empty()) ++counts[word], all.push_back(std::exchange(word, {}));
    for (auto const& [w, n] : counts) words.push_back(w);
    std::ranges::sort(
        words, [&](auto const& a, auto const& b) { return std::pair(-counts.at(a), a) < std::pair(-counts.at(b), b); });
    words.resize(std::min(words.size(), most));
    std::unordered_map<std::string, std::int32_t> numbers;
    for (auto const& w : words) numbers.emplace(w, static_cast<std::int32_t>(numbers.size()));
    for (auto const& w : all)
      if (auto const found = numbers.find(w); found != numbers.end()) text.push_back(found->second);
    for (auto const& w : words) frequencies.push_back(counts.at(w) / static_cast<double>(text.size()));
  }
};

/// Draws pairs of words that stand near each other, frequent words less often.
class pairs {
 public:
  pairs(corpus const& c, unsigned seed) : corpus_(c), random_(seed) {
    std::vector<double> weights;
    for (double f : c.frequencies) weights.push_back(std::pow(f, 0.75));
    others_ = std::discrete_distribution<std::int32_t>(weights.begin(), weights.end());
  }
  void draw(rill::tensor& centre, rill::tensor& context) {
    std::uniform_int_distribution<std::size_t> place(0, corpus_.text.size() - 1);
    std::uniform_int_distribution<int> distance(1, window);
    std::uniform_real_distribution<double> chance;
    for (std::int64_t i = 0; i < batch;) {
      auto const at = place(random_), near = at + static_cast<std::size_t>(distance(random_));
      if (near >= corpus_.text.size()) continue;
      auto const a = corpus_.text[at], b = corpus_.text[near];
      if (chance(random_) > kept(a) || chance(random_) > kept(b)) continue;
      centre.at<std::int32_t>(i) = a;
      context.at<std::int32_t>(i, 0) = b;
      for (std::int64_t k = 1; k <= wrong; ++k) context.at<std::int32_t>(i, k) = others_(random_);
      ++i;
    }
  }

 private:
  double kept(std::int32_t word) const { return std::sqrt(1e-4 / corpus_.frequencies[static_cast<std::size_t>(word)]); }
  corpus const& corpus_;
  std::mt19937 random_;
  std::discrete_distribution<std::int32_t> others_;
};

void run(long steps) {
  corpus const plays("examples/data/shakespeare.txt", 4000);
  auto const count = static_cast<std::int64_t>(plays.words.size());
  std::printf("%zu words of text, %lld different ones\n", plays.text.size(), static_cast<long long>(count));

  rill::graph g(1);
  auto centre = rill::placeholder<std::int32_t, batch>(g, "centre");
  auto context = rill::placeholder<std::int32_t, batch, 1 + wrong>(g, "context");
  auto const rows = rill::type(rill::dtype::float32, {rill::dim(count), rill::dim(width)});
  auto vectors = rill::variable(g, rows, "vectors", rill::uniform(-0.5 / width, 0.5 / width));
  auto contexts = rill::variable(g, rows, "contexts", rill::zeros());

  // How well each context fits the word: the first is right, the others are random.
  auto word = rill::as<rill::of<float, batch, width>>(rill::gather(vectors, centre));
  auto others = rill::as<rill::of<float, batch, 1 + wrong, width>>(rill::gather(contexts, context));
  auto fits = rill::sum<2>(rill::expand_dims<1>(word) * others);
  auto right = rill::one_hot<1 + wrong>(rill::constant(g, 0));
  auto loss = rill::mean(rill::sum<1>(rill::sigmoid_cross_entropy(fits, right)));
  auto train = rill::adam{.rate = 2e-3f}.minimize(loss);

  // The words whose vectors point the same way.
  auto all = rill::as<rill::of<float, "words", width>>(rill::value(vectors));
  auto length = rill::sqrt(rill::sum<1>(rill::square(all), rill::keep));
  auto direction = all / rill::maximum(length, 1e-9f);
  auto asked = rill::placeholder<std::int32_t, "asked">(g, "asked");
  auto likeness = rill::matmul<rill::transposed{.b = true}>(rill::gather(direction, asked), direction);

  rill::session s{g};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(centre, context), rill::outputs(loss), train);
  pairs draws(plays, 1);
  double sum = 0, first = 0, last = 0;
  for (long i = 1; i <= steps; ++i) {
    rill::tensor_of<rill::of<std::int32_t, batch>> a{rill::tensor(rill::dtype::int32, {batch})};
    rill::tensor_of<rill::of<std::int32_t, batch, 1 + wrong>> b{rill::tensor(rill::dtype::int32, {batch, 1 + wrong})};
    draws.draw(a, b);
    float const l = step(a, b);
    sum += double{l};
    if (i == 1) first = double{l};
    if (i % 1000 == 0 || i == steps) {
      last = sum / double((i - 1) % 1000 + 1);
      std::printf("step %6ld: loss %.4f\n", i, last);
      sum = 0;
    }
  }

  for (char const* const shown : {"king", "sword", "night", "mother"}) {
    auto const found = std::ranges::find(plays.words, shown);
    if (found == plays.words.end()) continue;
    auto const number = static_cast<std::int32_t>(found - plays.words.begin());
    rill::tensor const near = s.run({{asked, rill::vector<std::int32_t>({number})}}, likeness);
    std::vector<std::int32_t> order(plays.words.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k);
    std::ranges::partial_sort(order, order.begin() + 7,
                              [&](auto a, auto b) { return near.at<float>(0, a) > near.at<float>(0, b); });
    std::printf("%s:", shown);
    for (int k = 1; k < 7; ++k)
      std::printf(" %s", plays.words[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])].c_str());
    std::puts("");
  }
  models::expect(last < first * 0.9, "contexts are not predicted better than at first");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 20000, run); }
