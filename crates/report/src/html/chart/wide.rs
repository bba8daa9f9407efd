//! The picture for wide screens and paper: time goes across.

use super::axis::{Strip, strips};
use super::bytes;
use super::labels::{Labels, Spot};
use super::scene::Scene;
use super::{fit, label, width_of};
use crate::html::text::{plain, readable, time};
use crate::{ActorLane, FaultLine, Lanes, Message, Operation, Point, Role, Transfer};
use maud::{Markup, html};
use std::collections::BTreeMap;

const WIDTH: i32 = 1_150;
const LEFT: i32 = 108;
const RIGHT: i32 = WIDTH - 8;
/// Height of a row of labels.
pub(super) const ROW: i32 = 15;
/// Height of a bar.
const BAR: i32 = 16;

/// One strip while it is drawn: what lies behind, what lies on it, and its labels.
pub(super) struct Canvas<'a> {
    pub(super) strip: &'a Strip,
    pub(super) scene: &'a Scene,
    pub(super) back: Vec<Markup>,
    pub(super) marks: Vec<Markup>,
    pub(super) gutter: Vec<Markup>,
    pub(super) labels: Labels,
}

impl Canvas<'_> {
    /// The x of an event, if it has a mark in this strip.
    pub(super) fn x(&self, point: Point) -> Option<i32> {
        self.strip.x(self.scene.slot(point)?)
    }
}

/// A mark that leads to its event and tells what it is.
pub(super) fn linked(point: Point, tip: &str, mark: &Markup) -> Markup {
    html! { a href={ "#" (point.event) } { title { (plain(tip)) " (" (time(point.at_ns)) ", " (point.event) ")" } (mark) } }
}

/// Where the rows of a strip lie; the same in every strip.
struct Layout {
    top_rows: Vec<i32>,
    /// For each actor the top of its lane, the y of its line, and how many bars lie above each other.
    actors: Vec<Lane>,
    bytes_top: i32,
    axis: i32,
}

struct Lane {
    top: i32,
    line: i32,
    stacks: Vec<usize>,
}

/// The whole picture.
pub(super) fn draw(lanes: &Lanes, planned: &str, scene: &Scene) -> Markup {
    let strips = strips(scene, LEFT, RIGHT);
    let layout = layout(lanes, scene);
    html! {
        @for strip in &strips { (draw_strip(lanes, planned, scene, strip, &layout)) }
    }
}

fn layout(lanes: &Lanes, scene: &Scene) -> Layout {
    let tops = (lanes.deadlines.len() + 1).min(4);
    let top_rows: Vec<i32> = (0..tops)
        .map(|row| 12 + ROW * i32::try_from(row).unwrap_or(0))
        .collect();
    let mut y = 12 + ROW * i32::try_from(tops).unwrap_or(1);
    let mut actors = Vec::new();
    for lane in &lanes.actors {
        let stacks = stacks(lane, scene);
        let deep = i32::try_from(stacks.iter().max().map_or(1, |most| most + 1)).unwrap_or(1);
        let rows = if lane.role == Role::Master { 3 } else { 1 };
        let line = y + ROW * rows + 3 + BAR * deep / 2;
        actors.push(Lane { top: y, line, stacks });
        y += ROW * rows + BAR * deep + 12;
    }
    let bytes_top = y + 8;
    let axis = bytes_top + bytes::height(lanes) + 6;
    Layout {
        top_rows,
        actors,
        bytes_top,
        axis,
    }
}

/// For each operation of a lane how many others it overlaps: those go above each other.
fn stacks(lane: &ActorLane, scene: &Scene) -> Vec<usize> {
    let mut ends: Vec<Option<usize>> = Vec::new();
    let mut stacks = Vec::new();
    for operation in &lane.operations {
        let begin = scene.slot(operation.began).unwrap_or(0);
        let end = operation.ended.map(|at| scene.slot(at).unwrap_or(begin));
        let free = ends
            .iter()
            .position(|taken| taken.is_some_and(|taken| taken < begin));
        let place = free.unwrap_or(ends.len()).min(2);
        match ends.get_mut(place) {
            Some(taken) => *taken = end,
            None => ends.push(end),
        }
        stacks.push(place);
    }
    stacks
}

fn draw_strip(lanes: &Lanes, planned: &str, scene: &Scene, strip: &Strip, layout: &Layout) -> Markup {
    let mut canvas = Canvas {
        strip,
        scene,
        back: Vec::new(),
        marks: Vec::new(),
        gutter: Vec::new(),
        labels: Labels::new(LEFT - 4, WIDTH - 2),
    };
    columns(&mut canvas, layout);
    let has_bytes = !lanes.places.is_empty();
    top_lines(&mut canvas, lanes, planned, layout);
    for (lane, place) in lanes.actors.iter().zip(&layout.actors) {
        life(&mut canvas, lane, place);
    }
    for (lane, place) in lanes.actors.iter().zip(&layout.actors) {
        operations(&mut canvas, lane, place);
    }
    let lines: BTreeMap<&str, i32> = lanes
        .actors
        .iter()
        .zip(&layout.actors)
        .map(|(lane, place)| (lane.name.as_str(), place.line))
        .collect();
    let master = lanes
        .actors
        .iter()
        .zip(&layout.actors)
        .find(|(lane, _)| lane.role == Role::Master);
    for (lane, place) in lanes.actors.iter().zip(&layout.actors) {
        if let Some((_, master)) = master {
            messages(&mut canvas, lane, place, master);
        }
        transfers(&mut canvas, lane, place, &lines);
    }
    if has_bytes {
        bytes::draw(&mut canvas, lanes, layout.bytes_top);
    }
    let height = canvas.labels.bottom().max(layout.axis) + 4;
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height) {
            (hatch("hatch"))
            @for part in &canvas.back { (part) }
            @for part in &canvas.gutter { (part) }
            @for part in &canvas.marks { (part) }
            @for part in &canvas.labels.finish() { (part) }
        }
    }
}

/// The pattern of memory that belongs to nobody.
pub(super) fn hatch(id: &str) -> Markup {
    html! {
        defs {
            pattern id=(id) width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                path d="M0 0V7" class="hl" {}
            }
        }
    }
}

/// The columns of instants with their times below.
fn columns(canvas: &mut Canvas<'_>, layout: &Layout) {
    let (top, bottom) = (layout.actors.first().map_or(20, |lane| lane.top), layout.axis);
    let rows = [
        layout.axis + 13,
        layout.axis + 13 + ROW,
        layout.axis + 13 + 2 * ROW,
    ];
    for column in &canvas.strip.columns {
        let shown = time(column.at_ns);
        canvas.back.push(html! {
            rect class="band" x=(column.x0) y=(top) width=(column.x1 - column.x0) height=(bottom - top) rx="2" {
                title { "one instant: " (shown) }
            }
        });
        let middle = (column.x0 + column.x1) / 2 - width_of(&shown) / 2;
        let spots: Vec<Spot> = rows
            .iter()
            .flat_map(|y| {
                [middle, column.x0, column.x1 - width_of(&shown)].map(|x| Spot {
                    x: x.max(LEFT),
                    y: *y,
                })
            })
            .collect();
        canvas.labels.put(&spots, &shown, "t-s");
    }
    canvas
        .gutter
        .push(html! { text class="t-s" x="2" y=(rows[0]) { "time" } });
}

/// The fault and the deadlines, as lines through both lanes.
fn top_lines(canvas: &mut Canvas<'_>, lanes: &Lanes, planned: &str, layout: &Layout) {
    let bottom = layout.axis;
    if let Some(fault) = &lanes.fault
        && let Some(x) = canvas.x(fault.at)
    {
        let tip = format!("the fault: {planned}");
        let line = html! { path class="fl" d={ "M" (x) " 4V" (bottom) } {} path class="ff" d={ "M" (x - 5) " 4h10l-5 8z" } {} };
        canvas.marks.push(linked(fault.at, &tip, &line));
        let what = fault_words(fault);
        canvas.labels.must(
            x + 8,
            &layout.top_rows,
            &format!("FAULT {what}, {}", time(fault.at.at_ns)),
            "t-f",
        );
    }
    for line in &lanes.deadlines {
        let Some(x) = canvas.strip.x_of_time(line.at_ns) else {
            continue;
        };
        let text = label(&format!("{} = {}", line.text, time(line.at_ns)));
        canvas.back.push(html! {
            path class="dl" d={ "M" (x) " 16V" (bottom) } { title { "deadline: " (text) } }
        });
        canvas.labels.must(x + 4, &layout.top_rows, &text, "t-d");
    }
}

/// The fault in a few words: to whom, and what.
pub(super) fn fault_words(fault: &FaultLine) -> String {
    label(&readable(&format!("{}: {}", fault.target, fault.text)))
}

/// What became of an actor: a cross where it ended, two bars where it stands still, a dot where it lives on.
pub(super) fn change_mark(what: &str, x: i32, y: i32, half: i32) -> Markup {
    let whole = 2 * half;
    html! {
        @match what {
            "killed" | "stopped" => path class="xx" d={ "M" (x - half) " " (y - half) "l" (whole) " " (whole) "m0 -" (whole) "l-" (whole) " " (whole) } {},
            "frozen" => path class="xx" d={ "M" (x - 3) " " (y - half - 1) "v" (whole + 2) "m6 0v-" (whole + 2) } {},
            _ => circle class="ff" cx=(x) cy=(y) r="4" {},
        }
    }
}

/// The line of an actor's life: solid while it lives, dotted while it is dead or frozen, and what became of it.
fn life(canvas: &mut Canvas<'_>, lane: &ActorLane, place: &Lane) {
    let y = place.line;
    let name = fit(&label(&lane.name), LEFT - 14).unwrap_or_default();
    canvas
        .gutter
        .push(html! { text class="t-h" x="2" y=(y + 4) { title { (plain(&lane.name)) } (name) } });
    let (left, right) = (canvas.strip.left, canvas.strip.right);
    let mut from = (left, "l-life");
    for change in &lane.changes {
        let slot = canvas.scene.slot(change.at).unwrap_or(0);
        let x = canvas.strip.x_clamped(slot);
        let class = match change.what.as_str() {
            "killed" | "frozen" | "stopped" => "l-dead",
            "resumed" | "started" => "l-life",
            _ => from.1,
        };
        if x > from.0 {
            canvas
                .back
                .push(html! { path class=(from.1) d={ "M" (from.0) " " (y) "H" (x) } {} });
        }
        from = (x, class);
        if let Some(x) = canvas.x(change.at) {
            let mark = change_mark(&change.what, x, y, 6);
            canvas.marks.push(linked(
                change.at,
                &format!("{} {}: {}", lane.name, change.what, change.detail),
                &mark,
            ));
            let class = if class == "l-dead" { "t-b" } else { "" };
            let text = if change.what == "clock" {
                "clock stepped".to_owned()
            } else {
                label(&change.what)
            };
            canvas.labels.near(x + 8, &[y + 4, place.top + 11], &text, class);
        }
    }
    if right > from.0 {
        canvas
            .back
            .push(html! { path class=(from.1) d={ "M" (from.0) " " (y) "H" (right) } {} });
    }
    if lane.role == Role::Master {
        return;
    }
    for stretch in &lane.background {
        let (Some(x0), Some(x1)) = (
            canvas.strip.x_of_time(stretch.from_ns),
            canvas.strip.x_of_time(stretch.until_ns),
        ) else {
            continue;
        };
        let tip = format!(
            "{}, {} to {}",
            stretch.text,
            time(stretch.from_ns),
            time(stretch.until_ns)
        );
        canvas.back.push(html! { path class="ping" d={ "M" (x0) " " (y) "H" (x1.max(x0 + 3)) } { title { (plain(&tip)) } } });
    }
}

/// What an operation is called in a bar: `p1 put k`.
pub(super) fn short(operation: &Operation, who: &str) -> String {
    let text = operation
        .text
        .strip_prefix(who)
        .unwrap_or(&operation.text)
        .trim_start();
    let text = text.split(", ").next().unwrap_or(text);
    let name = operation
        .step
        .strip_prefix("step ")
        .map_or(operation.step.as_str(), |_| "");
    let again = if operation.repetition > 1 {
        format!(" ×{}", operation.repetition)
    } else {
        String::new()
    };
    let cross = if operation.failed { "✗ " } else { "" };
    let verbs = text.strip_prefix("tick ").unwrap_or(text);
    label(format!("{cross}{name} {verbs}{again}").trim())
        .trim_start()
        .to_owned()
}

fn operations(canvas: &mut Canvas<'_>, lane: &ActorLane, place: &Lane) {
    // What failed gets its name first.
    let mut all: Vec<(&Operation, &usize)> = lane.operations.iter().zip(&place.stacks).collect();
    all.sort_by_key(|(operation, _)| !operation.failed);
    for (operation, stack) in all {
        let Some(first) = canvas.scene.slot(operation.began) else {
            continue;
        };
        let last = operation.ended.map(|at| canvas.scene.slot(at).unwrap_or(first));
        if !canvas.strip.touches(first, last) {
            continue;
        }
        let x0 = canvas.strip.x_clamped(first) - 5;
        let x1 = last.map_or(canvas.strip.right, |last| canvas.strip.x_clamped(last)) + 5;
        let x1 = x1.max(x0 + 10);
        let depth = place.stacks.iter().max().map_or(0, |most| *most);
        let offset = BAR * (i32::try_from(2 * stack).unwrap_or(0) - i32::try_from(depth).unwrap_or(0)) / 2;
        let y = place.line - BAR / 2 + offset + 1;
        let text = short(operation, &lane.name);
        let result = if operation.outcome.is_empty() {
            "no result"
        } else {
            &operation.outcome
        };
        let tip = format!("{}: {} → {result}", operation.step, operation.text);
        let class = match () {
            () if operation.failed => "op x",
            () if operation.ended.is_none() || operation.outcome == "no result" => "op n",
            () => "op",
        };
        let bar = html! { rect class=(class) x=(x0) y=(y) width=(x1 - x0) height=(BAR - 3) rx="3" {} };
        canvas
            .marks
            .push(linked(operation.ended.unwrap_or(operation.began), &tip, &bar));
        name_bar(canvas, operation, &text, (x0, x1, y), place);
    }
}

fn name_bar(
    canvas: &mut Canvas<'_>,
    operation: &Operation,
    text: &str,
    (x0, x1, y): (i32, i32, i32),
    place: &Lane,
) {
    let class = if operation.failed { "t-b" } else { "" };
    let refused = !matches!(
        operation.outcome.as_str(),
        "ok" | "" | "true" | "false" | "no result"
    );
    let full = if refused {
        label(&format!("{text} → {}", operation.outcome))
    } else {
        text.to_owned()
    };
    let inside = |text: &str| width_of(text) + 8 <= x1 - x0;
    let base = y + BAR - 6;
    let rows = [place.top + 11];
    for text in [full.as_str(), text] {
        if inside(text) && canvas.labels.put(&[Spot { x: x0 + 4, y: base }], text, class) {
            return;
        }
        if canvas.labels.put(&[Spot { x: x0, y: rows[0] }], text, class)
            || canvas.labels.near(x1, &rows, text, class)
        {
            return;
        }
    }
    let words: Vec<&str> = text.split(' ').collect();
    for take in [3, 2, 1] {
        let words = words[..take.min(words.len())].join(" ");
        if inside(&words) && canvas.labels.put(&[Spot { x: x0 + 4, y: base }], &words, class) {
            return;
        }
        if canvas.labels.near(x0, &rows, &words, class) {
            return;
        }
    }
}

/// A request goes up to the master, its answer comes down.
fn messages(canvas: &mut Canvas<'_>, lane: &ActorLane, place: &Lane, master: &Lane) {
    let rows: Vec<i32> = (0..3).map(|row| master.top + 11 + ROW * (2 - row)).collect();
    for message in &lane.messages {
        let fine = message.lost.is_none();
        let class = if fine { "" } else { " x" };
        let tip = message_words(message, &lane.name);
        let Some(first) = message
            .sent
            .or(message.handled)
            .or(message.lost)
            .or(message.answered)
        else {
            continue;
        };
        let (sent, handled, answered) = (message.sent, message.handled, message.answered);
        let mut legs = Vec::new();
        if let Some((from, to)) = sent.zip(handled) {
            legs.push((from, place.line, to, master.line));
        }
        if let Some((from, to)) = handled.zip(answered) {
            legs.push((from, master.line, to, place.line));
        }
        if let Some((from, to)) = sent.zip(message.lost).filter(|_| handled.is_none()) {
            legs.push((from, place.line, to, (place.line + master.line) / 2));
        }
        if let Some((from, to)) = handled.zip(message.lost).filter(|_| answered.is_none()) {
            legs.push((from, master.line, to, (place.line + master.line) / 2));
        }
        for (from, y0, to, y1) in legs {
            arrow(canvas, (from, y0), (to, y1), class, &tip);
        }
        if let Some(x) = message.lost.and_then(|lost| canvas.x(lost)) {
            let y = (place.line + master.line) / 2;
            canvas
                .marks
                .push(html! { path class="xx" d={ "M" (x - 4) " " (y - 4) "l8 8m0 -8l-8 8" } {} });
            canvas.labels.near(x + 7, &[y + 4], "lost", "t-b");
        }
        if let Some(x) = message.handled.or(Some(first)).and_then(|at| canvas.x(at)) {
            canvas.labels.near(
                x - 4,
                &rows,
                &label(&message.rpc),
                if fine { "t-s" } else { "t-b" },
            );
        }
    }
}

pub(super) fn message_words(message: &Message, who: &str) -> String {
    let key = if message.key.is_empty() {
        String::new()
    } else {
        format!("({})", message.key)
    };
    let code = if message.code.is_empty() {
        "no answer"
    } else {
        &message.code
    };
    let lost = if message.lost.is_some() {
        ", lost on its way"
    } else {
        ""
    };
    format!("{who}: {}{key} → {code}{lost}", message.rpc)
}

/// An arrow between two lanes, as far as this strip shows it.
fn arrow(canvas: &mut Canvas<'_>, (from, y0): (Point, i32), (to, y1): (Point, i32), class: &str, tip: &str) {
    let (Some(first), Some(last)) = (canvas.scene.slot(from), canvas.scene.slot(to)) else {
        return;
    };
    if !canvas.strip.touches(first, Some(last)) {
        return;
    }
    let (x0, x1) = (canvas.strip.x_clamped(first), canvas.strip.x_clamped(last));
    let head = if y1 > y0 { -7 } else { 7 };
    let tip_at = canvas.x(to).map(|x| (x, y1 + if y1 > y0 { -6 } else { 6 }));
    let mark = html! {
        path class={ "msg" (class) } d={ "M" (x0) " " (y0) "L" (x1) " " (y1) } {}
        @if let Some((x, y)) = tip_at { path class={ "tip" (class) } d={ "M" (x) " " (y) "l-4 " (head) "h8z" } {} }
    };
    canvas.back.push(linked(from, tip, &mark));
}

/// A transfer goes down to the node that owns the bytes.
fn transfers(canvas: &mut Canvas<'_>, lane: &ActorLane, place: &Lane, lines: &BTreeMap<&str, i32>) {
    for transfer in &lane.transfers {
        // A node that came back is called n1.2; its lane is the same.
        let node = transfer.node.split('.').next().unwrap_or_default();
        let Some(&y) = lines.get(node) else { continue };
        let tip = transfer_words(transfer, &lane.name);
        let points: Vec<Point> = transfer
            .opened
            .into_iter()
            .chain(transfer.parts.iter().copied())
            .chain(transfer.closed)
            .collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            continue;
        };
        let (Some(from), Some(to)) = (canvas.scene.slot(*first), canvas.scene.slot(*last)) else {
            continue;
        };
        let open_end = transfer.closed.is_none();
        if !canvas.strip.touches(from, if open_end { None } else { Some(to) }) {
            continue;
        }
        let x0 = canvas.strip.x_clamped(from);
        let x1 = if open_end {
            canvas.strip.right
        } else {
            canvas.strip.x_clamped(to)
        };
        let mark = html! {
            path class="tr" d={ "M" (x0) " " (place.line) "V" (y + 5) "H" (x1) } {}
            @for part in &transfer.parts {
                @if let Some(x) = canvas.x(*part) { circle class="pt" cx=(x) cy=(y + 5) r="3" {} }
            }
        };
        canvas.back.push(linked(*first, &tip, &mark));
    }
}

pub(super) fn transfer_words(transfer: &Transfer, who: &str) -> String {
    let verb = if transfer.write { "writes" } else { "reads" };
    let how = if transfer.how.is_empty() {
        "never seen to end"
    } else {
        &transfer.how
    };
    format!("{who} {verb} {}: {how}", readable(&transfer.range))
}
