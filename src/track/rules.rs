//! When somebody becomes, stays and ceases to be somebody.

#[cfg(doc)]
use pose::MAX_PERSONS;

/// When somebody becomes, stays and ceases to be somebody.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdentityRules {
    /// Persons followed at most, 1..=[`MAX_PERSONS`].
    pub max_persons: usize,
    /// Frames in a row in which a newcomer must be seen before they get an identity. Two: a false find seldom repeats,
    /// and one frame of delay is hardly noticed.
    pub confirm_frames: u32,
    /// A person unseen for longer is no longer reported, unless somebody else stands where they are expected. 400 ms: what hides
    /// somebody for a step or two.
    pub told_us: i64,
    /// Whom somebody else may hide is no longer reported when unseen for longer. 600 ms, as long as they are looked for: a predicted
    /// pose is nearer to whoever walks behind another than none.
    pub hidden_us: i64,
    /// A person unseen for longer, or for longer than they had been known, is no longer looked for where they are expected, nor
    /// reported. 600 ms: an occlusion by somebody who walks past. After as long without a frame expectations are not asked at
    /// all: where somebody was last seen, their size and their clothes say who they are.
    pub silence_us: i64,
    /// After as long without a frame whoever was in sight may be anywhere they can have walked to. 250 ms: forecasts reach 150, and a
    /// walker goes on by a tenth of their height in the rest.
    pub forecast_us: i64,
    /// A person unseen for longer gets their identity back by their clothes alone; before that where pose and place fit. 3 s: a
    /// walk behind a pillar.
    pub memory_us: i64,
    /// A person unseen for longer is forgotten: who comes back from another room is back within half a minute.
    pub clothes_memory_us: i64,
    /// Whoever comes back after longer out of sight must be as sure as a newcomer, whatever they were before: books in the clothes of
    /// somebody who left got their identity. 1 s: from behind somebody else a person comes bit by bit.
    pub score_memory_us: i64,
    /// Share of the similarity that other clothes take away. 0: clothes say nothing of who is where.
    pub clothes_share: f32,
    /// Clothes less alike than this, 0..=1, are another person's.
    pub unlike: f32,
    /// Clothes this much alike are the same person's, after a while too.
    pub alike: f32,
    /// A pose with a lower person's score shows nobody. 0.25: the eight best joints of an empty crop score below 0.15,
    /// of a person half cut off above 0.4.
    pub min_score: f32,
    /// Nobody begins with a lower score, in the mean of the frames until they are confirmed.
    pub newcomer_score: f32,
    /// Whoever is seen with this score is somebody at once, without a second frame. Above 1: nobody is.
    pub sure_score: f32,
    /// Whoever's score falls below it, in the mean of the last frames, was never somebody, or is no longer: a ghost ends.
    pub kept_score: f32,
    /// Whoever lies within somebody much larger begins with this score at least, in the mean of [`within_frames`](Self::within_frames)
    /// frames or one more, or is nobody, and ends below half of it: most are a leg of the other.
    pub within_score: f32,
    /// As [`confirm_frames`](Self::confirm_frames), of whoever lies within somebody much larger.
    pub within_frames: u32,
    /// Whoever's score, in the mean of the last frames, is lower is not told of while unseen: they may never have been there.
    pub unseen_score: f32,
    /// Whoever shows in a strip at the picture's edge alone, with a lower score in the mean of the last frames, for longer than
    /// [`silence_us`](Self::silence_us), has left, and the crop shows the edge.
    pub edge_score: f32,
}

impl Default for IdentityRules {
    /// For scores that are the mean of the best joints' scores: a ghost has them as high as a person, so time has to tell.
    fn default() -> Self {
        Self {
            max_persons: 4,
            confirm_frames: 2,
            told_us: 400_000,
            hidden_us: 600_000,
            silence_us: 600_000,
            forecast_us: 250_000,
            memory_us: 3_000_000,
            clothes_memory_us: 20_000_000,
            score_memory_us: 1_000_000,
            clothes_share: 0.4,
            unlike: 0.4,
            alike: 0.65,
            min_score: 0.25,
            newcomer_score: 0.25,
            sure_score: f32::INFINITY,
            kept_score: 0.0,
            within_score: 0.0,
            within_frames: 3,
            unseen_score: 0.0,
            edge_score: 0.0,
        }
    }
}

impl IdentityRules {
    /// For scores that are the network's own word on whether there is a person (`tells_presence`), or the default. Chosen on clips
    /// that networks were trained on and on rendered films; low, because the finder has said already that there is somebody.
    pub fn of(tells_presence: bool) -> Self {
        if !tells_presence {
            return Self::default();
        }
        Self {
            min_score: 0.03,
            newcomer_score: 0.25,
            sure_score: 0.5,
            kept_score: 0.08,
            within_score: 0.5,
            unseen_score: 0.25,
            edge_score: 0.5,
            ..Self::default()
        }
    }

    /// The same where somebody begins with `score` and ends below half of it.
    #[must_use]
    pub fn from_score(self, score: f32) -> Self {
        Self {
            min_score: self.min_score.min(0.5 * score),
            newcomer_score: score,
            sure_score: self.sure_score.max(score),
            kept_score: 0.5 * score,
            within_score: self.within_score.max(score),
            unseen_score: self.unseen_score.min(score),
            ..self
        }
    }
}
