#include "source/folder/layer_numbers.h"

#include <map>

#include "source/folder/tensor_maker.h"

namespace octavo {

Result<void> add_layer_numbers(const Checkpoint& checkpoint, const Family& family, DirectoryBuilder& out) {
  std::map<std::string_view, std::map<std::uint64_t, float>> numbers;  // [GGUF's key][layer]
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const auto place = place_of_layer_number(family, tensor.stored->name);
    if (!place) continue;
    OCTAVO_TRY(numbers[place->key][place->layer], number_of(tensor));
  }
  for (const auto& [key, of_layers] : numbers) {
    std::vector<float> values;
    for (const auto& [layer, value] : of_layers) {
      if (layer != values.size()) return fail("{}: layer {} has none", key, values.size());
      values.push_back(value);
    }
    out.add_f32s(key, values);
  }
  return {};
}

}  // namespace octavo
