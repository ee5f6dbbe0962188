// CUDA's vector types, with CUDA's alignment: 16 bytes move at once where a kernel reads a float4.
#pragma once

struct uint3 {
  unsigned x, y, z;
};
struct int2 {
  alignas(8) int x;
  int y;
};
struct uint2 {
  alignas(8) unsigned x;
  unsigned y;
};
struct float2 {
  alignas(8) float x;
  float y;
};
struct double2 {
  alignas(16) double x;
  double y;
};
struct int4 {
  alignas(16) int x;
  int y, z, w;
};
struct uint4 {
  alignas(16) unsigned x;
  unsigned y, z, w;
};
struct float4 {
  alignas(16) float x;
  float y, z, w;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
  constexpr dim3(uint3 size) : x(size.x), y(size.y), z(size.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
