//! Who is told to end does, in good order.

use super::*;

#[test]
fn an_agent_that_is_told_to_stop_has_not_failed() {
    let folder = tempfile::tempdir().unwrap();
    // A signal falls into what the agent waits for, or between.
    for _ in 0..5 {
        let [board, hub] = free_ports().map(|port| format!("127.0.0.1:{port}"));
        let mut agent = Command::new(HUB);
        agent.args(["agent", "--listen", &board, "--to", &hub]).current_dir(&folder);
        let mut agent = agent.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 8];
        // Its first word comes when it can be stopped.
        std::io::Read::read_exact(agent.stderr.as_mut().unwrap(), &mut said).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(Command::new("kill").arg(agent.id().to_string()).status().unwrap().success());
        let out = agent.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn a_reader_of_a_building_that_pauses_does_not_hold_up_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let [port] = free_ports();
    let room = format!("[[room]]\nname = 'hall'\nlisten = '127.0.0.1:{port}'\nat_m = [0.0, 0.0, 0.0]\n");
    fs::write(at.join("building.toml"), room).unwrap();
    let mut merge = Command::new(HUB);
    merge.args(["merge", "building.toml", "--rate", "1000"]).current_dir(at).stdin(Stdio::null());
    // Nobody reads either: a pipe takes some thousand lines, and then none.
    let mut merge = merge.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(merge.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("is not read") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0);
    }
    assert!(Command::new("kill").arg(merge.id().to_string()).status().unwrap().success());
    assert!(merge.wait().unwrap().success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(rest.contains("its last lines are lost"), "{rest}");
}
