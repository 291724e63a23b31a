//! `posewire-ros2 [PORT]`: the datagrams of `posewire run --udp` as ROS 2 topics, without a ROS installation.
//!
//! | topic | type | |
//! |---|---|---|
//! | `/posewire/lines` | `std_msgs/String` | the JSON line of every frame: everything that is known |
//! | `/posewire/joints` | `geometry_msgs/PoseArray` | 17 places a person in COCO's order, metres; what is not known is NaN |
//!
//! An example: the whole node is `clients/ros2` in Python.

mod convert;
mod lines;
mod messages;

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::SystemTime;

use ros2_client::{Context, MessageTypeName, Name, NodeName, NodeOptions, Publisher, QosProfile};

use messages::PoseArray;

impl ros2_client::Message for PoseArray {}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Lines(#[from] lines::Error),
    #[error("ROS 2: {0}")]
    Ros(String),
}

fn main() -> ExitCode {
    match run(std::env::args().nth(1)) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("posewire-ros2: {error}");
            ExitCode::from(if matches!(error, Error::Lines(lines::Error::Usage(_))) { 2 } else { 1 })
        }
    }
}

fn run(port: Option<String>) -> Result<Infallible, Error> {
    let heard = lines::Lines::open(port)?;
    let ros = |what: &dyn std::fmt::Debug| Error::Ros(format!("{what:?}"));
    let context = Context::new().map_err(|e| ros(&e))?;
    let name = NodeName::new("/", "posewire").map_err(|e| ros(&e))?;
    let mut node = context.new_node(name, NodeOptions::new()).map_err(|e| ros(&e))?;
    // As sensors' data: what nobody took in time is gone, the next moment is newer.
    let qos = QosProfile::publisher_default().reliability_best_effort();
    let topic = |name: &str, package: &str, kind: &str| -> Result<_, Error> {
        let name = Name::new("/posewire", name).map_err(|e| ros(&e))?;
        node.create_topic(&name, MessageTypeName::new(package, kind), &qos).map_err(|e| ros(&e))
    };
    let lines = topic("lines", "std_msgs", "String")?;
    let joints = topic("joints", "geometry_msgs", "PoseArray")?;
    let lines: Publisher<String> = node.create_publisher(&lines, None).map_err(|e| ros(&e))?;
    let joints: Publisher<PoseArray> = node.create_publisher(&joints, None).map_err(|e| ros(&e))?;
    eprintln!("posewire-ros2: port {} to /posewire/lines and /posewire/joints", heard.port);
    // A message that nobody hears is no error, and one that cannot be sent is followed by a newer one.
    let never = heard.each(|frame, line| {
        let _ = joints.publish(convert::joints(frame, SystemTime::now()));
        let _ = lines.publish(line.to_owned());
    })?;
    Ok(never)
}
