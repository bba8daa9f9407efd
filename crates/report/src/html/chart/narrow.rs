//! The picture for phones: time goes down, a line of text for each mark, so nothing can lie on anything else.

use super::bytes::{colours, tip_of, unowned};
use super::scene::Scene;
use super::wide::{change_mark, fault_words, hatch, linked, message_words, transfer_words};
use super::words::{Word, late_words, words};
use super::{fit, label, width_of};
use crate::html::text::{plain, time};
use crate::{ActorLane, Lanes, Message, Point, Role};
use maud::{Markup, html};
use std::collections::BTreeMap;

const WIDTH: i32 = 360;
const ROW: i32 = 17;
/// From actor to actor.
const PITCH: i32 = 17;
/// Room for the names, written upwards: at least, and at most.
const HEAD: i32 = 66;
const MAX_HEAD: i32 = 150;
/// The most places; more have no room, and stand in the table below.
const MAX_PLACES: usize = 4;

/// Where rows and columns lie.
struct Page<'a> {
    scene: &'a Scene,
    lanes: &'a Lanes,
    /// The y of each slot.
    ys: Vec<i32>,
    /// The first and last y of each group.
    groups: Vec<(i32, i32)>,
    /// For each place its left edge and width.
    places: Vec<(i32, i32)>,
    text: i32,
    /// Room for the names.
    head: i32,
    height: i32,
}

impl Page<'_> {
    fn y(&self, point: Point) -> Option<i32> {
        self.ys.get(self.scene.slot(point)?).copied()
    }

    fn y_before(&self, point: Point) -> i32 {
        let slot = self.scene.slot_before(point).unwrap_or(0);
        self.ys.get(slot).copied().unwrap_or(self.head)
    }

    fn bottom(&self) -> i32 {
        self.height - 6
    }
}

fn x_of(index: usize) -> i32 {
    12 + PITCH * i32::try_from(index).unwrap_or(0)
}

/// The whole picture.
pub(super) fn draw(lanes: &Lanes, planned: &str, scene: &Scene) -> Markup {
    let page = page(lanes, scene);
    let bottom = page.bottom();
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (page.height) } width=(WIDTH) height=(page.height) {
            (hatch("hatch-n"))
            @for (y0, y1) in &page.groups { rect class="band" x="0" y=(y0) width=(WIDTH) height=(y1 - y0) {} }
            @for (index, lane) in lanes.actors.iter().enumerate() {
                (name(&lane.name, x_of(index), page.head))
                (life(&page, lane, index))
            }
            @for (place, (x, width)) in lanes.places.iter().zip(&page.places) {
                (name(&place.name, x + width / 2, page.head))
                rect class="l-frame" fill="none" x=(x) y=(page.head) width=(width) height=(bottom - page.head) {}
            }
            (owners(&page))
            @for (index, lane) in lanes.actors.iter().enumerate() {
                @for message in &lane.messages { (arrow(&page, message, lane, index)) }
                @for transfer in &lane.transfers {
                    @let to = lanes.actors.iter().position(|other| Some(other.name.as_str()) == transfer.node.split('.').next());
                    @if let (Some(at), Some(to)) = (transfer.opened.or(transfer.parts.first().copied()), to)
                        && let Some(y) = page.y(at) {
                        (linked(at, &transfer_words(transfer, &lane.name), &html! { path class="tr" d={ "M" (x_of(index)) " " (y - 4) "H" (x_of(to)) } {} }))
                    }
                }
                @for operation in &lane.operations { (bar(&page, operation, &lane.name, index)) }
                @for change in &lane.changes {
                    @if let Some(y) = page.y(change.at) {
                        (linked(change.at, &format!("{} {}", lane.name, change.what), &change_mark(&change.what, x_of(index), y - 4, 5)))
                    }
                }
            }
            (lines(&page, planned))
        }
    }
}

fn page<'a>(lanes: &'a Lanes, scene: &'a Scene) -> Page<'a> {
    let shown = lanes.places.len().min(MAX_PLACES);
    let start = x_of(lanes.actors.len()) - 4;
    let each = if shown == 0 {
        0
    } else {
        (60 / i32::try_from(shown).unwrap_or(1)).clamp(16, 40)
    };
    let places: Vec<(i32, i32)> = (0..shown)
        .map(|index| (start + i32::try_from(index).unwrap_or(0) * (each + 3), each))
        .collect();
    let text = places.last().map_or(start, |(x, width)| x + width) + 8;
    let names = lanes.actors.iter().map(|lane| &lane.name);
    let names = names.chain(lanes.places.iter().take(shown).map(|place| &place.name));
    let longest = names.map(|name| width_of(&label(name))).max().unwrap_or(0);
    let head = (longest + 8).clamp(HEAD, MAX_HEAD);
    let mut y = head + 4;
    let (mut ys, mut groups) = (Vec::new(), Vec::new());
    let mut deadlines = lanes.deadlines.iter().peekable();
    for group in &scene.groups {
        while deadlines.next_if(|line| line.at_ns <= group.at_ns).is_some() {
            y += ROW;
        }
        let top = y;
        y += ROW;
        for slot in group.first..=group.last {
            y += ROW;
            ys.push(y - 4);
            // The fault has a line of its own.
            let is_fault = lanes
                .fault
                .as_ref()
                .is_some_and(|fault| scene.slot(fault.at) == Some(slot));
            y += if is_fault { ROW } else { 0 };
        }
        groups.push((top, y + 2));
        y += 8;
    }
    Page {
        scene,
        lanes,
        ys,
        groups,
        places,
        text,
        head,
        height: y + 8,
    }
}

fn name(name: &str, x: i32, head: i32) -> Markup {
    let text = fit(&label(name), head - 8).unwrap_or_default();
    html! { text class="t-h" transform={ "translate(" (x + 4) " " (head - 4) ") rotate(-90)" } { title { (plain(name)) } (text) } }
}

fn life(page: &Page<'_>, lane: &ActorLane, index: usize) -> Markup {
    let x = x_of(index);
    let mut parts: Vec<(i32, i32, &str)> = Vec::new();
    let mut from = (page.head, "l-life");
    for change in &lane.changes {
        let y = page.y_before(change.at) - 4;
        let class = match change.what.as_str() {
            "killed" | "frozen" | "stopped" => "l-dead",
            "resumed" | "started" => "l-life",
            _ => continue,
        };
        parts.push((from.0, y, from.1));
        from = (y, class);
    }
    parts.push((from.0, page.bottom(), from.1));
    html! { @for (y0, y1, class) in parts { path class=(class) d={ "M" (x) " " (y0) "V" (y1) } {} } }
}

fn bar(page: &Page<'_>, operation: &crate::Operation, who: &str, index: usize) -> Markup {
    let Some(y0) = page.y(operation.began) else {
        return html! {};
    };
    let y1 = operation.ended.map_or(page.bottom(), |at| page.y_before(at));
    let class = match () {
        () if operation.failed => "op x",
        () if operation.ended.is_none() || operation.outcome == "no result" => "op n",
        () => "op",
    };
    let tip = format!("{}: {} → {}", operation.step, operation.text, operation.outcome);
    let _ = who;
    let mark = html! { rect class=(class) x=(x_of(index) - 4) y=(y0 - 10) width="8" height=((y1 - y0 + 12).max(10)) rx="3" {} };
    linked(operation.ended.unwrap_or(operation.began), &tip, &mark)
}

/// A message goes from the client's line to the master's, and its answer back.
fn arrow(page: &Page<'_>, message: &Message, lane: &ActorLane, index: usize) -> Markup {
    let master = page
        .lanes
        .actors
        .iter()
        .position(|lane| lane.role == Role::Master);
    let at = message
        .handled
        .or(message.lost)
        .or(message.sent)
        .or(message.answered);
    let Some((master, at)) = master.zip(at) else {
        return html! {};
    };
    let Some(y) = page.y(at) else { return html! {} };
    let fine = message.lost.is_none();
    let class = if fine { "" } else { " x" };
    let (x0, x1, y) = (x_of(index), x_of(master), y - 4);
    let mark = html! {
        path class={ "msg" (class) } d={ "M" (x0) " " (y) "H" (x1) } {}
        @if message.handled.is_some() {
            path class={ "tip" (class) } d={ "M" (x1) " " (y) (if x1 < x0 { "l7 -4v8z" } else { "l-7 -4v8z" }) } {}
        } @else {
            path class="xx" d={ "M" ((x0 + x1) / 2 - 4) " " (y - 4) "l8 8m0 -8l-8 8" } {}
        }
    };
    linked(at, &message_words(message, &lane.name), &mark)
}

/// Epochs as bars, accesses as ticks.
fn owners(page: &Page<'_>) -> Markup {
    let colours = colours(page.lanes);
    html! {
        @for (place, (left, width)) in page.lanes.places.iter().zip(&page.places) {
            @let most = place.epochs.iter().map(|epoch| epoch.to).max().unwrap_or(1).max(1);
            @let x_at = |byte: u64| left + i32::try_from(u128::from(byte) * u128::try_from(*width).unwrap_or(1) / u128::from(most)).unwrap_or(0);
            @for epoch in &place.epochs {
                @let y0 = page.y_before(epoch.since) - 8;
                @let y1 = epoch.until.map_or(page.bottom(), |until| page.y_before(until) - 8).max(y0 + 2);
                @let (x0, x1) = (x_at(epoch.from), x_at(epoch.to).max(x_at(epoch.from) + 3));
                @let tip = tip_of(place, epoch);
                @let colour = colours.get(epoch.owner.as_str()).copied().unwrap_or(0);
                @if epoch.nobody {
                    (linked(epoch.since, &tip, &unowned(epoch, "url(#hatch-n)", (x0, y0), (x1 - x0, y1 - y0))))
                } @else {
                    @let split = if place.segment { epoch.readable_at.map_or(y1, |at| (page.y_before(at) - 8).clamp(y0, y1)) } else { y0 };
                    g class={ "o" (colour) } {
                        (linked(epoch.since, &tip, &html! {
                            @if split > y0 { rect class="ep u" x=(x0) y=(y0) width=(x1 - x0) height=(split - y0) {} }
                            @if y1 > split { rect class="ep" x=(x0) y=(split) width=(x1 - x0) height=(y1 - split) {} }
                        }))
                    }
                }
                @for access in &epoch.accesses {
                    @if let Some(y) = page.y(access.at) {
                        @let class = match (access.late, access.write) { (true, true) => "lw", (true, false) => "lr", (false, true) => "w", (false, false) => "r" };
                        @let width = (x_at(access.to) - x_at(access.from)).max(4);
                        g class={ "o" (colour) } { rect class=(class) x=(x_at(access.from)) y=(y - 7) width=(width) height="5" {} }
                    }
                }
            }
        }
    }
}

/// The most important word about each slot.
fn words_by_slot(page: &Page<'_>) -> BTreeMap<usize, Word> {
    let mut best: BTreeMap<usize, Word> = BTreeMap::new();
    for (event, word) in words(page.lanes) {
        let point = Point { at_ns: 0, event };
        let Some(slot) = page.scene.slot(point) else {
            continue;
        };
        if best.get(&slot).is_none_or(|known| word.0 < known.0) {
            best.insert(slot, word);
        }
    }
    best
}

/// A line of text for each slot, the times, the deadlines and the fault.
fn lines(page: &Page<'_>, planned: &str) -> Markup {
    let words = words_by_slot(page);
    let room = WIDTH - page.text - 4;
    let line = |y: i32, text: &str, class: &str| {
        let text = fit(&label(text), room).unwrap_or_default();
        html! { text x=(page.text) y=(y) class=[(!class.is_empty()).then_some(class)] { (text) } }
    };
    let mut parts = Vec::new();
    let mut deadlines = page.lanes.deadlines.iter().peekable();
    for (group, (top, _)) in page.scene.groups.iter().zip(&page.groups) {
        let mut due = Vec::new();
        while let Some(line) = deadlines.next_if(|line| line.at_ns <= group.at_ns) {
            due.push(line);
        }
        for (place, deadline) in due.iter().rev().enumerate() {
            let y = top - ROW * i32::try_from(place).unwrap_or(0) - 5;
            parts.push(html! { path class="dl" d={ "M0 " (y - 4) "H" (page.text - 4) } {} });
            parts.push(line(
                y,
                &format!("{} = {}", deadline.text, time(deadline.at_ns)),
                "t-d",
            ));
        }
        parts.push(line(top + 13, &time(group.at_ns), "t-h"));
        for slot in group.first..=group.last {
            let Some(y) = page.ys.get(slot) else { continue };
            // A late access is what a reader must not miss; everything else stands in the tables too.
            let late = late_words(page.lanes, |point| page.scene.slot(point) == Some(slot));
            if let Some((at, text)) = late {
                parts.push(linked(at, &text, &line(*y, &text, "t-b")));
            } else if let Some((_, text, class)) = words.get(&slot)
                && let Some(at) = page.scene.slots.get(slot)
            {
                let point = Point {
                    at_ns: at.at_ns,
                    event: at.event,
                };
                parts.push(linked(point, text, &line(*y, text, class)));
            }
            if let Some(fault) = page
                .lanes
                .fault
                .as_ref()
                .filter(|fault| page.scene.slot(fault.at) == Some(slot))
            {
                parts.push(html! { path class="fl" d={ "M0 " (y + 8) "H" (page.text - 4) } {} });
                let text = format!("FAULT {}", fault_words(fault));
                parts.push(linked(fault.at, planned, &line(y + ROW - 5 + 4, &text, "t-f")));
            }
        }
    }
    html! { @for part in &parts { (part) } }
}
