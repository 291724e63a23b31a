//! Who of the room is whom in a picture.

use pathfinding::kuhn_munkres::kuhn_munkres_min;
use pathfinding::matrix::Matrix;
use pose::Joint;

use super::body::{Body, Fit};
use crate::V2;
use crate::geometry::Eye;
use crate::line::Look;

/// A worse fit is another person.
const GATE: f64 = 7.0;
/// Whom the board calls as before has so much less to prove.
const SAME: f64 = 2.0;
/// Bodies whose middles lie farther apart than this share of the seen one's extent are not compared.
const NEAR: f64 = 0.7;

/// For each seen person the body's number, and how it fits; `None` for somebody unknown.
pub(super) fn associate(bodies: &[Body], eye: &Eye, number: usize, look: &Look) -> Vec<Option<(usize, Fit)>> {
    let middles: Vec<Option<V2>> =
        bodies.iter().map(|b| eye.seen(b.middle((look.at_us - b.at_us) as f64 / 1e6)?)).collect();
    // Candidates: (seen, body, cost).
    let mut costs: Vec<(usize, usize, f64)> = Vec::new();
    let mut fits: Vec<(usize, usize, Fit)> = Vec::new();
    for (s, seen) in look.persons.iter().enumerate() {
        let Some((middle, extent)) = frame(seen) else { continue };
        for (b, body) in bodies.iter().enumerate() {
            let same = body.seen_as[number] == seen.id && look.at_us - body.seen_us[number] < 500_000;
            if !same && middles[b].is_none_or(|m| (m - middle).norm() > NEAR * extent) {
                continue;
            }
            let Some(fit) = body.fit(eye, seen, look.at_us) else { continue };
            let cost = fit.misfit - if same { SAME } else { 0.0 };
            if cost < GATE {
                costs.push((s, b, cost));
                fits.push((s, b, fit));
            }
        }
    }
    let mut whom = vec![None; look.persons.len()];
    let fit_of = |s: usize, b: usize| fits.iter().find(|f| (f.0, f.1) == (s, b)).map(|f| (b, f.2));
    while let Some(&(s, b, _)) = costs.first() {
        // Everybody who competes with these, and their rivals.
        let (mut rows, mut columns) = (vec![s], vec![b]);
        loop {
            let before = rows.len() + columns.len();
            for &(s, b, _) in &costs {
                if rows.contains(&s) && !columns.contains(&b) {
                    columns.push(b);
                }
                if columns.contains(&b) && !rows.contains(&s) {
                    rows.push(s);
                }
            }
            if rows.len() + columns.len() == before {
                break;
            }
        }
        let (group, rest): (Vec<_>, Vec<_>) = costs.iter().partition(|c| rows.contains(&c.0));
        costs = rest;
        if let [(s, b, _)] = group[..] {
            whom[s] = fit_of(s, b);
            continue;
        }
        // A place of its own for each seen person who is nobody.
        let none = (GATE * 1000.0) as i64;
        let mut matrix = Matrix::new(rows.len(), columns.len() + rows.len(), none);
        for (s, b, cost) in group {
            let at = (rows.iter().position(|r| *r == s), columns.iter().position(|c| *c == b));
            if let (Some(row), Some(column)) = at {
                matrix[(row, column)] = (cost * 1000.0) as i64;
            }
        }
        let (_, assigned) = kuhn_munkres_min(&matrix);
        for (row, column) in assigned.into_iter().enumerate() {
            if column < columns.len() && matrix[(row, column)] < none {
                whom[rows[row]] = fit_of(rows[row], columns[column]);
            }
        }
    }
    whom
}

/// The middle of a seen person's trunk, and how large they are.
fn frame(seen: &crate::line::Seen) -> Option<(V2, f64)> {
    let (mut low, mut high) = (V2::repeat(f64::MAX), V2::repeat(f64::MIN));
    for ray in seen.joints.iter().flatten() {
        (low, high) = (low.inf(&ray.at), high.sup(&ray.at));
    }
    let trunk: Vec<V2> = Joint::TRUNK.iter().filter_map(|&j| Some(seen.joints[j as usize]?.at)).collect();
    let middle =
        if trunk.is_empty() { 0.5 * (low + high) } else { trunk.iter().sum::<V2>() / trunk.len() as f64 };
    let extent = (high - low).max();
    (extent > 0.0).then_some((middle, extent))
}
