//! Wrong files and wrong command lines.

use crate::support::{Place, good, workspace};

#[test]
fn cli_every_wrong_file_is_shown_and_nothing_is_run() {
    let place = Place::new();
    place.file("good.scenario.toml", good("good"));
    let mut files: Vec<_> = std::fs::read_dir(workspace("fixtures/wrong"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".scenario.toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 40);
    let mut arguments = vec!["run".into(), "good.scenario.toml".into()];
    arguments.extend(files.iter().map(|path| path.clone().into_os_string()));
    let of = files.len() + 1;
    let mut said = place
        .moonquake(&arguments)
        .exits(64)
        .complains(&format!("{} of {of} files cannot be understood", files.len()));
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        said = said.complains(name);
    }
    assert_eq!(said.out, "");
    assert!(!place.path().join("moonquake-runs").exists());
}

#[test]
fn cli_files_that_nobody_would_write_are_refused_with_a_mend() {
    let place = Place::new();
    let nested = format!("schema = {}{}", "[".repeat(20_000), "]".repeat(20_000));
    let cases: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("large", vec![b'#'; 10 << 20]),
        ("binary", (0..=255).collect()),
        ("nested", nested.into_bytes()),
        ("latin", b"title = \"caf\xe9\"".to_vec()),
    ];
    for (name, bytes) in cases {
        let file = format!("{name}.scenario.toml");
        place.file(&file, bytes);
        for command in ["run", "check", "explain"] {
            let said = place.moonquake(&[command, &file]).exits(64).complains("help: ");
            assert!(said.err.len() < 4_000, "{name}: {} bytes", said.err.len());
        }
    }
    std::fs::create_dir(place.path().join("folder.scenario.toml")).unwrap();
    place.moonquake(&["run", "folder.scenario.toml"]).exits(64);
}

#[test]
fn cli_a_wrong_file_matters_only_where_it_is_asked_for() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("fine"));
    place.file("scenarios/broken.scenario.toml", "schema = 2");
    place.moonquake(&["run", "fine"]).exits(0);
    place
        .moonquake(&["run"])
        .exits(64)
        .complains("broken.scenario.toml");
    place
        .moonquake(&["run", "broken"])
        .exits(64)
        .complains("broken.scenario.toml");
    place
        .moonquake(&["run", "other"])
        .exits(64)
        .complains("1 files there cannot be understood");
}

#[test]
fn cli_wrong_command_lines_exit_64() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    let wrong: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["run", "--seed", "-1"], "--seed"),
        (&["run", "--seed", "x"], "--seed"),
        (&["run", "--engine", "modle"], "did you mean model?"),
        (&["run", "--profile", "upsteam"], "did you mean upstream?"),
        (&["run", "--dimension", "lese"], "did you mean lease?"),
        (&["new", "a", "--dimension", "zzz"], "there are crash, lease"),
        (&["rum"], "'run'"),
        (&["run", "--enigne", "model"], "'--engine'"),
        (&["run", "--engine", ""], "there are model, master"),
        (&["run", "--profile", "lax"], "there are upstream and strict"),
        (&["run", "--format", "xml"], "human"),
        (
            &[
                "run",
                "a.scenario.toml",
                "--engine",
                "master",
                "--profile",
                "strict",
            ],
            "upstream only",
        ),
        (&["explain"], "FILTER|FILE"),
        (&["check", "--schema", "a"], "--schema"),
        (&["serve", "--addr", "nowhere"], "--addr"),
    ];
    for (arguments, part) in wrong {
        place.moonquake(arguments).exits(64).complains(part);
    }
}

#[test]
fn cli_a_file_that_no_engine_can_run_is_told_at_check() {
    let place = Place::new();
    let text = good("stuck").replace("[world]", "[world]\nflags = { evction_ratio = \"1\" }");
    place.file("stuck.scenario.toml", text);
    place
        .moonquake(&["check", "stuck.scenario.toml"])
        .exits(64)
        .complains("stuck.scenario.toml runs on no engine")
        .complains("evction_ratio");
}

#[cfg(unix)]
#[test]
fn cli_a_page_never_takes_the_place_of_what_is_no_file() {
    let place = Place::new();
    place.file("good.scenario.toml", good("good"));
    let socket = place.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    place
        .moonquake(&["diff", "good.scenario.toml", "model", "model", "--html", "socket"])
        .exits(70)
        .complains("socket cannot be written")
        .complains("`--html FILE`");
    assert!(!socket.is_file());
}

#[test]
fn cli_a_campaign_that_would_compare_nothing_is_refused() {
    let place = Place::new();
    for (flag, value) in [
        ("--ops", "0"),
        ("--differences", "0"),
        ("--jobs", "0"),
        ("--look", "0"),
    ] {
        place
            .moonquake(&["diff", "--random", flag, value])
            .exits(64)
            .complains(flag);
    }
    for flag in ["--ops", "--jobs", "--differences", "--look"] {
        place
            .moonquake(&["diff", "--replay", "history.json", flag, "3"])
            .exits(64)
            .complains("cannot be used with");
    }
}

#[test]
fn cli_a_campaign_that_could_not_write_what_it_finds_is_refused_before_it_begins() {
    let place = Place::new();
    place.file("taken", "a file");
    std::os::unix::fs::symlink("nowhere", place.path().join("dangling")).unwrap();
    let long = "x".repeat(300);
    for (out, part) in [
        ("taken", "a file is in its place"),
        ("taken/deeper/still", "a file is in its place"),
        ("dangling", "dangling leads nowhere"),
        (&long, "too long"),
    ] {
        let said = place
            .moonquake(&["diff", "--random", "--out", out])
            .exits(64)
            .complains(out)
            .complains(part)
            .complains("`--out DIR`");
        assert_eq!(said.out, "");
    }
}
