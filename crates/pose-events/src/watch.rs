//! Watches who is there and what they do.

use pose::gesture::{Fall, Held, arms_crossed, hands_raised};
use pose::{Joint, Pose};
use serde_json::{Value, json};

use crate::count::Count;
use crate::{Event, What, Zones};

/// In a zone for so long, microseconds: who walks along its edge is not in it with every step.
const ENTER_AFTER_US: i64 = 200_000;
/// Out of it for so long.
const EXIT_AFTER_US: i64 = 500_000;
/// Missing for so long: whoever the tracker is silent of for some frames has not left.
const GONE_AFTER_US: i64 = 500_000;
/// A gesture held for so long is meant.
const GESTURE_AFTER_US: i64 = 300_000;
/// And over after so long.
const GESTURE_ENDS_US: i64 = 400_000;
/// Of so many who have left it is kept whether they fell.
const LEFT: usize = 32;
/// After so long without a moment nobody knows how many there are, until a number has held again.
pub const BLIND_AFTER_US: i64 = 5_000_000;

/// A person as they are watched at one moment.
pub trait Person {
    /// Who they are.
    fn track_id(&self) -> u32;

    /// Where a joint is in the plane that zones lie in; `None` where nobody knows well enough.
    fn place(&self, joint: Joint) -> Option<[f32; 2]>;

    /// Two upright pictures of them, of any size: from before, for gestures, and one in which a trunk that leans is seen to, for falls. `None`
    /// where nobody can say how they would look.
    fn pictures(&self) -> [Option<Pose>; 2];
}

/// The signs that a person gives, besides their zones.
const SIGNS: [(What, What); 4] = [
    (What::LeftHandRaised, What::LeftHandLowered),
    (What::RightHandRaised, What::RightHandLowered),
    (What::ArmsCrossed, What::ArmsUncrossed),
    (What::Fall, What::GotUp),
];
/// The place of falls among them.
const FALL: usize = SIGNS.len() - 1;

/// What is known of one person.
#[derive(Clone, Debug)]
struct Watched {
    track_id: u32,
    gone: Held,
    hands: [Held; 2],
    arms: Held,
    fall: Fall,
    /// What was told last of each of [`SIGNS`].
    told: [bool; SIGNS.len()],
    /// Of each zone, by either answer of [`crate::Zone::holds`], and what was told of it last.
    zones: Vec<([Held; 2], bool)>,
}

impl Watched {
    fn new(track_id: u32, zones: usize) -> Self {
        let gesture = Held::new(GESTURE_AFTER_US, GESTURE_ENDS_US);
        Self {
            track_id,
            gone: Held::new(GONE_AFTER_US, 0),
            hands: [gesture; 2],
            arms: gesture,
            fall: Fall::new(),
            told: [false; SIGNS.len()],
            zones: vec![([Held::new(ENTER_AFTER_US, EXIT_AFTER_US); 2], false); zones],
        }
    }

    /// What began or ended with this moment. Of whom nobody can say anything, or who is not there, nothing begins and nothing ends.
    fn update(
        &mut self,
        person: Option<&impl Person>,
        at_us: i64,
        zones: &Zones,
        mut tell: impl FnMut(What),
    ) {
        for (i, (zone, ([first, second], told))) in zones.zones.iter().zip(&mut self.zones).enumerate() {
            let holds = person.map_or([None; 2], |person| zone.holds(person));
            let is_in = first.update(holds[0], at_us) | second.update(holds[1], at_us);
            if is_in != std::mem::replace(told, is_in) {
                tell(if is_in { What::Enter(i) } else { What::Exit(i) });
            }
        }
        // As of a pose without joints.
        let pictures = person.map_or([None; 2], Person::pictures);
        let [before, beside] = pictures.map(Option::unwrap_or_default);
        let [left, right] = hands_raised(&before);
        let signs = [
            self.hands[0].update(left, at_us),
            self.hands[1].update(right, at_us),
            self.arms.update(arms_crossed(&before), at_us),
            self.fall.update(&beside, at_us),
        ];
        for ((is_on, told), (begins, ends)) in signs.into_iter().zip(&mut self.told).zip(SIGNS) {
            if is_on != std::mem::replace(told, is_on) {
                tell(if is_on { begins } else { ends });
            }
        }
    }
}

/// Who has left. A tracker finds many of those whom a table hid again, under the same number; where they lie then, their fall is not over.
#[derive(Clone, Debug)]
struct Left {
    track_id: u32,
    fall: Fall,
    is_told: bool,
}

/// Turns moments into events. Time is the moments' own, so a replay tells the same events every time.
#[derive(Clone, Debug)]
pub struct Watch {
    zones: Zones,
    people: Vec<Watched>,
    /// Newest last.
    left: Vec<Left>,
    count: Count,
    last_us: Option<i64>,
}

impl Watch {
    /// Knows nobody.
    pub fn new(zones: Zones) -> Self {
        Self {
            zones,
            people: Vec::with_capacity(pose::MAX_PERSONS),
            left: Vec::with_capacity(LEFT),
            // Fewer when those who are missing have left: the number and the zones say the same.
            count: Count::new(GONE_AFTER_US),
            last_us: None,
        }
    }

    /// Whether a number of persons has held: before that, nobody is not known to be there.
    pub fn is_counted(&self) -> bool {
        self.count.is_known()
    }

    /// The zones that are watched.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Who is there, as a broker keeps it: made of events, so that a flicker is no change. Nulls where nothing is known, which is so
    /// until a number of persons has held, and never more persons in a zone than there are.
    pub fn said(&self, is_known: bool) -> Value {
        let known = |value: Value| if is_known && self.is_counted() { value } else { Value::Null };
        let count = self.count.told();
        let zone = |(place, zone): (usize, &crate::Zone)| {
            // Who has got another number is in it twice until the first one has left.
            let inside = self.people.iter().filter(|known| known.zones[place].1).count().min(count);
            json!({"name": zone.name, "persons": known(inside.into())})
        };
        let zones: Vec<Value> = self.zones.zones.iter().enumerate().map(zone).collect();
        json!({"presence": known((count > 0).into()), "persons": known(count.into()), "zones": zones})
    }

    /// Takes the people of the next moment; `tell` gets what happened, in their order. Whoever is missing is told to have left
    /// in the moment in which they have been missing for half a second; until then they are where they were. Allocates where
    /// somebody is new.
    pub fn update<'a, P: Person + 'a>(
        &mut self,
        at_us: i64,
        people: impl Iterator<Item = &'a P> + Clone,
        mut tell: impl FnMut(Event),
    ) {
        let persons = people.clone().count();
        let mut happened = |track_id, what| tell(Event { what, track_id, at_us, persons });
        self.people.retain_mut(|known| {
            let track_id = known.track_id;
            let is_there = people.clone().any(|person| person.track_id() == track_id);
            let is_gone = known.gone.update(Some(!is_there), at_us);
            if is_gone {
                let inside = known.zones.iter().enumerate().filter(|(_, (_, is_in))| *is_in);
                inside.for_each(|(place, _)| happened(track_id, What::Exit(place)));
                happened(track_id, What::Leave);
                if self.left.len() == LEFT {
                    self.left.remove(0);
                }
                self.left.push(Left { track_id, fall: known.fall, is_told: known.told[FALL] });
            } else if !is_there {
                known.update(None::<&P>, at_us, &self.zones, |what| happened(track_id, what));
            }
            !is_gone
        });
        for person in people {
            let track_id = person.track_id();
            let known = self.people.iter().position(|known| known.track_id == track_id);
            let place = known.unwrap_or_else(|| {
                happened(track_id, What::Appear);
                let mut new = Watched::new(track_id, self.zones.zones.len());
                if let Some(place) = self.left.iter().position(|left| left.track_id == track_id) {
                    let left = self.left.remove(place);
                    (new.fall, new.told[FALL]) = (left.fall, left.is_told);
                }
                self.people.push(new);
                self.people.len() - 1
            });
            self.people[place].update(Some(person), at_us, &self.zones, |what| happened(track_id, what));
        }
        if self.last_us.replace(at_us).is_none_or(|last_us| at_us.saturating_sub(last_us) >= BLIND_AFTER_US) {
            self.count.forget();
        }
        if self.count.update(persons, at_us) {
            // With one more now and then, those of this moment may be others.
            let persons = self.count.told();
            tell(Event { what: What::Count, track_id: 0, at_us, persons });
        }
    }
}

#[cfg(test)]
mod tests;
