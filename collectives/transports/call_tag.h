// The fingerprint of a call as the tag of its messages: MPI compares tags anyhow, so comparing calls costs no byte, no message and no copy.
//
//   tag = hash of the fingerprint · 16 + its sequence number modulo 16
//
// A message of another call finds no receive, and stays with MPI. There the one who waits finds it: what has come under the same
// sequence number with another hash is another call, what has another number is of the next one, which a rank may be in already. Two calls
// that differ are taken for one when their hashes are equal, once in 2^27 (with the 31 bits of a tag in Open MPI).
#pragma once

#include <cstdint>
#include <span>

#include "collectives/fingerprint.h"
#include "tensor/base/hash.h"

namespace ringlet {

class CallTag {
 public:
  /// The tag where calls are not compared: one for all of them.
  CallTag() = default;
  CallTag(const Fingerprint& call, int largest_tag)
      : number_(static_cast<int>(call.sequence % kNumbers)),
        hash_(static_cast<int>(hash_bytes(std::as_bytes(std::span(&call, 1))) %
                               (static_cast<uint64_t>(largest_tag) / kNumbers))) {}

  int on_wire() const { return hash_ * kNumbers + number_; }
  /// Whether a message with `tag`, −1 for none, is of another call with the same number.
  bool contradicts(int tag) const { return tag >= 0 && tag % kNumbers == number_ && tag != on_wire(); }

 private:
  static constexpr int kNumbers = 16;  // 2 would do: nobody is further ahead than in the next call
  static_assert(sizeof(Fingerprint) == 40, "without padding: its bytes are hashed");
  int number_ = 0, hash_ = 0;
};

}  // namespace ringlet
