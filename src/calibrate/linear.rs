//! A small linear solver.

/// Solves the n × n system `a` x = `b` (`a` row by row, both overwritten) by elimination with pivots; `None` where it has
/// no single solution.
pub fn solve(a: &mut [f64], b: &mut [f64]) -> Option<()> {
    let n = b.len();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&i, &j| a[i * n + column].abs().total_cmp(&a[j * n + column].abs()))?;
        if a[pivot * n + column].abs() < 1e-12 {
            return None;
        }
        for k in 0..n {
            a.swap(pivot * n + k, column * n + k);
        }
        b.swap(pivot, column);
        for row in column + 1..n {
            let factor = a[row * n + column] / a[column * n + column];
            for k in column..n {
                a[row * n + k] -= factor * a[column * n + k];
            }
            b[row] -= factor * b[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| a[row * n + k] * b[k]).sum();
        b[row] = (b[row] - known) / a[row * n + row];
    }
    b.iter().all(|x| x.is_finite()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved_and_a_singular_one_refused() {
        // The first pivot is zero: rows must change places.
        let mut b = [1.0, 7.0, 4.0];
        solve(&mut [0.0, 1.0, -1.0, 2.0, 1.0, 1.0, 1.0, 0.0, 2.0], &mut b).unwrap();
        assert!(b.iter().zip([2.0, 2.0, 1.0]).all(|(x, wanted)| (x - wanted).abs() < 1e-9), "{b:?}");
        assert!(solve(&mut [1.0, 2.0, 2.0, 4.0], &mut [1.0, 2.0]).is_none());
    }
}
