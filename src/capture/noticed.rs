//! A source of which somebody is told, with its first frame and whenever another camera, another size or pictures turned otherwise
//! take its place.

use std::time::Duration;

use super::{CaptureError, FrameSource, SourceInfo, Stored};
use crate::picture::Frame;

/// What pictures come from now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// As of [`SourceInfo::name`].
    pub name: String,
    /// As of [`FrameSource::usb_id`].
    pub usb_id: Option<String>,
    /// Pixels.
    pub size_px: [u32; 2],
    /// As of [`SourceInfo::fps`].
    pub fps: f32,
    /// As of [`FrameSource::stored`].
    pub stored: Option<Stored>,
}

/// Told what is seen now; an error ends the source.
pub type Notice = Box<dyn FnMut(&Seen) -> Result<(), String> + Send>;

/// Any source, watched.
pub struct Noticed<S> {
    source: S,
    notice: Notice,
    seen: Option<Seen>,
    /// Of the source when its name was last asked for.
    generation: u64,
}

impl<S: FrameSource> Noticed<S> {
    /// Tells `notice` of `source`, before the frame that shows it is given.
    pub fn new(source: S, notice: Notice) -> Self {
        Self { source, notice, seen: None, generation: 0 }
    }
}

impl<S: FrameSource> FrameSource for Noticed<S> {
    fn inner(&self) -> Option<&dyn FrameSource> {
        Some(&self.source)
    }

    fn info(&self) -> SourceInfo {
        self.source.info()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let Some(frame) = self.source.next_frame(timeout)? else { return Ok(None) };
        let size_px = [frame.width, frame.height];
        let generation = self.source.generation();
        let may_be_another = std::mem::replace(&mut self.generation, generation) != generation;
        // What has no USB id is known by its name, which takes memory: not at every frame. What has one keeps it under any name.
        let is_named =
            |seen: &Seen| !may_be_another || seen.usb_id.is_some() || seen.name == self.source.info().name;
        let stored = self.source.stored();
        let is_known = |seen: &Seen| {
            seen.size_px == size_px
                && seen.stored == stored
                && seen.usb_id.as_deref() == self.source.usb_id()
                && is_named(seen)
        };
        if !self.seen.as_ref().is_some_and(is_known) {
            let usb_id = self.source.usb_id().map(str::to_owned);
            let SourceInfo { name, fps, .. } = self.source.info();
            let seen = Seen { name, usb_id, size_px, fps, stored };
            (self.notice)(&seen).map_err(|why| CaptureError::Unusable(why.into()))?;
            self.seen = Some(seen);
        }
        Ok(Some(frame))
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.source.reopen()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::picture::PixelFormat;

    /// Each frame of the camera and the width that is listed.
    struct Cameras(Vec<(Option<&'static str>, u32)>, usize);

    impl FrameSource for Cameras {
        fn info(&self) -> SourceInfo {
            // A stream says its rate with its first frame.
            let fps = if self.1 == 0 { 30.0 } else { 12.5 };
            SourceInfo { name: "cameras".into(), width: 1, height: 1, fps, live: true }
        }
        fn next_frame(&mut self, _: Duration) -> Result<Option<Frame>, CaptureError> {
            self.1 += 1;
            let (_, width) = *self.0.get(self.1 - 1).ok_or(CaptureError::Ended)?;
            let bytes = Arc::new(vec![0; width as usize]);
            let (format, seq) = (PixelFormat::Grey, self.1 as u64);
            Ok(Some(Frame { bytes, format, width, height: 1, stride: width, seq, captured_at_us: 0 }))
        }
        fn usb_id(&self) -> Option<&str> {
            self.0[self.1 - 1].0
        }
    }

    #[test]
    fn every_change_is_told_once_and_an_error_ends_the_source() {
        let frames =
            vec![(None, 4), (None, 4), (Some("a"), 4), (Some("a"), 4), (Some("a"), 8), (Some("b"), 8)];
        let told = Arc::new(Mutex::new(Vec::new()));
        let to = told.clone();
        let notice = move |seen: &Seen| {
            assert!(seen.fps == 12.5, "the frame's own rate: {}", seen.fps);
            to.lock().unwrap().push((seen.usb_id.clone(), seen.size_px[0]));
            if seen.usb_id.as_deref() == Some("b") { Err("not this one".into()) } else { Ok(()) }
        };
        let mut source = Noticed::new(Cameras(frames, 0), Box::new(notice));
        for _ in 0..5 {
            assert!(source.next_frame(Duration::ZERO).unwrap().is_some());
        }
        let error = source.next_frame(Duration::ZERO).unwrap_err();
        assert!(matches!(error, CaptureError::Unusable(why) if why.to_string() == "not this one"));
        let a = || Some("a".to_owned());
        assert_eq!(*told.lock().unwrap(), [(None, 4), (a(), 4), (a(), 8), (Some("b".to_owned()), 8)]);
    }

    /// Cameras without USB ids and of one size: the name of each frame's, and how many there were before.
    struct Named(Vec<(&'static str, u64)>, usize);

    impl FrameSource for Named {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: self.0[self.1 - 1].0.into(), width: 1, height: 1, fps: 30.0, live: true }
        }
        fn next_frame(&mut self, _: Duration) -> Result<Option<Frame>, CaptureError> {
            self.1 += 1;
            let (bytes, format, seq) = (Arc::new(vec![0]), PixelFormat::Grey, self.1 as u64);
            Ok(Some(Frame { bytes, format, width: 1, height: 1, stride: 1, seq, captured_at_us: 0 }))
        }
        fn generation(&self) -> u64 {
            self.0[self.1 - 1].1
        }
    }

    #[test]
    fn without_usb_ids_another_name_is_told_and_the_same_one_back_is_not() {
        let frames = vec![("clip", 0), ("clip", 0), ("a", 1), ("a", 1), ("a", 2), ("b", 3), ("b", 3)];
        let told = Arc::new(Mutex::new(Vec::new()));
        let to = told.clone();
        let notice = move |seen: &Seen| {
            to.lock().unwrap().push(seen.name.clone());
            Ok(())
        };
        let mut source = Noticed::new(Named(frames, 0), Box::new(notice));
        for _ in 0..7 {
            source.next_frame(Duration::ZERO).unwrap();
        }
        assert_eq!(*told.lock().unwrap(), ["clip", "a", "b"]);
    }
}
