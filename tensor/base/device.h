// Where a tensor's bytes live.
#pragma once

#include <cstdint>
#include <string>

namespace ringlet {

struct Device {
  enum class Kind : uint8_t { Cpu, Cuda };
  Kind kind = Kind::Cpu;
  int index = 0;  // which GPU; always 0 on the CPU

  friend bool operator==(Device, Device) = default;
};

/// "cpu" or "cuda:1".
inline std::string to_text(Device device) {
  return device.kind == Device::Kind::Cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace ringlet
