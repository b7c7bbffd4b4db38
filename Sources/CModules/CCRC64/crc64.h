// CRC-64 by carry-less multiplication, for processors that have it.
//
// This module is ours and wraps no library: Swift has no spelling for these instructions. What it
// computes is defined in CRC64.swift, which also has the portable way.
//
// The register holds 16 bytes of the message, bit 0 of byte 0 being the highest power of x. To
// carry it D bits onwards, its first half is multiplied by x^(D+63) mod P and its second half by
// x^(D-1) mod P (one less than D+64 and D, because the product of two reflected 64-bit numbers
// stands one bit lower), with P = x^64 + x^4 + x^3 + x + 1.

#ifndef DORMOUSE_CRC64_H
#define DORMOUSE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/// Sixteen bytes, as two little-endian words, that have the same remainder as the whole message.
struct crc64_remnant {
    uint64_t first;
    uint64_t second;
};

#if defined(__x86_64__)

#include <cpuid.h>
#include <emmintrin.h>
#include <wmmintrin.h>

static inline int crc64_can_fold(void) {
    unsigned int a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_PCLMUL) != 0;
}

__attribute__((target("pclmul")))
static inline __m128i crc64_carry(__m128i x, __m128i factors, __m128i data) {
    __m128i first = _mm_clmulepi64_si128(x, factors, 0x00);
    __m128i second = _mm_clmulepi64_si128(x, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, second), data);
}

/// Folds `count` bytes, a multiple of 16 and at least 64, starting from the register `state`.
__attribute__((target("pclmul")))
static inline struct crc64_remnant crc64_fold(uint64_t state, const void *bytes, size_t count) {
    const __m128i by512 = _mm_set_epi64x(0xb100010100000001, 0x01b001b1b0000001);
    const __m128i by128 = _mm_set_epi64x(0xf500000000000001, 0x6b70000000000001);
    const __m128i *block = (const __m128i *)bytes;
    const __m128i *end = block + count / 16;
    __m128i x0 = _mm_xor_si128(_mm_loadu_si128(block), _mm_set_epi64x(0, (long long)state));
    __m128i x1 = _mm_loadu_si128(block + 1);
    __m128i x2 = _mm_loadu_si128(block + 2);
    __m128i x3 = _mm_loadu_si128(block + 3);
    for (block += 4; end - block >= 4; block += 4) {
        x0 = crc64_carry(x0, by512, _mm_loadu_si128(block));
        x1 = crc64_carry(x1, by512, _mm_loadu_si128(block + 1));
        x2 = crc64_carry(x2, by512, _mm_loadu_si128(block + 2));
        x3 = crc64_carry(x3, by512, _mm_loadu_si128(block + 3));
    }
    x0 = crc64_carry(x0, by128, x1);
    x0 = crc64_carry(x0, by128, x2);
    x0 = crc64_carry(x0, by128, x3);
    for (; block < end; block++) {
        x0 = crc64_carry(x0, by128, _mm_loadu_si128(block));
    }
    uint64_t halves[2];
    _mm_storeu_si128((__m128i *)halves, x0);
    return (struct crc64_remnant){halves[0], halves[1]};
}

#else

static inline int crc64_can_fold(void) {
    return 0;
}

/// Never called where `crc64_can_fold` says no.
static inline struct crc64_remnant crc64_fold(uint64_t state, const void *bytes, size_t count) {
    (void)bytes;
    (void)count;
    return (struct crc64_remnant){state, 0};
}

#endif

#endif
