//! The line of an event of one camera's picture.

use pose_events::{Event, Zones};

/// Writes the line of `event`; `source` is what it says of where its frame came from, where nobody is there.
pub(in crate::output) fn write_event(
    line: &mut Vec<u8>,
    event: &Event,
    zones: &Zones,
    emitted_at_us: i64,
    source: Option<&str>,
) {
    event.write_line(line, zones, ["captured_us", "emitted_us"], emitted_at_us);
    let Some(source) = source else { return };
    // The brace, and the end of the line.
    line.truncate(line.len() - 2);
    line.extend_from_slice(b",\"source\":");
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(&mut *line, source);
    line.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose_events::What;

    #[test]
    fn an_event_of_the_built_in_clip_says_so() {
        let event = Event { what: What::Count, track_id: 0, at_us: 5, persons: 2 };
        let mut lines = Vec::new();
        for source in [None, Some("built-in clip")] {
            write_event(&mut lines, &event, &Zones::default(), 9, source);
        }
        let plain = r#"{"event":"count","captured_us":5,"emitted_us":9,"persons":2"#;
        let said = format!("{plain}}}\n{plain},\"source\":\"built-in clip\"}}\n");
        assert_eq!(String::from_utf8(lines).unwrap(), said);
    }
}
