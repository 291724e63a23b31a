// Moves a servo with the right wrist of the first person that Posewire sees: at the picture's left edge 0 degrees, at
// its right edge 180. When the wrist is not known, or the line is silent, the servo stays where it is. So it does while the tracker has no
// camera and sends its built-in clip.
//
// Wiring: the tracker's serial adapter TX to the board's RX (its Serial1), GND to GND; the servo's signal to pin 9.
// A board with one serial port (Uno) takes that; unplug the tracker while you flash it.
// ESP32 (Dev Module): TX to GPIO 16, the servo's signal to GPIO 18; install the library ESP32Servo. Others of its family have flash or USB
// on some of these: change the numbers below.

#include <Arduino.h>
#if defined(ESP32)
#include <ESP32Servo.h>
#else
#include <Servo.h>
#endif

#define PW_MAX_FRAME 256 // an Uno has 2 KB of RAM; today's packets all fit
#include "posewire.h"

#if defined(__AVR__) && !defined(HAVE_HWSERIAL1)
#define TRACKER Serial
#else
#define TRACKER Serial1
#endif

#if defined(ESP32)
const int RX_PIN = 16, TX_PIN = 17, SERVO_PIN = 18;
#else
const int SERVO_PIN = 9;
#endif
// Below this a wrist is more guess than measurement.
const float MIN_SCORE = 0.3;

static pw_decoder decoder;
static pw_event event;
static Servo servo;
// Source image, px; HELLO says which.
static uint16_t image_width = 640;
// Whether the tracker sees with a camera or a recording; its STATUS says so, with the first poses and every second.
static bool is_real = false;

static void request_hello() {
    uint8_t frame[PW_COMMAND_MAX];
    TRACKER.write(frame, pw_encode_command(frame, PW_COMMAND_REQUEST_HELLO, 0));
}

static void follow(const pw_pose *pose) {
    const pw_joint *wrist = &pose->joints[PW_RIGHT_WRIST];
    if (pw_joint_state(wrist) == PW_ABSENT || pw_joint_score(wrist) < MIN_SCORE) return;
    float degrees = pw_joint_x_px(pose, PW_RIGHT_WRIST) * 180.0f / (float)image_width;
    servo.write((int)constrain(degrees, 0.0f, 180.0f));
}

void setup() {
#if defined(ESP32)
    TRACKER.begin(PW_DEFAULT_BAUD, SERIAL_8N1, RX_PIN, TX_PIN);
#else
    TRACKER.begin(PW_DEFAULT_BAUD);
#endif
    servo.attach(SERVO_PIN);
    pw_decoder_init(&decoder);
    request_hello();
}

void loop() {
    while (TRACKER.available() > 0) {
        if (!pw_decoder_push(&decoder, (uint8_t)TRACKER.read(), &event)) continue;
        if (event.kind == PW_EVENT_HELLO && event.as.hello.width > 0) image_width = event.as.hello.width;
        if (event.kind == PW_EVENT_STATUS) is_real = event.as.status.source != PW_SOURCE_BUILT_IN;
        // index 0 is the person who has been there longest.
        if (is_real && event.kind == PW_EVENT_POSE && event.as.pose.persons > 0 && event.as.pose.index == 0)
            follow(&event.as.pose);
    }
}
