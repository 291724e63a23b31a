/* libFuzzer on the C decoder: what it understands it must be able to show, whatever the bytes were. */
#include <stddef.h>
#include <stdlib.h>

#include "../../clients/c/src/posewire.h"

static volatile float sink;

static void look_at_moment(const pw_moment *moment, void *context) {
    (void)context;
    for (uint8_t i = 0; i < PW_MAX_PERSONS; i++)
        if ((moment->present >> i & 1) && (moment->poses[i].index != i || i >= moment->expected)) abort();
    sink = (float)pw_moment_sent_us(moment) + (float)pw_moment_valid_us(moment);
}

static void look(const pw_event *event, pw_assembly *assembly) {
    if (event->kind != PW_EVENT_POSE) return;
    pw_assembly_push(assembly, &event->as.pose, look_at_moment, NULL);
    for (uint8_t joint = 0; joint < PW_JOINTS; joint++) {
        const pw_pose *pose = &event->as.pose;
        const pw_joint *j = &pose->joints[joint];
        if (pw_joint_state(j) > PW_PREDICTED) abort(); /* the fourth of two bits is told as absent */
        sink = pw_joint_score(j) + pw_joint_x_px(pose, joint) + pw_joint_y_px(pose, joint) + pw_joint_sigma_px(pose, joint);
    }
}

/* First byte 0: the line as it is. Else: pieces, each a length and a payload that gets its checksum and is stuffed, so that
 * damage reaches what lies behind the checksum. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pw_decoder decoder;
    pw_event event;
    pw_assembly assembly;
    pw_decoder_init(&decoder);
    pw_assembly_init(&assembly);
    if (size == 0) return 0;
    if (data[0] == 0) {
        for (size_t i = 1; i < size; i++)
            if (pw_decoder_push(&decoder, data[i], &event)) look(&event, &assembly);
        pw_assembly_flush(&assembly, look_at_moment, NULL);
        return 0;
    }
    for (size_t at = 1; at < size;) {
        uint8_t payload[255 + 4], frame[sizeof payload + 4];
        size_t len = data[at++];
        if (len > size - at) len = size - at;
        memcpy(payload, data + at, len);
        at += len;
        pw__put32(payload + len, pw__crc(payload, (uint16_t)len));
        len += 4;
        size_t out = 0, code_at = out++;
        uint8_t code = 1;
        for (size_t i = 0; i < len; i++) {
            if (payload[i] != 0) {
                frame[out++] = payload[i];
                if (++code != 255) continue;
            }
            frame[code_at] = code;
            code_at = out++;
            code = 1;
        }
        frame[code_at] = code;
        for (size_t i = 0; i < out; i++)
            if (pw_decoder_push(&decoder, frame[i], &event)) look(&event, &assembly);
        if (pw_decoder_push(&decoder, 0, &event)) look(&event, &assembly);
    }
    pw_assembly_flush(&assembly, look_at_moment, NULL);
    return 0;
}
