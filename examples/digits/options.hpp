// The command line's options.
#pragma once
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace digits {

inline constexpr std::string_view help = R"(Trains a network on handwritten digits.

  --model conv|mlp|linear   a convolutional network (the default), a network with a hidden layer, or one without
  --epochs N                passes over the training digits (20, or 3 with --images)
  --seed N                  the seed of the first weights and of the order of the digits (1)
  --threads N               number of threads (one for each processor that may be used)
  --device cpu|gpu          where it trains: the host (the default), or a GPU if there is one; its results are the same
  --checkpoints DIRECTORY   where checkpoints are saved after each epoch (digits-<model>)
  --resume                  continues from the newest checkpoint there
  --data FILE               lines of 64 pixels from 0 to 16 and a label (examples/data/digits.csv)
  --images FILE             instead of --data, images of 8x8 or 28x28 pixels in MNIST's format, gzip or plain,
  --labels FILE             and their labels
)";

/// An error in the command line.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct options {
  std::string model = "conv", device = "cpu";
  std::optional<std::int64_t> epochs;
  std::uint64_t seed = 1;
  int threads = 0;
  std::filesystem::path checkpoints, data, images, labels;
  bool resume = false, help = false;
};

/// Parses a whole number of at least `least`. Throws usage_error.
template <class Number> Number parse_number(std::string const& option, std::string_view text, Number least) {
  Number n{};
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc() || end != text.data() + text.size() || n < least)
    throw usage_error(option + ": expected a number from " + std::to_string(least) + " on, got '" + std::string(text) +
                      "'");
  return n;
}

inline options parse(int count, char const* const* words) {
  options o;
  for (int i = 1; i < count; ++i) {
    std::string const word = words[i];
    auto const argument = [&]() -> std::string {
      if (++i == count) throw usage_error(word + ": expected an argument");
      return words[i];
    };
    if (word == "--help" || word == "-h") o.help = true;
    else if (word == "--resume") o.resume = true;
    else if (word == "--model") o.model = argument();
    else if (word == "--epochs") o.epochs = parse_number<std::int64_t>(word, argument(), 1);
    else if (word == "--seed") o.seed = parse_number<std::uint64_t>(word, argument(), 0);
    else if (word == "--threads") o.threads = parse_number(word, argument(), 1);
    else if (word == "--device") o.device = argument();
    else if (word == "--checkpoints") o.checkpoints = argument();
    else if (word == "--data") o.data = argument();
    else if (word == "--images") o.images = argument();
    else if (word == "--labels") o.labels = argument();
    else throw usage_error("unknown option '" + word + "'; --help lists all options");
  }
  if (o.model != "conv" && o.model != "mlp" && o.model != "linear")
    throw usage_error("--model: expected conv, mlp or linear, got '" + o.model + "'");
  if (o.device != "cpu" && o.device != "gpu")
    throw usage_error("--device: expected cpu or gpu, got '" + o.device + "'");
  if (o.images.empty() != o.labels.empty()) throw usage_error("--images and --labels must be given together");
  if (!o.images.empty() && !o.data.empty())
    throw usage_error("expected one source of digits, got two: --data and --images");
  if (o.checkpoints.empty()) o.checkpoints = "digits-" + o.model;
  return o;
}

}  // namespace digits
