// The least that a page-level replicator of this format has to do, in plain C.
//
// `floor pass DATABASE` reads a database file front to back and, page by page, packs each page
// with LZ4 and adds it to a CRC-64/GO-ISO, 16 bytes a step. Nothing is written.
//
// `floor differ BEFORE AFTER` compares two database files byte by byte and says how many pages
// of the second differ from the first or lie beyond its end, and how many bytes they have once
// LZ4 has packed them, page by page.

#include <fcntl.h>
#include <lz4.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, CHUNK = 1 << 20 };

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t tables[16][256];

static void make_tables(void) {
    for (int byte = 0; byte < 256; byte++) {
        uint64_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xD800000000000000 : crc >> 1;
        tables[0][byte] = crc;
    }
    for (int row = 1; row < 16; row++) {
        for (int byte = 0; byte < 256; byte++) {
            uint64_t shorter = tables[row - 1][byte];
            tables[row][byte] = tables[0][shorter & 0xFF] ^ shorter >> 8;
        }
    }
}

// Eight bytes, of which the first is followed by `row` more. Spelled out, as -O2 need not unroll.
static inline uint64_t half(uint64_t word, int row) {
    return tables[row][word & 0xFF] ^ tables[row - 1][word >> 8 & 0xFF]
        ^ tables[row - 2][word >> 16 & 0xFF] ^ tables[row - 3][word >> 24 & 0xFF]
        ^ tables[row - 4][word >> 32 & 0xFF] ^ tables[row - 5][word >> 40 & 0xFF]
        ^ tables[row - 6][word >> 48 & 0xFF] ^ tables[row - 7][word >> 56];
}

// Little-endian only, as are all machines that this is likely to run on.
static uint64_t update(uint64_t crc, const unsigned char *bytes, size_t count) {
    for (; count >= 16; bytes += 16, count -= 16) {
        uint64_t words[2];
        memcpy(words, bytes, 16);
        crc = half(words[0] ^ crc, 15) ^ half(words[1], 7);
    }
    for (; count > 0; bytes++, count--) crc = tables[0][(crc ^ *bytes) & 0xFF] ^ crc >> 8;
    return crc;
}

static int open_file(const char *path) {
    int file = open(path, O_RDONLY);
    if (file < 0) fail(path);
    return file;
}

// Reads whole pages; fewer than asked for only at the end of the file.
static size_t read_pages(int file, unsigned char *buffer) {
    size_t filled = 0;
    while (filled < CHUNK) {
        ssize_t count = read(file, buffer + filled, CHUNK - filled);
        if (count < 0) fail("read");
        if (count == 0) break;
        filled += count;
    }
    return filled / PAGE;
}

static void *state;

static int pack(const unsigned char *page) {
    static char packed[LZ4_COMPRESSBOUND(PAGE)];
    return LZ4_compress_fast_extState(state, (const char *)page, packed, PAGE, sizeof packed, 1);
}

static void pass(const char *path) {
    static unsigned char buffer[CHUNK];
    int file = open_file(path);
    long long pages = 0, bytes = 0;
    uint64_t crc = ~0ULL;
    for (size_t count; (count = read_pages(file, buffer)) > 0; pages += count) {
        for (size_t page = 0; page < count; page++) {
            bytes += pack(buffer + page * PAGE);
            crc = update(crc, buffer + page * PAGE, PAGE);
        }
    }
    printf("{\"pages\": %lld, \"bytes\": %lld, \"crc\": \"%016llx\"}\n", pages, bytes,
           (unsigned long long)~crc);
}

static void differ(const char *before, const char *after) {
    static unsigned char old[CHUNK], new[CHUNK];
    int old_file = open_file(before), new_file = open_file(after);
    long long pages = 0, bytes = 0;
    for (size_t count; (count = read_pages(new_file, new)) > 0;) {
        size_t known = read_pages(old_file, old);
        for (size_t page = 0; page < count; page++) {
            unsigned char *now = new + page * PAGE;
            if (page < known && memcmp(now, old + page * PAGE, PAGE) == 0) continue;
            pages++;
            bytes += pack(now);
        }
    }
    printf("{\"pages\": %lld, \"bytes\": %lld}\n", pages, bytes);
}

int main(int count, char **words) {
    make_tables();
    if (~update(~0ULL, (const unsigned char *)"123456789", 9) != 0xB90956C775A41001) {
        fprintf(stderr, "floor: the CRC is wrong\n");
        return 1;
    }
    state = malloc(LZ4_sizeofState());
    if (state == NULL) fail("malloc");
    if (count == 3 && strcmp(words[1], "pass") == 0) {
        pass(words[2]);
    } else if (count == 4 && strcmp(words[1], "differ") == 0) {
        differ(words[2], words[3]);
    } else {
        fprintf(stderr, "usage: floor pass DATABASE | floor differ BEFORE AFTER\n");
        return 2;
    }
    return 0;
}
