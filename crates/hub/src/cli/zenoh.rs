//! Zenoh beneath lines and clocks: an agent publishes a camera's lines and its words on clocks under the camera's key, hubs answer
//! under `KEY/clock`. Boards and hubs of one network find each other; a router, or whoever else has an address, joins networks.
//!
//! Boards are Zenoh's peers, and hubs its routers: what is between them passes nothing from one peer to another (since Zenoh 1.9), but to a
//! router. Hubs do not join each other, or a board that finds two of them would be heard twice.

use anyhow::Result;

/// How Zenoh reaches others; it is used where a camera has a key, zenoh:KEY
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Zenoh: a router, or another peer, to connect to, as tcp/192.168.1.10:7447; more than once for several. The local network's are found by multicast
    #[arg(long, value_name = "ENDPOINT")]
    zenoh: Vec<String>,
    /// Zenoh: where others may connect to, as tcp/0.0.0.0:7447
    #[arg(long, value_name = "ENDPOINT")]
    zenoh_listen: Vec<String>,
}

/// Which end of a key a session is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "zenoh"), allow(dead_code, reason = "only a session of Zenoh has an end"))]
pub enum End {
    /// Who says what a camera sees.
    Board,
    /// Who hears it.
    Hub,
}

#[cfg(feature = "zenoh")]
pub use built_in::{Session, Way};
#[cfg(not(feature = "zenoh"))]
pub use left_out::{Session, Way};

impl Args {
    /// Opens a session.
    pub fn open(&self, end: End) -> Result<Session> {
        Session::open(self, end)
    }
}

#[cfg(feature = "zenoh")]
mod built_in {
    use std::sync::mpsc::{Receiver, sync_channel};

    use anyhow::{Context, Result, anyhow};
    use timing::clock::now_us;
    use zenoh::Wait;
    use zenoh::pubsub::{Publisher, Subscriber};
    use zenoh::qos::{CongestionControl, Priority};
    use zenoh::sample::Sample;

    use super::{Args, End};

    /// Zenoh's words for how a hub is reached, unless told otherwise; a port that is free, as peers take.
    const OF_HUBS: [(&str, &str); 3] = [
        ("mode", "\"router\""),
        ("listen/endpoints", "[\"tcp/[::]:0\"]"),
        ("scouting/multicast/autoconnect", "[\"peer\"]"),
    ];

    /// Answers that wait for the agent at most.
    const WAITING: usize = 16;

    /// As long as it lasts, what was asked for is heard.
    pub struct Session(zenoh::Session);

    /// What an agent publishes under one key, and what hubs answer.
    pub struct Way {
        lines: Publisher<'static>,
        /// And when each came.
        answers: Receiver<(String, i64)>,
        _subscriber: Subscriber<()>,
    }

    /// Zenoh's errors are boxed without being `'static` everywhere: their words are what counts.
    fn said<T, E: std::fmt::Display>(done: Result<T, E>, what: &str) -> Result<T> {
        done.map_err(|e| anyhow!("{what}: {e}"))
    }

    fn text_of(sample: &Sample) -> Option<String> {
        sample.payload().try_to_string().ok().map(|text| text.into_owned())
    }

    /// A line that waits is worth less than the next one: none waits for another, and none is sent again where a queue is full.
    fn publisher(session: &zenoh::Session, key: String) -> Result<Publisher<'static>> {
        let publisher = session.declare_publisher(key).express(true).priority(Priority::RealTime);
        said(publisher.congestion_control(CongestionControl::Drop).wait(), "Zenoh refuses the key")
    }

    impl Session {
        pub fn open(args: &Args, end: End) -> Result<Self> {
            let mut config = zenoh::Config::default();
            for (key, value) in OF_HUBS.iter().filter(|_| end == End::Hub) {
                said(config.insert_json5(key, value), key)?;
            }
            for (key, endpoints) in
                [("connect/endpoints", &args.zenoh), ("listen/endpoints", &args.zenoh_listen)]
            {
                if !endpoints.is_empty() {
                    let value = serde_json::to_string(endpoints).context("endpoints")?;
                    said(
                        config.insert_json5(key, &value),
                        "an endpoint of Zenoh's is PROTOCOL/ADDRESS:PORT, as tcp/192.168.1.10:7447",
                    )?;
                }
            }
            said(
                zenoh::open(config).wait(),
                "no session of Zenoh's: is the port of --zenoh-listen free, and does --zenoh name a machine that is there?",
            )
            .map(Session)
        }

        /// `receive` gets each text under `key`; what it returns is published under `KEY/clock`.
        pub fn subscribe(
            &self,
            key: &str,
            mut receive: impl FnMut(&str) -> Option<String> + Send + Sync + 'static,
        ) -> Result<()> {
            let answers = publisher(&self.0, format!("{key}/clock"))?;
            let on_sample = move |sample: Sample| {
                if let Some(answer) = text_of(&sample).and_then(|text| receive(&text)) {
                    // An agent that is gone asks no more.
                    let _ = answers.put(answer).wait();
                }
            };
            let subscriber = self.0.declare_subscriber(key.to_owned()).callback_mut(on_sample).background();
            said(subscriber.wait(), "Zenoh refuses the key")
        }

        /// To publish under `key`.
        pub fn way(&self, key: &str) -> Result<Way> {
            let lines = publisher(&self.0, key.to_owned())?;
            let (tell, answers) = sync_channel(WAITING);
            let heard = move |sample: Sample| {
                let got_us = now_us();
                if let Some(text) = text_of(&sample) {
                    let _ = tell.try_send((text, got_us));
                }
            };
            let subscriber = self.0.declare_subscriber(format!("{key}/clock")).callback(heard);
            Ok(Way { lines, answers, _subscriber: said(subscriber.wait(), "Zenoh refuses the key")? })
        }
    }

    impl Way {
        pub fn send(&self, bytes: &[u8]) {
            // Whoever is away hears the next one.
            let _ = self.lines.put(bytes).wait();
        }

        /// The next answer and when it came, without waiting.
        pub fn answer(&self) -> Option<(String, i64)> {
            self.answers.try_recv().ok()
        }
    }
}

#[cfg(not(feature = "zenoh"))]
mod left_out {
    use anyhow::{Result, bail};

    use super::{Args, End};

    /// There is none.
    pub enum Session {}
    /// There is none.
    pub enum Way {}

    impl Session {
        pub fn open(_: &Args, _: End) -> Result<Self> {
            bail!(
                "this posewire-hub was built without Zenoh, which is two hundred crates more: `cargo build --release -p posewire-hub --features zenoh`"
            )
        }

        pub fn subscribe(
            &self,
            _: &str,
            _: impl FnMut(&str) -> Option<String> + Send + 'static,
        ) -> Result<()> {
            match *self {}
        }

        pub fn way(&self, _: &str) -> Result<Way> {
            match *self {}
        }
    }

    impl Way {
        pub fn send(&self, _: &[u8]) {
            match *self {}
        }

        pub fn answer(&self) -> Option<(String, i64)> {
            match *self {}
        }
    }
}
