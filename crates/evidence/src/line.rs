//! Events in words.

use crate::{Kind, Leg, Range};

impl Kind {
    /// One line for people. Who saw it and whom it is about are printed elsewhere.
    pub fn line(&self) -> String {
        match self {
            Kind::StepBegan { text } => text.clone(),
            Kind::StepEnded {
                outcome,
                entries,
                count,
                content,
                note,
            } => {
                let mut line = format!("ends with {outcome}");
                if !entries.is_empty() {
                    line += &format!(" [{}]", entries.join(", "));
                }
                if let Some(count) = count {
                    line += &format!(", count {count}");
                }
                if let Some(content) = content {
                    line += &format!("; {content}");
                }
                if let Some(note) = note {
                    line += &format!(" ({note})");
                }
                line
            }
            Kind::Frame {
                leg,
                rpc,
                key,
                code,
                ranges,
                ..
            } => frame_line(*leg, rpc, key, code, ranges),
            Kind::TransferOpened {
                transfer,
                write,
                range,
                buffer,
                ..
            } => {
                let verb = if *write { "write to" } else { "read of" };
                let of = buffer
                    .as_ref()
                    .map(|name| format!(" with buffer {name}"))
                    .unwrap_or_default();
                format!("transfer {transfer} opens: {verb} {range}{of}")
            }
            Kind::Payload {
                transfer,
                write,
                range,
                first_part,
                last_part,
                parts,
                ..
            } => {
                let what = if first_part == last_part {
                    format!("part {first_part} of {parts}")
                } else {
                    format!("parts {first_part} to {last_part} of {parts}")
                };
                let place = if *write { "landed at" } else { "arrived from" };
                format!("transfer {transfer}: {what} {place} {range}")
            }
            Kind::TransferClosed { transfer, how } => format!("transfer {transfer} ends: {how}"),
            other => other.plain_line(),
        }
    }

    fn plain_line(&self) -> String {
        match self {
            Kind::Bound {
                name,
                range: Some(range),
            } => format!("{name} is {range}"),
            Kind::Bound { name, range: None } => format!("{name} never came into being"),
            Kind::Injected {
                dimension,
                phase,
                action,
                ..
            } => {
                let place = phase
                    .as_ref()
                    .map(|phase| format!(" at {phase}"))
                    .unwrap_or_default();
                let what = action
                    .as_ref()
                    .map(|action| format!(": {action}"))
                    .unwrap_or_default();
                format!("injects {dimension}{place}{what}")
            }
            Kind::Released => "releases what it held".to_owned(),
            Kind::Actor { change, detail } => format!("{} ({detail})", format!("{change:?}").to_lowercase()),
            Kind::ClockRead { realtime, monotonic } => {
                format!("reads wall {} ns, monotonic {} ns", realtime.0, monotonic.0)
            }
            Kind::Tick { thread } => format!("one round of {thread}"),
            Kind::State(state) => {
                let keys: Vec<&str> = state.keys.keys().map(String::as_str).collect();
                let readable = if keys.is_empty() {
                    "none".to_owned()
                } else {
                    keys.join(", ")
                };
                format!(
                    "{} of {} bytes allocated, readable: {readable}",
                    state.allocated_bytes, state.capacity_bytes
                )
            }
            Kind::Advanced { by } => format!("both clocks of every actor move by {by}"),
            Kind::Note { text } => text.clone(),
            other => other.memory_line(),
        }
    }

    /// What is about buffers and bytes.
    fn memory_line(&self) -> String {
        match self {
            Kind::Sight {
                buffer,
                witness,
                sees,
                blind,
            } => {
                let blind = if blind.is_empty() {
                    "nothing".to_owned()
                } else {
                    blind.join(", ")
                };
                format!(
                    "{witness} watches {buffer}: sees {}; blind to {blind}",
                    sees.join(", ")
                )
            }
            Kind::Access {
                buffer,
                write,
                from,
                to,
            } => {
                format!(
                    "{} {buffer}[{from}, {to})",
                    if *write { "writes" } else { "reads" }
                )
            }
            Kind::Reused {
                place,
                from,
                to,
                reachable_by,
            } => {
                let others: Vec<String> = reachable_by
                    .iter()
                    .map(|op| format!("step {} ({})", op.step + 1, op.repetition))
                    .collect();
                let others = others.join(", ");
                format!("{place}[{from}, {to}) changes hands while a transfer of {others} can still reach it")
            }
            Kind::Bytes {
                name,
                content: Some(content),
            } => format!("{name}: {content}"),
            Kind::Bytes { name, content: None } => format!("{name} does not exist"),
            Kind::Brought { key, content } => format!("brought {key}: {content}"),
            _ => String::new(),
        }
    }
}

fn frame_line(leg: Leg, rpc: &str, key: &Option<String>, code: &Option<String>, ranges: &[Range]) -> String {
    let of = key.as_ref().map(|key| format!("({key})")).unwrap_or_default();
    let code = code.as_deref().unwrap_or("no answer");
    let given: Vec<String> = ranges.iter().map(Range::to_string).collect();
    let given = if given.is_empty() {
        String::new()
    } else {
        format!(", {}", given.join(", "))
    };
    match leg {
        Leg::RequestSent => format!("{rpc}{of} leaves the client"),
        Leg::RequestHandled => format!("{rpc}{of} is handled: {code}{given}"),
        Leg::ResponseDelivered => format!("the answer to {rpc}{of} arrives: {code}{given}"),
        Leg::RequestLost => format!("{rpc}{of} is lost on its way"),
        Leg::ResponseLost => format!("the answer to {rpc}{of} is lost: {code}"),
        Leg::ResponseUndeliverable => format!("the answer to {rpc}{of} finds nobody: {code}"),
        Leg::Closed => format!("the connection closes under {rpc}{of}"),
    }
}
