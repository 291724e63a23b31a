//! The thread that speaks with the broker.
//!
//! State and health are slots in which the newest wins: a broker that comes back is told how it is, not how it was. Events are told to a
//! broker that is there, and else gone: nobody wants a light switched on for what happened an hour ago.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use log::{info, warn};
use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, Event, EventLoop, LastWill, Outgoing, Packet, QoS,
};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::Broker;
use crate::again::{Again, Gone, Trouble};

/// A broker that hears nothing for half as long again sends the last will.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// From one state to the next at least: what a home does not follow faster.
const STATE_EVERY: Duration = Duration::from_millis(200);
/// Events that a slow broker has not taken yet; more are dropped.
const MAX_EVENTS: usize = 64;
/// Messages between the two halves of this thread.
const MAX_REQUESTS: usize = 16;
/// A configuration of Home Assistant has about 1 KB.
const MAX_PACKET_BYTES: usize = 64 * 1024;

/// What is told, and the thread that tells it.
pub struct Client {
    told: Told,
    events: mpsc::Sender<Vec<u8>>,
    connected: watch::Receiver<bool>,
    is_over: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The newest of each.
#[derive(Clone, Default)]
struct Told {
    state: watch::Sender<String>,
    health: watch::Sender<String>,
}

impl Client {
    /// Looks for the broker from now on, as long as it takes; `configs`: topics and what is kept there, or nothing for what is forgotten.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(broker: Broker, name: &str, configs: Vec<(String, String)>) -> std::io::Result<Self> {
        let told = Told::default();
        let (events, event) = mpsc::channel(MAX_EVENTS);
        let (connected, is_connected) = watch::channel(false);
        let (is_over, over) = watch::channel(false);
        let topics = Topics::of(name);
        let id = format!("posewire-{name}");
        let mut options = rumqttc::MqttOptions::new(&id, broker.host.clone(), broker.port);
        options
            .set_keep_alive(KEEP_ALIVE)
            .set_clean_session(true)
            .set_max_packet_size(MAX_PACKET_BYTES, MAX_PACKET_BYTES)
            .set_last_will(LastWill::new(&topics.availability, "offline", QoS::AtLeastOnce, true));
        if let Some((user, password)) = &broker.login {
            options.set_credentials(user, password);
        }
        let session = Session { broker, id, topics, configs, told: told.clone(), event, connected, over };
        let run = move || {
            match tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() {
                Ok(runtime) => {
                    runtime.block_on(session.run(options));
                    // A name may still be looked up: nobody waits for that.
                    runtime.shutdown_background();
                }
                Err(error) => log::error!("mqtt: cannot be spoken: {error}"),
            }
        };
        let thread = std::thread::Builder::new().name("mqtt".into()).spawn(run)?;
        Ok(Self { told, events, connected: is_connected, is_over, thread: Some(thread) })
    }

    /// Whether a broker hears.
    pub fn is_connected(&self) -> bool {
        *self.connected.borrow()
    }

    /// Who is there; kept by the broker.
    pub fn tell_state(&self, said: String) {
        self.told.state.send_replace(said);
    }

    /// How whoever speaks is; kept by the broker.
    pub fn tell_health(&self, said: String) {
        self.told.health.send_replace(said);
    }

    /// What happened.
    pub fn tell_event(&self, line: Vec<u8>) {
        if self.is_connected() {
            // A slow broker loses events, nobody else anything.
            let _ = self.events.try_send(line);
        }
    }

    /// Says goodbye where somebody hears it, and ends the thread; takes `within` at most.
    pub fn end(&mut self, within: Duration) {
        self.is_over.send_replace(true);
        let Some(thread) = self.thread.take() else { return };
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < within {
            std::thread::sleep(Duration::from_millis(5));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.is_over.send_replace(true);
    }
}

struct Topics {
    availability: String,
    state: String,
    health: String,
    event: String,
}

impl Topics {
    fn of(name: &str) -> Self {
        let topic = |what: &str| format!("posewire/{name}/{what}");
        Self {
            availability: topic("availability"),
            state: topic("state"),
            health: topic("health"),
            event: topic("event"),
        }
    }
}

/// All that the thread has.
struct Session {
    broker: Broker,
    /// Who this is to the broker, which has room for one of each.
    id: String,
    topics: Topics,
    configs: Vec<(String, String)>,
    told: Told,
    event: mpsc::Receiver<Vec<u8>>,
    connected: watch::Sender<bool>,
    over: watch::Receiver<bool>,
}

impl Session {
    async fn run(self, options: rumqttc::MqttOptions) {
        let (client, network) = AsyncClient::new(options, MAX_REQUESTS);
        let Self { broker, id, topics, configs, told, event, connected, mut over } = self;
        let is_connected = connected.subscribe();
        let talk =
            Talk { client: &client, topics: &topics, configs: &configs, connected: is_connected.clone() };
        tokio::select! {
            () = keep_connected(network, &broker, &id, &connected) => {}
            () = talk.speak(&told, event) => {}
            () = async {
                let _ = over.wait_for(|over| *over).await;
                // Kept going by the first branch; who is not there is not waited for.
                if *is_connected.borrow() {
                    let _ = talk.publish(&topics.availability, "offline", true).await;
                    let _ = client.disconnect().await;
                    sleep(Duration::from_secs(1)).await;
                }
            } => {}
        }
    }
}

/// Drives the connection and makes it anew, until goodbye is said.
async fn keep_connected(mut network: EventLoop, broker: &Broker, id: &str, connected: &watch::Sender<bool>) {
    let mut again = Again::new();
    loop {
        match network.poll().await {
            Ok(Event::Incoming(Packet::ConnAck(_))) => {
                if again.connected(Instant::now()) {
                    info!("mqtt: connected to {broker}");
                }
                connected.send_replace(true);
            }
            Ok(Event::Outgoing(Outgoing::Disconnect)) => return,
            Ok(_) => {
                if again.lasts(Instant::now()) {
                    info!("mqtt: connected to {broker}, which lets go of {id} no more");
                }
            }
            Err(error) => {
                connected.send_replace(false);
                let (wait, trouble) = again.failed(Instant::now(), Trouble::of(&error));
                match trouble {
                    Some(Trouble::Gone(Gone::NoMqtt)) => warn!(
                        "mqtt: {broker}: {error}: what answers there does not speak MQTT; is this the broker's port? It is looked for until it is there"
                    ),
                    Some(Trouble::Gone(_)) => {
                        warn!(
                            "mqtt: {broker}: {}; it is looked for until it is there",
                            plain(&error, broker)
                        );
                    }
                    Some(Trouble::Refused(_)) => {
                        warn!(
                            "mqtt: {broker}: {}; it is asked again until it does not",
                            plain(&error, broker)
                        );
                    }
                    Some(Trouble::ThrownOut) => warn!(
                        "mqtt: {broker} lets go again and again soon after it is reached: most likely another program is connected as {id}; give one of the two another name with --mqtt-name"
                    ),
                    None => {}
                }
                sleep(wait).await;
            }
        }
    }
}

/// What is wrong in words that say what to do.
fn plain(error: &ConnectionError, broker: &Broker) -> String {
    let ConnectionError::ConnectionRefused(code) = error else { return error.to_string() };
    let is_login = matches!(code, ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized);
    let advice = match code {
        _ if is_login && broker.login.is_none() => "; give mqtt://USER:PASSWORD@HOST",
        _ if is_login => "; user or password are wrong, or the user may not connect",
        ConnectReturnCode::BadClientId => "; give another name with --mqtt-name",
        _ => "",
    };
    format!("the broker refuses: {code:?}{advice}")
}

/// What is said, while somebody listens.
struct Talk<'a> {
    client: &'a AsyncClient,
    topics: &'a Topics,
    configs: &'a [(String, String)],
    connected: watch::Receiver<bool>,
}

impl Talk<'_> {
    async fn publish(
        &self,
        topic: &str,
        said: impl Into<Vec<u8>>,
        is_kept: bool,
    ) -> Result<(), rumqttc::ClientError> {
        self.client.publish(topic, QoS::AtLeastOnce, is_kept, said).await
    }

    /// Speaks with every broker that comes, one after the other.
    async fn speak(&self, told: &Told, mut event: mpsc::Receiver<Vec<u8>>) {
        let mut connected = self.connected.clone();
        while connected.wait_for(|connected| *connected).await.is_ok() {
            let mut gone = connected.clone();
            // A queue to a broker that goes must not hold this up: what it did not take is forgotten with it.
            // Nor must an event that comes as it goes, which would be told minutes later as of now.
            tokio::select! {
                biased;
                _ = async { gone.wait_for(|connected| !*connected).await.is_ok() } => {}
                ended = self.tell_all(told, &mut event) => if ended.is_err() { return },
            }
            while event.try_recv().is_ok() {}
        }
    }

    /// Everything that the broker is to keep, then what changes, as long as it is there.
    async fn tell_all(
        &self,
        told: &Told,
        event: &mut mpsc::Receiver<Vec<u8>>,
    ) -> Result<(), rumqttc::ClientError> {
        let (mut state, mut health) = (told.state.subscribe(), told.health.subscribe());
        for (topic, config) in self.configs {
            self.publish(topic, config.as_bytes(), true).await?;
        }
        for (topic, slot) in [(&self.topics.state, &mut state), (&self.topics.health, &mut health)] {
            let said = slot.borrow_and_update().clone();
            if !said.is_empty() {
                self.publish(topic, said, true).await?;
            }
        }
        // Last, so that what is available is known.
        self.publish(&self.topics.availability, "online", true).await?;
        let mut state_at = tokio::time::Instant::now();
        loop {
            tokio::select! {
                biased;
                Some(line) = event.recv() => self.publish(&self.topics.event, line, false).await?,
                Ok(()) = async {
                    tokio::time::sleep_until(state_at).await;
                    state.changed().await
                } => {
                    let said = state.borrow_and_update().clone();
                    self.publish(&self.topics.state, said, true).await?;
                    state_at = tokio::time::Instant::now() + STATE_EVERY;
                }
                Ok(()) = health.changed() => {
                    let said = health.borrow_and_update().clone();
                    self.publish(&self.topics.health, said, true).await?;
                }
                else => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// What the first attempt says of a port where this is answered.
    fn seen_of(answer: &'static [u8]) -> Trouble {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let there = std::thread::spawn(move || {
            let (mut asked, _) = listener.accept().unwrap();
            if !answer.is_empty() {
                let _ = asked.read(&mut [0; 256]);
                asked.write_all(answer).unwrap();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = rumqttc::MqttOptions::new("me", "127.0.0.1", port);
        let error = runtime.block_on(AsyncClient::new(options, 1).1.poll()).unwrap_err();
        there.join().unwrap();
        Trouble::of(&error)
    }

    #[test]
    fn what_stands_at_a_brokers_port_is_told_apart() {
        assert_eq!(seen_of(b""), Trouble::Gone(Gone::HungUp));
        assert_eq!(seen_of(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Trouble::Gone(Gone::NoMqtt));
        assert_eq!(seen_of(b"SSH-2.0-OpenSSH_9.9\r\n"), Trouble::Gone(Gone::NoMqtt));
        assert_eq!(seen_of(&[0x20, 2, 0, 5]), Trouble::Refused(ConnectReturnCode::NotAuthorized));
    }

    #[test]
    fn a_broker_that_refuses_is_told_with_what_helps() {
        use ConnectReturnCode::{BadClientId, BadUserNamePassword, NotAuthorized, ServiceUnavailable};
        for (broker, code, wanted) in [
            ("mqtt://me:secret@b", BadUserNamePassword, "are wrong, or the user may not connect"),
            ("mqtt://me:secret@b", NotAuthorized, "are wrong, or the user may not connect"),
            ("mqtt://b", NotAuthorized, "give mqtt://USER:PASSWORD@HOST"),
            ("mqtt://b", BadClientId, "--mqtt-name"),
            ("mqtt://b", ServiceUnavailable, "the broker refuses: ServiceUnavailable"),
        ] {
            let told = plain(&ConnectionError::ConnectionRefused(code), &broker.parse().unwrap());
            assert!(told.ends_with(wanted) && !told.contains("secret"), "{code:?}: {told}");
        }
    }
}
