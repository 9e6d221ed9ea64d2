// Trains four small networks and prints a line for each: its last loss and a checksum of all its variables' bits.
//   train THREADS fused|unfused
// bits.py compares what builds and runs of this print. RILL_TEST_KERNELS names the kernels, as for the tests.
#include <cstdio>
#include <cstdlib>
#include <rill/compiled.hpp>
#include <rill/io/crc32.hpp>
#include <string_view>

#include "../../examples/digits/data.hpp"
#include "../../examples/digits/model.hpp"

namespace {

using namespace rill;

// Of everything something: noise, fused lambdas, 16-bit numbers, a table whose gradient is sparse.
digits::model mixed(graph& g) {
  auto image = placeholder<float, "batch", 8, 8, 1>(g, "image");
  auto label = placeholder<std::int32_t, "batch">(g, "label");
  auto noisy = flatten(image + normal_like(image, 0, 0.1));
  auto wide = rill::tanh(dense<512>(noisy, "wide", he()));
  auto kept = select(uniform_like(wide) > 0.1f, wide, wide * 0.f);
  auto gated = fuse<"swish">([](auto x) { return x / (1.f + exp(-x)); }, dense<256>(kept, "gated"));
  auto rounded = cast<float>(cast<bfloat16>(gated) * cast<bfloat16>(sigmoid(gated)));
  auto table = variable<float, 10, 256>(g, "table", glorot());
  auto near = mean(square(rounded - gather(table, label)));
  auto logits = dense<10>(rounded, "logits");
  auto loss = mean(softmax_cross_entropy(logits, label)) + near * 0.1f;
  auto prediction = argmax<1>(logits);
  auto accuracy = mean(cast<float>(prediction == label));
  auto train = momentum{.rate = 0.05f, .nesterov = true}.minimize(loss);
  return {image, label, prediction, loss, accuracy, train};
}

void train(char const* kind, digits::split const& data, session_options const& options) {
  graph g(11);
  auto const m = std::string_view(kind) == "mixed" ? mixed(g) : digits::record<8>(g, kind);
  session s(g, options);
  s.run(initializer(g));
  auto step = s.prepare(inputs(m.image, m.label), outputs(m.loss), m.train);
  float loss = 0;
  for (auto const& [images, labels] : batches(data.training, 48, epochs(1), {.seed = 3}))
    loss = step(images, labels).template item<float>();
  std::uint32_t sum = 0;
  for (auto const& v : s.state().variables()) {
    auto const t = v->read();
    sum = crc32(std::string_view(static_cast<char const*>(t.raw()), t.bytes()), sum);
  }
  std::printf("%s %a %08x\n", kind, static_cast<double>(loss), static_cast<unsigned>(sum));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    if (char const* name = std::getenv("RILL_TEST_KERNELS")) rill::use_instruction_set(name);
    else if (rill::instruction_set() == "x86-64-v3" &&
             !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")))
      return 77;
    auto const data = digits::read_csv(digits::digits_csv());
    rill::session_options options{.threads = std::atoi(argv[1])};
    if (std::string_view(argv[2]) == "unfused") options.passes = rill::pass_options::none();
    for (auto kind : {"linear", "mlp", "conv", "mixed"}) train(kind, data, options);
  } catch (rill::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.code() == rill::code::unimplemented ? 77 : 1;
  }
  return 0;
}
