// As much of Arduino as the sketches use, so that a desktop compiler can check and run them.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <vector>

template <class T> T constrain(T x, T low, T high) { return x < low ? low : x > high ? high : x; }

#define SERIAL_8N1 0x800001c

struct SerialPort {
    std::deque<uint8_t> in;
    std::vector<uint8_t> out;
    long baud = 0;
#ifdef ESP32
    // Without pins the first ESP32's second port has those of its flash.
    void begin(long b, uint32_t, int, int) { baud = b; }
#else
    void begin(long b) { baud = b; }
#endif
    int available() { return (int)in.size(); }
    int read() {
        int byte = in.empty() ? -1 : in.front();
        if (!in.empty()) in.pop_front();
        return byte;
    }
    size_t write(const uint8_t *p, size_t n) {
        out.insert(out.end(), p, p + n);
        return n;
    }
};

extern SerialPort Serial, Serial1;
