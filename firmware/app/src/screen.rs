//! What the panel shows and when it has to be drawn again.

use embedded_graphics::prelude::*;
use pose::Pose;
use pose_draw::{Label, Metrics, Scene, Theme, draw_message, draw_scene};
use pose_wire::Person;

use crate::Receiver;

/// A panel: something to draw on that may have to be told when a picture is whole.
pub trait Panel: DrawTarget {
    /// Brings what was drawn before the eyes: sends a frame buffer, or nothing where drawing is immediate.
    ///
    /// # Errors
    /// The panel's own.
    fn show(&mut self) -> Result<(), Self::Error>;
}

/// What a panel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Nothing was ever heard.
    Waiting,
    /// Nothing was heard for so many seconds.
    LinkLost {
        /// Whole seconds.
        seconds: u64,
    },
    /// The host lives, its camera does not.
    CameraLost,
    /// The moment of this `seq`.
    Poses {
        /// [`pose_wire::Moment::seq`].
        seq: u32,
        /// Whether nobody is there, but the host's built-in clip.
        is_built_in: bool,
    },
}

impl View {
    fn of(receiver: &Receiver, now_us: u64) -> Self {
        match (receiver.silent_us(now_us), receiver.newest()) {
            (None, _) => View::Waiting,
            (Some(silent), _) if !receiver.is_linked(now_us) => {
                View::LinkLost { seconds: silent / 1_000_000 }
            }
            _ if receiver.is_camera_lost() => View::CameraLost,
            (_, Some(arrival)) => {
                View::Poses { seq: arrival.moment.seq, is_built_in: receiver.is_built_in() }
            }
            (_, None) => View::Waiting,
        }
    }
}

/// Draws on a panel, no more often than something changes.
pub struct Screen<C> {
    theme: Theme<C>,
    metrics: Metrics,
    shown: Option<View>,
}

impl<C: PixelColor> Screen<C> {
    /// A screen that has shown nothing yet.
    pub const fn new(theme: Theme<C>, metrics: Metrics) -> Self {
        Self { theme, metrics, shown: None }
    }

    /// Draws if there is something new to show; the moment it took is told to `receiver` for its RECEIPT, by the
    /// clock `now_us`, microseconds of this board.
    ///
    /// # Errors
    /// The panel's own.
    pub fn draw<P: Panel<Color = C>>(
        &mut self,
        receiver: &mut Receiver,
        panel: &mut P,
        now_us: impl Fn() -> u64,
    ) -> Result<bool, P::Error> {
        let began_us = now_us();
        let view = View::of(receiver, began_us);
        let is_new = matches!(view, View::Poses { .. }) && receiver.has_new();
        if self.shown == Some(view) && !is_new {
            return Ok(false);
        }
        let image_px = receiver.image_px();
        let age_ms = receiver.newest().map(|a| a.age_ms(began_us));
        let persons = receiver.newest().into_iter().flat_map(|a| a.moment.persons().map(Person::pose));
        draw_view(panel, view, persons, image_px, age_ms, &self.theme, &self.metrics)?;
        panel.show()?;
        self.shown = Some(view);
        if is_new {
            receiver.used(u32::try_from(now_us().saturating_sub(began_us)).unwrap_or(u32::MAX));
        }
        Ok(true)
    }
}

/// Draws `view`; persons, source image (width and height in pixels) and age matter only where it shows poses.
///
/// # Errors
/// The target's own.
pub fn draw_view<D: DrawTarget>(
    target: &mut D,
    view: View,
    persons: impl IntoIterator<Item = Pose>,
    (width_px, height_px): (u32, u32),
    age_ms: Option<i32>,
    theme: &Theme<D::Color>,
    metrics: &Metrics,
) -> Result<(), D::Error> {
    match view {
        View::Waiting => draw_message(target, &["Posewire", "waiting"], theme, metrics),
        View::CameraLost => draw_message(target, &["camera lost"], theme, metrics),
        View::LinkLost { seconds } => {
            let since = Label::from_args(format_args!("{seconds} s"));
            draw_message(target, &["link lost", since.as_str()], theme, metrics)
        }
        View::Poses { is_built_in, .. } => {
            let scene = Scene { persons, width_px, height_px, age_ms, is_built_in };
            draw_scene(target, scene, theme, metrics)
        }
    }
}

#[cfg(test)]
mod tests {
    use pose::{Pose, Stamped};
    use pose_wire::{Emission, MAX_PACKET, Packet, PosePacket, SourceState, Status, encode};

    use super::*;

    #[test]
    fn the_built_in_clip_is_told_from_people() {
        let mut receiver = Receiver::new();
        let at = Emission { seq: 7, sent_at_us: 0, persons: 1, scale: 0 };
        let pose = Packet::Pose(PosePacket::new(&Stamped::<Pose>::default(), 0, at));
        for (source, is_built_in) in [(SourceState::BUILT_IN, true), (SourceState::RUNNING, false)] {
            for packet in [Packet::Status(Status { source, ..Status::default() }), pose] {
                let mut bytes = [0; MAX_PACKET];
                let n = encode(&packet, &mut bytes).unwrap();
                bytes[..n].iter().for_each(|byte| receiver.push(*byte, 0));
            }
            assert_eq!(View::of(&receiver, 0), View::Poses { seq: 7, is_built_in });
        }
    }
}
