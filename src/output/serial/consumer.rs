//! What the other end says of itself in its RECEIPTs: kept, and told to people where something is wrong there.

use pose_wire::Receipt;

/// The consumer at the other end.
#[derive(Default)]
pub(super) struct Consumer {
    newest: Option<Receipt>,
    /// What it had lost when it was first heard: joining a line in the middle costs a frame, and it may be up for days.
    lost_before: u32,
    /// Losses since then that have been told of.
    told: u32,
}

impl Consumer {
    /// The newest of its receipts.
    pub fn newest(&self) -> Option<Receipt> {
        self.newest
    }

    /// Takes a receipt; says what is wrong, at first and then each time that it has doubled.
    pub fn hear(&mut self, receipt: Receipt) -> Option<String> {
        let lost = lost(&receipt);
        // Another board, or the same one started anew.
        let is_new = self.newest.is_none_or(|newest| receipt.packets < newest.packets);
        self.newest = Some(receipt);
        if is_new {
            (self.lost_before, self.told) = (lost, 0);
        }
        let since = lost.wrapping_sub(self.lost_before);
        if since == 0 || since < self.told.saturating_mul(2) {
            return None;
        }
        self.told = since;
        Some(format!(
            "the consumer loses what is sent, {} bytes and {} frames by now: it is too slow for the line, or the line is noisy; try \
             a lower --rate, another cable, or RTS and CTS wired and --serial PORT@BAUD,rtscts",
            receipt.overruns,
            damaged(&receipt),
        ))
    }

    /// One sentence for the end.
    pub fn told(&self) -> Option<String> {
        self.newest.map(|r| {
            format!(
                "the consumer took {} packets, damaged were {}, {} moments were replaced before it used them, the last use took \
                 {:.1} ms",
                r.packets,
                damaged(&r),
                r.superseded,
                f64::from(r.busy_us) / 1e3
            )
        })
    }
}

/// Frames that arrived damaged.
fn damaged(receipt: &Receipt) -> u32 {
    receipt.crc_errors.wrapping_add(receipt.framing_errors).wrapping_add(receipt.overfull)
}

fn lost(receipt: &Receipt) -> u32 {
    damaged(receipt).wrapping_add(receipt.overruns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(packets: u32, crc_errors: u32, overruns: u32) -> Receipt {
        Receipt { packets, crc_errors, overruns, ..Receipt::default() }
    }

    #[test]
    fn losses_are_told_at_first_and_whenever_they_have_doubled() {
        let mut consumer = Consumer::default();
        assert_eq!(consumer.told(), None);
        let told: Vec<u32> =
            (0..100).filter(|&n| consumer.hear(receipt(1_000 + n, 7 + n / 2, n / 2)).is_some()).collect();
        assert_eq!(told, [2, 4, 8, 16, 32, 64]);
        assert!(consumer.told().unwrap().contains("1099 packets, damaged were 56"));
    }

    #[test]
    fn what_was_lost_before_it_was_heard_and_before_it_started_anew_is_not_told() {
        let mut consumer = Consumer::default();
        assert_eq!(consumer.hear(receipt(1_000, 50, 9)), None);
        assert_eq!(consumer.hear(receipt(1_001, 50, 9)), None);
        assert_eq!(consumer.hear(receipt(3, 1, 0)), None);
        let told = consumer.hear(receipt(4, 1, 12)).unwrap();
        assert!(told.contains("12 bytes"), "{told}");
    }
}
