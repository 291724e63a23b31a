//! The colour of an identity.

/// How many colours there are; identities take them in turn.
pub const PALETTE: usize = 6;

/// Okabe and Ito's colours (Color Universal Design, 2008), told apart by all common kinds of colour vision. All are light enough
/// to stand out from black, which surrounds them on pictures; their blue is not, and is left out.
const COLOURS: [[u8; 3]; PALETTE] =
    [[240, 228, 66], [86, 180, 233], [230, 159, 0], [0, 158, 115], [204, 121, 167], [213, 94, 0]];

/// The colour of the person `track_id`: red, green and blue of sRGB. Everything that draws persons asks here, so that somebody
/// has one colour in the window, on the page, in the terminal, in a video and on a microcontroller's panel.
pub const fn colour_of(track_id: u32) -> [u8; 3] {
    COLOURS[track_id as usize % PALETTE]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(rgb: [u8; 3]) -> [f64; 3] {
        rgb.map(|c| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance([r, g, b]: [f64; 3]) -> f64 {
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// CIE L*a*b* of linear sRGB, D65.
    fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
        let x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505;
        let y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089;
        let [x, y, z] = [x, y, z].map(|t| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// What the eye lacks a kind of cone for (Machado, Oliveira and Fernandes 2009, severity 1), on linear sRGB.
    const EYES: [(&str, [[f64; 3]; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    fn seen_by(eye: &[[f64; 3]; 3], rgb: [u8; 3]) -> [f64; 3] {
        let c = linear(rgb);
        eye.map(|row| (0..3).map(|i| row[i] * c[i]).sum::<f64>().clamp(0.0, 1.0))
    }

    #[test]
    fn identities_take_the_colours_in_turn() {
        assert_eq!(colour_of(1), colour_of(7));
        assert_eq!(colour_of(u32::MAX), COLOURS[3]);
    }

    #[test]
    fn every_colour_stands_out_from_black_to_every_eye() {
        for (eye, matrix) in EYES {
            for id in 0..PALETTE as u32 {
                // WCAG's contrast; 3 is asked of graphics.
                let contrast = (luminance(seen_by(&matrix, colour_of(id))) + 0.05) / 0.05;
                assert!(contrast > 3.5, "{eye}, {id}: {contrast}");
            }
        }
    }

    #[test]
    fn no_two_colours_look_alike_to_any_eye() {
        for (eye, matrix) in EYES {
            for a in 0..PALETTE as u32 {
                for b in 0..a {
                    let [p, q] = [a, b].map(|id| lab(seen_by(&matrix, colour_of(id))));
                    let distance = (0..3).map(|i| (p[i] - q[i]).powi(2)).sum::<f64>().sqrt();
                    assert!(distance > 8.0, "{eye}, {a} and {b}: {distance}");
                }
            }
        }
    }
}
