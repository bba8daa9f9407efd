//! Ending on request: what was begun is finished, what was not is said, and nothing is left.

use crate::support::{Place, Said, good};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn cli_ctrl_c_ends_at_once_and_says_what_is_missing() {
    for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129), ("-QUIT", 131)] {
        let place = Place::new();
        // So many that the end cannot come first.
        for number in 0..2_000 {
            place.file(
                &format!("scenarios/{number:04}.scenario.toml"),
                good(&format!("n/{number:04}")),
            );
        }
        let mut child = place
            .command(&["run"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        out.read_line(&mut text).unwrap();
        out.read_line(&mut text).unwrap();
        signal(&child, name);
        out.read_to_string(&mut text).unwrap();
        let said = Said::of(child.wait_with_output().unwrap()).exits(code);
        assert_eq!(said.err, "");
        let runs = text.lines().filter(|line| line.starts_with("ok  ")).count();
        assert!(runs < 2_000);
        assert!(
            text.contains(&format!(
                "ended on request: {} runs did not take place",
                2_000 - runs
            )),
            "{text}"
        );
        // Whole postmortems and records of what was run, and nothing half-written. The run that was under way leaves its
        // record, which says so.
        let files = place.contents("moonquake-runs");
        let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("the run was interrupted");
        let interrupted = files.iter().filter(|(_, bytes)| told(bytes.as_ref())).count();
        assert!(interrupted <= 1);
        let record = files.iter().find(|(path, _)| path.ends_with("record.md"));
        let record = String::from_utf8_lossy(&record.expect("the record of all runs").1).into_owned();
        let missing = format!("{} further", 2_000 - runs - interrupted);
        assert!(
            record.contains(&missing) && record.contains("ended on request"),
            "{record}"
        );
        assert_eq!(files.len(), 4 * runs + 2 + interrupted);
        assert!(files.iter().all(|(path, _)| {
            path.extension()
                .is_some_and(|end| end == "md" || end == "json" || end == "html")
        }));
    }
}

#[test]
fn cli_a_server_says_where_it_is_and_ends_cleanly() {
    for name in ["-INT", "-TERM"] {
        let place = Place::new();
        let mut child = place
            .command(&["serve", "--failpoints", "client.put.end_sent=pause"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        let connection = std::net::TcpStream::connect(&address).unwrap();
        signal(&child, name);
        Said::of(child.wait_with_output().unwrap()).exits(0);
        drop(connection);
        assert!(std::net::TcpStream::connect(&address).is_err());
    }
}

#[test]
fn cli_a_server_serves_metadata_when_asked() {
    let place = Place::new();
    let mut child = place
        .command(&["serve", "--http-metadata-server=127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("listening on "));
    let line = lines.next().unwrap().unwrap();
    let url = line.strip_prefix("metadata at http://").unwrap();
    let (address, path) = url.split_at(url.find('/').unwrap());
    assert_eq!(path, "/metadata");
    let mut connection = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET {path}?key=a HTTP/1.1\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    signal(&child, "-INT");
    Said::of(child.wait_with_output().unwrap()).exits(0);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn cli_a_server_refuses_failpoints_that_say_nothing() {
    let place = Place::new();
    let mut command = place.command(&["serve"]);
    command.env("FAILPOINTS", "client.put.end_sen=pause");
    Said::of(command.output().unwrap())
        .exits(64)
        .complains("no phase is called")
        .complains("client.put.end_sent");
    place
        .moonquake(&["serve", "--failpoints", "client.put.end_sent=explode"])
        .exits(64)
        .complains("explode");
}
