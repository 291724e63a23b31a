//! `posewire-ros2-zenoh [PORT [ROUTER]]`: the datagrams of `posewire run --udp` as ROS 2 topics for nodes on Zenoh (`rmw_zenoh`), without a ROS
//! installation.
//!
//! The topics are those of `../native`, which speaks DDS, and so is what turns a line into a message.

#[path = "../../native/src/convert.rs"]
mod convert;
#[path = "../../native/src/lines.rs"]
mod lines;
#[path = "../../native/src/messages.rs"]
mod messages;

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::SystemTime;

use hiroz::{Builder, context::ZContextBuilder, qos::QosProfile, qos::QosReliability};
use hiroz_msgs::{builtin_interfaces, geometry_msgs, std_msgs};

/// Where `rmw_zenohd`, ROS's router, listens.
const ROUTER: &str = "tcp/localhost:7447";

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Lines(#[from] lines::Error),
    #[error("ROS 2 over Zenoh: {0}")]
    Ros(String),
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match run(words.next(), words.next()) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("posewire-ros2-zenoh: {error}");
            ExitCode::from(if matches!(error, Error::Lines(lines::Error::Usage(_))) { 2 } else { 1 })
        }
    }
}

fn run(port: Option<String>, router: Option<String>) -> Result<Infallible, Error> {
    let heard = lines::Lines::open(port)?;
    let router = router.unwrap_or_else(|| ROUTER.to_owned());
    let ros = |what: &dyn std::fmt::Display| Error::Ros(what.to_string());
    let context = ZContextBuilder::default()
        .with_router_endpoint(&router)
        .and_then(|builder| builder.build())
        .map_err(|e| ros(&e))?;
    let node = context.create_node("posewire").build().map_err(|e| ros(&e))?;
    // As sensors' data: what nobody took in time is gone, the next moment is newer.
    let qos = QosProfile { reliability: QosReliability::BestEffort, ..QosProfile::default() };
    let joints = node
        .create_pub::<geometry_msgs::PoseArray>("/posewire/joints")
        .with_qos(qos)
        .build()
        .map_err(|e| ros(&e))?;
    let lines =
        node.create_pub::<std_msgs::String>("/posewire/lines").with_qos(qos).build().map_err(|e| ros(&e))?;
    let port = heard.port;
    eprintln!("posewire-ros2-zenoh: port {port} to /posewire/lines and /posewire/joints by {router}");
    // A message that nobody hears is no error, and one that cannot be sent is followed by a newer one.
    let never = heard.each(|frame, line| {
        let _ = joints.publish(&pose_array(convert::joints(frame, SystemTime::now())));
        let _ = lines.publish(&std_msgs::String { data: line.to_owned() });
    })?;
    Ok(never)
}

/// The same message as this library's type.
fn pose_array(told: messages::PoseArray) -> geometry_msgs::PoseArray {
    let messages::Time { sec, nanosec } = told.header.stamp;
    let pose = |p: messages::Pose| geometry_msgs::Pose {
        position: geometry_msgs::Point { x: p.position.x, y: p.position.y, z: p.position.z },
        orientation: geometry_msgs::Quaternion {
            x: p.orientation.x,
            y: p.orientation.y,
            z: p.orientation.z,
            w: p.orientation.w,
        },
    };
    geometry_msgs::PoseArray {
        header: std_msgs::Header {
            stamp: builtin_interfaces::Time { sec, nanosec },
            frame_id: told.header.frame_id,
        },
        poses: told.poses.into_iter().map(pose).collect(),
    }
}
