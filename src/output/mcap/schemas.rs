//! JSON Schemas of what is written, by the names and shapes that Foxglove knows.

use serde_json::{Map, Value, json};

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let properties: Map<_, _> = fields.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    json!({ "type": "object", "properties": properties })
}

fn number() -> Value {
    json!({ "type": "number" })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

/// Seconds and nanoseconds, as `time` or `duration`.
fn time(title: &str) -> Value {
    let mut time = object([("sec", integer()), ("nsec", integer())]);
    time["title"] = title.into();
    time
}

fn point<const N: usize>(axes: [&str; N]) -> Value {
    object(axes.map(|axis| (axis, number())))
}

fn colour() -> Value {
    point(["r", "g", "b", "a"])
}

fn titled(name: &str, mut schema: Value) -> Value {
    schema["title"] = name.into();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema
}

/// The JSON line.
pub(super) fn poses() -> Value {
    let joint = json!({
        "type": "array", "description": "x, y (pixels), score, sigma (pixels), measured, predicted or absent",
        "items": { "type": ["number", "string"] },
    });
    let metres = json!({ "type": ["array", "null"], "description": "17 of x, y, z, metres from the hips", "items": list(number()) });
    let floor = object(
        ["height", "height_sigma", "pitch", "pitch_sigma", "roll", "roll_sigma"].map(|key| (key, number())),
    );
    let person = object([
        ("id", integer()),
        ("score", number()),
        ("box", list(number())),
        ("keypoints", list(joint)),
        ("keypoints3d", metres),
        ("place", list(number())),
        ("place_sigma", list(number())),
        ("distance", number()),
        ("distance_sigma", number()),
        ("ground", list(number())),
    ]);
    titled(
        "posewire.Poses",
        object([
            ("seq", integer()),
            ("frame", json!({ "type": ["integer", "null"] })),
            ("captured_us", integer()),
            ("emitted_us", integer()),
            ("width", integer()),
            ("height", integer()),
            ("source", text()),
            ("floor", floor),
            ("persons", list(person)),
        ]),
    )
}

/// `foxglove.CompressedImage`.
pub(super) fn image() -> Value {
    let data = json!({ "type": "string", "contentEncoding": "base64" });
    titled(
        "foxglove.CompressedImage",
        object([("timestamp", time("time")), ("frame_id", text()), ("data", data), ("format", text())]),
    )
}

/// `foxglove.ImageAnnotations`.
pub(super) fn annotations() -> Value {
    let place = || point(["x", "y"]);
    let circle = object([
        ("timestamp", time("time")),
        ("position", place()),
        ("diameter", number()),
        ("thickness", number()),
        ("fill_color", colour()),
        ("outline_color", colour()),
    ]);
    let points = object([
        ("timestamp", time("time")),
        ("type", integer()),
        ("points", list(place())),
        ("outline_color", colour()),
        ("outline_colors", list(colour())),
        ("fill_color", colour()),
        ("thickness", number()),
    ]);
    let texts = object([
        ("timestamp", time("time")),
        ("position", place()),
        ("text", text()),
        ("font_size", number()),
        ("text_color", colour()),
        ("background_color", colour()),
    ]);
    titled(
        "foxglove.ImageAnnotations",
        object([("circles", list(circle)), ("points", list(points)), ("texts", list(texts))]),
    )
}

/// `foxglove.SceneUpdate`, with what is used of its entities.
pub(super) fn scene() -> Value {
    let deletion = object([("timestamp", time("time")), ("type", integer()), ("id", text())]);
    let pose = object([("position", point(["x", "y", "z"])), ("orientation", point(["x", "y", "z", "w"]))]);
    let line = object([
        ("type", integer()),
        ("pose", pose),
        ("thickness", number()),
        ("scale_invariant", json!({ "type": "boolean" })),
        ("points", list(point(["x", "y", "z"]))),
        ("color", colour()),
        ("colors", list(colour())),
        ("indices", list(integer())),
    ]);
    let nothing = || list(json!({ "type": "object" }));
    let entity = object([
        ("timestamp", time("time")),
        ("frame_id", text()),
        ("id", text()),
        ("lifetime", time("duration")),
        ("frame_locked", json!({ "type": "boolean" })),
        ("metadata", list(object([("key", text()), ("value", text())]))),
        ("arrows", nothing()),
        ("cubes", nothing()),
        ("spheres", nothing()),
        ("cylinders", nothing()),
        ("lines", list(line)),
        ("triangles", nothing()),
        ("texts", nothing()),
        ("models", nothing()),
    ]);
    titled("foxglove.SceneUpdate", object([("deletions", list(deletion)), ("entities", list(entity))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::jsonl::{BUILT_IN, Format, Head};
    use pose::{Floor, Place, Pose, Stamped};

    /// Keys of `value`, at any depth, that `schema` does not have.
    fn unknown(value: &Value, schema: &Value) -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().flat_map(|item| unknown(item, &schema["items"])).collect(),
            Value::Object(fields) => {
                let of = |(key, value): (&String, &Value)| match &schema["properties"][key] {
                    Value::Null => vec![key.clone()],
                    inner => unknown(value, inner),
                };
                fields.iter().flat_map(of).collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn the_line_has_no_key_that_its_schema_lacks() {
        let floor = Floor {
            up: [0.0, -1.0, 0.0],
            ahead: [0.0, 0.0, 1.0],
            right: [1.0, 0.0, 0.0],
            height_m: 1.3,
            height_sigma_m: 0.1,
            pitch_deg: 7.5,
            pitch_sigma_deg: 1.0,
            roll_deg: 0.5,
            roll_sigma_deg: 1.0,
        };
        let head =
            Head { size_px: Some([640, 480]), source: Some(BUILT_IN), floor: Some(floor), ..Head::default() };
        let joints_3d_m = Some([[0.0; 3]; pose::JOINTS]);
        let value = Pose { joints_3d_m, place: Some(Place::default()), ..Pose::default() };
        let pose = Stamped { captured_at_us: 0, valid_at_us: 0, value };
        let mut line = Vec::new();
        Format::Full.write(&mut line, &head, std::iter::once(pose));
        let line: Value = serde_json::from_slice(&line).unwrap();
        assert!(line["floor"].is_object() && line["persons"][0]["ground"].is_array(), "{line}");
        assert_eq!(unknown(&line, &poses()), Vec::<String>::new());
    }
}
