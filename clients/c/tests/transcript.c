/* Writes what the decoder makes of standard input: one line an event, numbers only; ends with the counters. With `moments`, one line
 * a moment; with `frames`, the frames that the header encodes instead: three commands, and a receipt of 1..9. */
#include <inttypes.h>
#include <stdio.h>

#include "../src/posewire.h"

static void print_pose(const pw_pose *p) {
    int j, k;
    printf("pose %" PRIu32 " %" PRId64 " %" PRId32 " %" PRId32 " %u", p->seq, p->captured_us, p->age_us, p->horizon_us,
           p->persons);
    if (p->persons) {
        printf(" %u %" PRIu32 " %u %u", p->index, p->track_id, p->score, p->scale);
        for (j = 0; j < PW_JOINTS; j++)
            printf(" %d %d %u %u", p->joints[j].x, p->joints[j].y, p->joints[j].sigma, p->joints[j].mark);
        if (p->has_3d) {
            printf(" 3d");
            for (j = 0; j < PW_JOINTS; j++)
                for (k = 0; k < 3; k++) printf(" %d", p->mm[j][k]);
        }
    }
    printf("\n");
}

static void print_hello(const pw_hello *h) {
    int i;
    printf("hello %u %u %u %u ", h->minor, h->skeleton, h->joints, h->max_persons);
    for (i = 0; i < 8; i++) printf("%02x", h->model_hash[i]);
    printf(" ");
    for (i = 0; i < 16; i++) printf("%02x", (unsigned char)h->backend[i]);
    printf(" %u %u %u %u %u %u %u %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", h->width, h->height, h->frame_rate,
           h->pose_rate, h->scale, h->flags, h->load, h->uptime_ms, h->frames_dropped, h->poses_dropped,
           h->packets_sent);
}

static void print_event(const pw_event *e) {
    const pw_status *s = &e->as.status;
    const pw_receipt *r = &e->as.receipt;
    switch (e->kind) {
    case PW_EVENT_HELLO: print_hello(&e->as.hello); break;
    case PW_EVENT_POSE: print_pose(&e->as.pose); break;
    case PW_EVENT_STATUS:
        printf("status %" PRIu32 " %d %u %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %u %u %u\n",
               s->uptime_ms, s->temperature, s->frame_rate, s->frames_dropped, s->poses_dropped, s->camera_losses,
               s->camera_errors, s->wire_errors, s->source, s->persons, s->flags);
        break;
    case PW_EVENT_PLACE: {
        const pw_place *p = &e->as.place;
        printf("place %" PRIu32 " %" PRId64 " %" PRIu32 " %u %u %d %d %d %u %u %u\n", p->seq, p->captured_us, p->track_id,
               p->distance_mm, p->distance_sigma_mm, p->at_mm[0], p->at_mm[1], p->at_mm[2], p->sigma_mm[0],
               p->sigma_mm[1], p->sigma_mm[2]);
        break;
    }
    case PW_EVENT_NOTICE: {
        const pw_notice *n = &e->as.notice;
        int i;
        printf("notice %" PRIu32 " %" PRId64 " %" PRIu32 " %u %u %u ", n->number, n->captured_us, n->track_id, n->code,
               n->persons, n->zone);
        for (i = 0; i < 12; i++) printf("%02x", (unsigned char)n->zone_name[i]);
        printf("\n");
        break;
    }
    case PW_EVENT_COMMAND: printf("command %u %" PRIu32 "\n", e->as.command.code, e->as.command.argument); break;
    case PW_EVENT_RECEIPT:
        printf("receipt %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32
               " %" PRIu32 "\n",
               r->seq, r->packets, r->crc_errors, r->framing_errors, r->overfull, r->skipped, r->overruns,
               r->superseded, r->busy_us);
        break;
    case PW_FAULT_OVERFULL: printf("overfull\n"); break;
    case PW_FAULT_FRAMING: printf("framing\n"); break;
    case PW_FAULT_CRC: printf("crc\n"); break;
    case PW_FAULT_VERSION: printf("version %u\n", e->detail); break;
    case PW_FAULT_UNKNOWN_TYPE: printf("unknown_type %u\n", e->detail); break;
    case PW_FAULT_MALFORMED: printf("malformed %u\n", e->detail); break;
    }
}

static void print_moment(const pw_moment *m, void *context) {
    int i;
    (void)context;
    printf("moment %" PRIu32 " %" PRId64 " %" PRId64 " %" PRId64 " %u", m->seq, m->captured_us, pw_moment_sent_us(m),
           pw_moment_valid_us(m), m->expected);
    for (i = 0; i < PW_MAX_PERSONS; i++)
        if (m->present >> i & 1) printf(" %u:%" PRIu32, m->poses[i].index, m->poses[i].track_id);
    printf("\n");
}

static void write_moments(void) {
    static pw_decoder decoder;
    static pw_assembly assembly;
    static pw_event event;
    const pw_moment_counters *c = &assembly.counters;
    int byte;
    pw_decoder_init(&decoder);
    pw_assembly_init(&assembly);
    while ((byte = getchar()) != EOF)
        if (pw_decoder_push(&decoder, (uint8_t)byte, &event) && event.kind == PW_EVENT_POSE)
            pw_assembly_push(&assembly, &event.as.pose, print_moment, NULL);
    pw_assembly_flush(&assembly, print_moment, NULL);
    printf("counters %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", c->given, c->incomplete, c->missed, c->refused);
}

static void write_frames(void) {
    uint8_t out[PW_RECEIPT_MAX];
    pw_receipt receipt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    fwrite(out, 1, pw_encode_command(out, PW_COMMAND_REQUEST_HELLO, 0), stdout);
    fwrite(out, 1, pw_encode_command(out, PW_COMMAND_SET_RATE, 3000), stdout);
    fwrite(out, 1, pw_encode_command(out, PW_COMMAND_RESET, 0), stdout);
    fwrite(out, 1, pw_encode_receipt(out, &receipt), stdout);
}

int main(int argc, char **argv) {
    static pw_decoder decoder;
    static pw_event event;
    const pw_counters *c = &decoder.counters;
    int byte;
    if (argc > 1) {
        if (strcmp(argv[1], "moments") == 0)
            write_moments();
        else
            write_frames();
        return 0;
    }
    pw_decoder_init(&decoder);
    while ((byte = getchar()) != EOF)
        if (pw_decoder_push(&decoder, (uint8_t)byte, &event)) print_event(&event);
    printf("counters %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", c->packets,
           c->overfull, c->framing, c->crc, c->version, c->unknown_type, c->malformed);
    return 0;
}
