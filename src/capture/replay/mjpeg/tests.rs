use super::*;
use proptest::prelude::*;

fn jpeg(side: usize, level: u8) -> Vec<u8> {
    let pixels: Vec<u8> = (0..side * side).map(|i| level.wrapping_add(i as u8)).collect();
    let format = turbojpeg::PixelFormat::GRAY;
    let image = turbojpeg::Image { pixels: &pixels[..], width: side, pitch: side, height: side, format };
    turbojpeg::compress(image, 80, turbojpeg::Subsamp::Gray).expect("encodes").to_vec()
}

/// Gives the stream in pieces of chosen lengths.
struct Pieces<'a>(&'a [u8], Vec<usize>);

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.pop().unwrap_or(usize::MAX).clamp(1, out.len()).min(self.0.len());
        out[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn all(input: impl Read + Send) -> (Vec<Vec<u8>>, u64) {
    let mut clip = Mjpeg::new(input, "test".into());
    let frames = std::iter::from_fn(|| clip.next().ok().map(|f| f.bytes.to_vec())).collect();
    (frames, clip.damaged())
}

#[test]
fn one_whole_picture_is_told_from_a_stream() {
    let (one, boundary) = (jpeg(64, 3), &b"\r\n--frame\r\nContent-Type: image/jpeg\r\n\r\n"[..]);
    let is_one = |parts: &[&[u8]]| is_one(&parts.concat()[..]).unwrap();
    assert!(is_one(&[&one]) && is_one(&[&one, &[0; 200_000]]));
    assert!(!is_one(&[&one, &one]) && !is_one(&[&one, boundary, &one]));
    assert!(!is_one(&[&one[..one.len() / 2]]), "a picture that is cut off");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn pictures_come_out_whole_however_the_stream_arrives(
        pieces in prop::collection::vec(1usize..900, 0..60), garbage in prop::collection::vec(0u8..0xff, 0..40),
    ) {
        // A comment that looks like a picture sits inside the second.
        let mut second = jpeg(16, 9);
        let decoy = jpeg(8, 1);
        let comment = [&[0xff, 0xfe][..], &(decoy.len() as u16 + 2).to_be_bytes(), &decoy].concat();
        second.splice(2..2, comment);
        let pictures = vec![jpeg(64, 3), second, jpeg(1, 200)];
        let stream = [&pictures[0][..], &garbage, &pictures[1], &pictures[2]].concat();
        prop_assert_eq!(all(Pieces(&stream, pieces)), (pictures, 0));
    }

    #[test]
    fn damaged_streams_neither_panic_nor_hang(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut stream = [jpeg(32, 3), jpeg(16, 9), jpeg(8, 200)].concat();
        for (at, to) in flips {
            let at = at.index(stream.len());
            stream[at] = to;
        }
        let (frames, damaged) = all(&stream[..]);
        prop_assert!(frames.len() as u64 + damaged < 20);
    }
}

/// Counts what is read, and gives `bytes` of coded data without a marker after the start of a picture.
struct Endless {
    given: usize,
    bytes: usize,
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        const HEAD: [u8; 6] = [0xff, 0xd8, 0xff, 0xda, 0, 2];
        let n = out.len().min(self.bytes - self.given);
        for (i, byte) in out[..n].iter_mut().enumerate() {
            *byte = HEAD.get(self.given + i).copied().unwrap_or(0x55);
        }
        self.given += n;
        Ok(n)
    }
}

#[test]
fn a_picture_without_an_end_costs_its_length_once_and_lets_a_stop_be_heard() {
    let mut clip = Mjpeg::new(Endless { given: 0, bytes: 3 * MAX_JPEG_BYTES }, "test".into());
    let (began, mut polls, mut longest) = (std::time::Instant::now(), 0, std::time::Duration::ZERO);
    loop {
        let asked = std::time::Instant::now();
        let answer = clip.poll();
        longest = longest.max(asked.elapsed());
        polls += 1;
        match answer {
            Ok(None) => {}
            Ok(Some(frame)) => panic!("{frame:?}"),
            Err(why) => {
                assert!(why.to_string().contains("no whole JPEG"), "{why}");
                break;
            }
        }
    }
    // Walked anew after every read, the first 64 MiB alone take half a minute.
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(polls > 3 * MAX_JPEG_BYTES / READ_BYTES / READS, "{polls} looks, the longest {longest:?}");
    assert_eq!(clip.damaged(), 1, "the rest is no picture's");
}

/// Pictures' levels, and the times of their light.
fn with_light(stream: &[u8], pieces: Vec<usize>) -> Vec<(Vec<u8>, Option<i64>)> {
    let mut clip = Mjpeg::new(Pieces(stream, pieces), "test".into()).with_light();
    let next = || clip.next().ok().map(|frame| (frame.bytes.to_vec(), clip.light_us()));
    std::iter::from_fn(next).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn each_picture_has_the_time_that_follows_it_however_the_stream_arrives(
        pieces in prop::collection::vec(1usize..900, 0..60),
    ) {
        let pictures = [jpeg(32, 1), jpeg(16, 2), jpeg(8, 3), jpeg(8, 4)];
        let said = |us: i64| format!("Lux=3.5\nSensorTimestamp={us}000\nAeLocked=false\n\n").into_bytes();
        // Nothing is said of the third.
        let stream = [
            &pictures[0][..], &said(7_000), &pictures[1], &said(9_000), &pictures[2], &pictures[3], &said(11_000),
        ].concat();
        let times = [Some(7_000), Some(9_000), None, Some(11_000)];
        let expected: Vec<_> = pictures.into_iter().zip(times).collect();
        prop_assert_eq!(with_light(&stream, pieces), expected);
    }
}

#[test]
fn a_program_that_says_nothing_of_its_pictures_holds_none_back_for_long() {
    let pictures = vec![jpeg(8, 1); 6];
    let stream = pictures.concat();
    let mut clip = Mjpeg::new(&stream[..], "test".into()).with_light();
    for given in 1..=6 {
        clip.next().unwrap();
        assert_eq!(clip.light_us(), None);
        let read_ahead = clip.held.is_some();
        assert!(!read_ahead || given <= 3);
    }
    assert!(matches!(clip.next(), Err(CaptureError::Ended)));
}

#[test]
fn where_no_picture_can_be_read_that_is_the_error() {
    let none = [0xff, 0xd8, 0xff, 0xd9].repeat(3);
    let mut clip = Mjpeg::new(&none[..], "test".into());
    let why = format!("{:#}", clip.next().expect_err("there is none"));
    assert!(why.contains("none of the 3 pictures can be read; the first: "), "{why}");
}

#[test]
fn a_picture_cut_off_at_the_end_is_counted_and_one_alone_is_an_error() {
    let stream = [jpeg(32, 1), jpeg(32, 2)].concat();
    let (frames, damaged) = all(&stream[..stream.len() - 5]);
    assert_eq!((frames.len(), damaged), (1, 1));
    let alone = jpeg(32, 1);
    let mut clip = Mjpeg::new(&alone[..50], "test".into());
    assert!(
        matches!(clip.next(), Err(CaptureError::Unusable(why)) if why.to_string().contains("no whole JPEG"))
    );
}
