//! How much larger or smaller somebody is than they are taken to be, from where the floor is beneath their feet.
//!
//! Whoever is taken to be a tenth too large stands a tenth too far away, and their feet are a tenth too far below the camera. The camera has
//! one height above one floor: of several people those whose feet seem too low are taken to be too large, and if that height has been
//! measured so is everybody.

/// Logarithm of the factor by which somebody is larger than taken, and its variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// 0: as large as taken.
    pub log: f64,
    /// Of the logarithm.
    pub variance: f64,
}

/// How high above one person's feet the camera seems to be: logarithm of metres, and its variance, without what the person's size leaves open.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Their number.
    pub person: u32,
    /// Logarithm of metres.
    pub log_height: f64,
    /// Of the logarithm.
    pub variance: f64,
}

/// Everybody's scale where nobody has measured the camera's height; sizes vary by `size_variance` (of the logarithm) round what they are
/// taken to be. Of one person alone nothing is learned.
pub fn by_comparison(seen: &[Seen], size_variance: f64) -> impl Iterator<Item = (u32, Scale)> {
    let sums = seen.iter().fold((0.0, 0.0), |(sum, weights), one| {
        let weight = 1.0 / (size_variance + one.variance);
        (sum + weight * one.log_height, weights + weight)
    });
    let (camera, camera_variance) = (sums.0 / sums.1, 1.0 / sums.1);
    seen.iter().map(move |one| {
        let share = size_variance / (size_variance + one.variance);
        let variance = share * one.variance + share * share * camera_variance;
        (one.person, Scale { log: share * (camera - one.log_height), variance })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: f64 = 0.0036;

    fn scales(seen: &[(f64, f64)]) -> Vec<Scale> {
        let seen = seen.iter().zip(0..).map(|(&(height_m, sigma), person)| Seen {
            person,
            log_height: height_m.ln(),
            variance: sigma * sigma,
        });
        by_comparison(&seen.collect::<Vec<_>>(), SIZE).map(|(_, scale)| scale).collect()
    }

    #[test]
    fn one_person_alone_is_as_large_as_taken_and_no_surer() {
        let one = scales(&[(1.3, 0.02)])[0];
        assert!(one.log.abs() < 1e-12 && (one.variance - SIZE).abs() < 1e-12, "{one:?}");
    }

    #[test]
    fn of_many_whoever_has_feet_too_low_is_smaller_than_taken() {
        let mut seen = vec![(1.3, 0.01); 9];
        seen.push((1.43, 0.01));
        let all = scales(&seen);
        assert!((-0.095..-0.07).contains(&all[9].log), "a tenth: {:?}", all[9]);
        assert!(all[9].variance < 0.2 * SIZE && all[0].log.abs() < 0.015, "{all:?}");
    }

    #[test]
    fn feet_that_are_not_known_teach_nothing() {
        let all = scales(&[(1.3, 0.01), (1.3, 0.01), (1.6, 3.0)]);
        assert!(all[2].log.abs() < 1e-3 && (all[2].variance / SIZE - 1.0).abs() < 0.01, "{:?}", all[2]);
    }
}
