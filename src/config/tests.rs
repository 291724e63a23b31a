use super::*;

fn message_for(text: &str) -> String {
    Config::parse(text, Path::new("posewire.toml")).unwrap_err().to_string()
}

#[test]
fn nothing_said_means_the_defaults() {
    assert_eq!(Config::parse("", Path::new("x")).unwrap(), Config::default());
}

#[test]
fn words_and_numbers_are_both_understood() {
    let config = Config::parse(
        "[output]\nrate = 50\npredict = 80\n[source]\nframes = 3\n[temporal]\nsmoother = \"one-euro\"\n",
        Path::new("x"),
    )
    .unwrap();
    assert_eq!(config.output, Output { rate: Rate::Hz(50.0), predict: Predict::AfterCapture(80_000) });
    assert_eq!(config.source.frames, Frames::Count(3));
    assert_eq!(config.temporal.smoother, Smoother::OneEuro);
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_name() {
    let message = message_for("# mine\n[serial]\nprot = \"/dev/ttyUSB0\"\n");
    assert!(message.starts_with("posewire.toml:3:1: "), "{message}");
    assert!(message.contains("`prot`") && message.ends_with("did you mean 'port'?"), "{message}");

    let message = message_for("[temporl]\n");
    assert!(message.starts_with("posewire.toml:1:2: ") && message.contains("'temporal'"), "{message}");
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_its_place() {
    let message = message_for("[source]\nwidth = 640\nheight = \"480\"\n");
    assert!(message.starts_with("posewire.toml:3:10: ") && message.contains("u32"), "{message}");
    let message = message_for("[temporal]\nsmoother = \"oneeuro\"\n");
    assert!(message.starts_with("posewire.toml:2:12: ") && message.contains("'one-euro'"), "{message}");
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    for (text, word) in [
        ("[persons]\nmax = 9\n", "from 1 to 8"),
        ("[output]\nrate = 0\n", "0.1 to 1000"),
        ("[output]\npredict = 500\n", "0 to 150"),
        ("[source]\nframes = \"some\"\n", "\"all\""),
    ] {
        let message = message_for(text);
        assert!(message.starts_with("posewire.toml:2:") && message.contains(word), "{message}");
    }
}
