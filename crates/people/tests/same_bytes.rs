//! The same seed gives the same bytes on every machine: the sums were found on x86-64, `tests/arm.sh` holds AArch64 to them.

use people::{
    damage::Stream,
    film::Film,
    shot::{Material, Photo, Studio, Wanted},
};

#[test]
fn every_machine_gives_the_same_bytes() {
    let wanted = Wanted { size: 96, ..Wanted::default() };
    let mut studio = Studio::new(None);
    let mut pictures = Vec::new();
    for k in 0..6 {
        pictures.extend(studio.shot(&wanted, 5, k).rgb);
    }
    let (mut film, mut frame) = (Film::new(2, 160, 120, 3), Vec::new());
    film.draw(7.3, &mut frame);
    // Cloth of photographs, and a film's compression.
    let photo = Photo { width: 40, height: 30, rgb: (0..3600).map(|k| (k * 7 % 251) as u8).collect() };
    let material = Material { behind: Some(&photo), cloth: std::slice::from_ref(&photo), cloth_share: 1.0 };
    let dressed = Studio::new(None).shot_with(&wanted, &material, 5, 1).rgb;
    let (mut stream, mut sent) = (Stream::drawn(2), Vec::new());
    for t in [7.3, 7.4, 7.5] {
        film.draw(t, &mut sent);
        stream.pass(&mut sent, 160, 120);
    }
    let sums = [&pictures, &frame, &dressed, &sent].map(|bytes| crc32fast::hash(bytes));
    assert_eq!(sums, [4_156_626_820, 250_311_988, 2_392_148_441, 2_283_473_078]);
}
