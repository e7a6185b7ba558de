//! Testbeds of an ordinary user, in a user namespace.

mod scene;

use farfield_base::Duration;
use farfield_testbed::{
    Command, Containment, CpuLimit, Limits, Privilege, Ready, ServerError, ServerSpec, Testbed, TestbedSpec,
    gain_privilege,
};
use scene::{ping, receive, skip};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;

const SCENE: &str = "FARFIELD_PLACE_SCENE";
const NOBODY: u32 = 65_534;

/// A scene that an ordinary user plays, by its name.
type Scene = (&'static str, fn(&Path));

const SCENES: [Scene; 2] = [
    ("an_ordinary_user_has_a_testbed", |directory| {
        serve(directory, |containment| *containment == Containment::PidNamespace);
    }),
    ("without_pid_namespaces_a_server_is_a_process_group", |directory| {
        fs::write("/proc/sys/user/max_pid_namespaces", "0").unwrap();
        serve(directory, |containment| matches!(containment, Containment::ProcessGroup { .. }));
    }),
];

/// Without the test harness, because a user namespace is entered by a process of one thread.
fn main() {
    let playing = std::env::var(SCENE).ok();
    for (name, scene) in SCENES {
        match &playing {
            Some(playing) if playing == name => play(scene),
            Some(_) => {}
            None => have_played(name),
        }
    }
}

fn play(scene: fn(&Path)) {
    match gain_privilege() {
        Ok(privilege) => assert_eq!(privilege, Privilege::UserNamespace),
        Err(error) => return println!("skipped: {error}"),
    }
    scene(&std::env::temp_dir());
}

/// Starts this program again as an ordinary user. It passes, or says why the scene cannot be played here.
fn have_played(scene: &str) {
    if !rustix::process::geteuid().is_root() {
        return skip(scene, "only root can become another user");
    }
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let played = std::process::Command::new(std::env::current_exe().unwrap())
        .current_dir("/")
        .env(SCENE, scene)
        .env("TMPDIR", directory.path())
        .env_remove("XDG_RUNTIME_DIR")
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    let played = match played {
        Ok(played) => played,
        Err(error) => return skip(scene, &format!("another user cannot run the test: {error}")),
    };
    let said = String::from_utf8_lossy(&played.stdout);
    assert!(played.status.success(), "{scene}: {said}{}", String::from_utf8_lossy(&played.stderr));
    if let Some((_, reason)) = said.split_once("skipped: ") {
        return skip(scene, reason.lines().next().unwrap_or_default());
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "the log, and no record");
    println!("test {scene} ... ok");
}

/// A testbed whose server runs on a port that only root may take elsewhere, and answers clients.
fn serve(directory: &Path, containment: impl Fn(&Containment) -> bool) {
    let spec = TestbedSpec { queues: std::num::NonZeroU32::new(2).unwrap(), ..TestbedSpec::default() };
    let testbed = Testbed::build(&spec).unwrap_or_else(|error| panic!("{error}"));
    let mut queues = testbed.queues();
    for (client, at) in [(4, 0), (5, 1)] {
        let client = spec.clients_v4.address(client).into();
        ping(&mut queues[0], &spec, client, 1, b"there?");
        assert!(receive(&mut queues[at], client).is_some(), "{:?}", testbed.report());
    }
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: python3 is not there");
    }
    let nothing = ServerSpec::new(Command::Shell("exit 0".into()), directory.join("log"));
    let said =
        testbed.start_server(&ServerSpec { user: Some("root".into()), ..nothing.clone() }).unwrap_err();
    assert!(matches!(said, ServerError::User { .. }), "{said}");
    // A machine may hand an ordinary user control groups; this test's own user is given none.
    let cpu = Some(CpuLimit::try_from(0.5).unwrap());
    let said =
        testbed.start_server(&ServerSpec { limits: Limits { cpu, memory: None }, ..nothing }).unwrap_err();
    assert!(said.to_string().starts_with("[server] cpu cannot be enforced: "), "{said}");
    let line = "python3 -m http.server 80 & exec python3 -m http.server 81";
    let server = ServerSpec {
        ready: Ready::Tcp(80),
        ready_timeout: Duration::from_secs(60),
        ..ServerSpec::new(Command::Shell(line.into()), directory.join("log"))
    };
    let mut server = testbed.start_server(&server).unwrap_or_else(|error| panic!("{error}"));
    assert!(containment(server.containment()), "{:?}", server.containment());
    assert!(server.cpu() > Duration::from_ms(1));
    server.stop().unwrap();
    assert!(!server.runs());
    assert!(testbed.inside(|| std::net::TcpStream::connect((spec.server_v4, 80))).unwrap().is_err());
}
