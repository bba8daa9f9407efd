//! What a client is told to do, as the text that upstream sends. Mirrors `task_manager.h:ReplicaCopyPayload` and
//! `ReplicaMovePayload`, as its JSON library writes them.

use std::fmt::Write as _;

/// The tenant of every object of a master with one tenant.
const TENANT: &str = "default";

/// The payload of a copy.
pub(super) fn copy(tenant: Option<&str>, key: &str, source: &str, targets: &[String]) -> String {
    let mut text = head(tenant, key, source);
    text.push_str(",\"targets\":[");
    for (index, target) in targets.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_text(&mut text, target);
    }
    // The lease and version of a dynamic replication, which is off.
    text.push_str("],\"dynamic_replication_lease_id_high\":0,\"dynamic_replication_lease_id_low\":0,");
    text.push_str("\"dynamic_replication_version_epoch\":0}");
    text
}

/// The payload of a move.
pub(super) fn r#move(tenant: Option<&str>, key: &str, source: &str, target: &str) -> String {
    let mut text = head(tenant, key, source);
    text.push_str(",\"target\":");
    push_text(&mut text, target);
    text.push('}');
    text
}

fn head(tenant: Option<&str>, key: &str, source: &str) -> String {
    let mut text = String::new();
    let fields = [
        ("{\"tenant_id\":", tenant.unwrap_or(TENANT)),
        (",\"key\":", key),
        (",\"source\":", source),
    ];
    for (name, value) in fields {
        text.push_str(name);
        push_text(&mut text, value);
    }
    text
}

/// A JSON string with everything beyond ASCII as UTF-16 escapes.
fn push_text(out: &mut String, value: &str) {
    out.push('"');
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            ' '..='\u{7f}' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04X}");
                }
            }
        }
    }
    out.push('"');
}
