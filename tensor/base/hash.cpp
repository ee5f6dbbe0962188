#include "tensor/base/hash.h"

#include <xxhash.h>

#include "tensor/base/check.h"

namespace ringlet {

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t hash_text(std::string_view text, uint64_t seed) { return XXH3_64bits_withSeed(text.data(), text.size(), seed); }

struct StreamHash::State {
  XXH3_state_t* xxh3 = XXH3_createState();
  ~State() { XXH3_freeState(xxh3); }
};

StreamHash::StreamHash() : state_(std::make_unique<State>()) {
  check(state_->xxh3 != nullptr && XXH3_64bits_reset(state_->xxh3) == XXH_OK, "StreamHash: no memory for its state");
}

StreamHash::~StreamHash() = default;

void StreamHash::update(std::span<const std::byte> bytes) {
  check(XXH3_64bits_update(state_->xxh3, bytes.data(), bytes.size()) == XXH_OK, "StreamHash: failed over {} bytes",
        bytes.size());
}

uint64_t StreamHash::value() const { return XXH3_64bits_digest(state_->xxh3); }

}  // namespace ringlet
