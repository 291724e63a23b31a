// Runs the sketch on the bytes of standard input and prints every position of its servo.
#include <cstdio>

#include "Arduino.h" // as the Arduino builder does by itself
#ifdef ESP32
#include "ESP32Servo.h"
#else
#include "Servo.h"
#endif

SerialPort Serial, Serial1;
void Servo::write(int degrees) { std::printf("%d\n", degrees); }

#include "../examples/wrist_servo/wrist_servo.ino"

int main() {
    int byte;
    setup();
    while ((byte = std::getchar()) != EOF) {
        TRACKER.in.push_back((uint8_t)byte);
        loop();
    }
    return TRACKER.baud == PW_DEFAULT_BAUD && TRACKER.out.size() == PW_COMMAND_MAX ? 0 : 1;
}
