//! The lower lane: who owned which bytes, who wrote and read them, and who did so late.

use super::labels::{Area, Spot};
use super::scene::Scene;
use super::wide::{Canvas, linked};
use super::{fit, label, width_of};
use crate::html::text::{bytes, plain, range, time};
use crate::{Epoch, Lanes, PlaceLane, RegionAccess};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// The most bands of one place; with more, bands become thinner and lose their labels.
const THICK: i32 = 26;
/// The height of the only bands of a place.
const ALONE: i32 = 40;
const THIN: i32 = 14;
const NOBODYS: i32 = 10;
/// Above a place: its late marks.
const HEAD: i32 = 18;

/// Where the bytes of a place lie: bands between the ends of epochs, those that nobody had are narrow.
pub(super) struct Bands {
    /// First byte, one past the last, y of the top, y of the bottom.
    bands: Vec<(u64, u64, i32, i32)>,
}

impl Bands {
    fn new(place: &PlaceLane, top: i32) -> Bands {
        let mut ends: Vec<u64> = place
            .epochs
            .iter()
            .flat_map(|epoch| [epoch.from, epoch.to])
            .collect();
        ends.sort_unstable();
        ends.dedup();
        let thick = match ends.len() {
            0..=2 => ALONE,
            3..=6 => THICK,
            _ => THIN,
        };
        // How many owners begin and end at each end.
        let mut turns: BTreeMap<u64, i64> = BTreeMap::new();
        for epoch in &place.epochs {
            *turns.entry(epoch.from).or_default() += 1;
            *turns.entry(epoch.to).or_default() -= 1;
        }
        let mut y = top;
        let mut bands = Vec::new();
        let mut owners = 0;
        for pair in ends.windows(2) {
            owners += turns.get(&pair[0]).copied().unwrap_or(0);
            let height = if owners > 0 { thick } else { NOBODYS };
            bands.push((pair[0], pair[1], y, y + height));
            y += height;
        }
        Bands { bands }
    }

    fn bottom(&self, top: i32) -> i32 {
        self.bands.last().map_or(top + NOBODYS, |band| band.3)
    }

    /// The y of a byte.
    fn y(&self, byte: u64) -> i32 {
        let place = self.bands.partition_point(|(_, to, ..)| *to < byte);
        let Some((from, to, top, bottom)) = self.bands.get(place) else {
            return self.bands.last().map_or(0, |band| band.3);
        };
        let share = u128::from(byte.saturating_sub(*from)) * 1_000 / u128::from((to - from).max(1));
        top + i32::try_from(share).unwrap_or(0) * (bottom - top) / 1_000
    }
}

/// The height of the lane.
pub(super) fn height(lanes: &Lanes) -> i32 {
    lanes
        .places
        .iter()
        .map(|place| Bands::new(place, 0).bottom(0) + HEAD)
        .sum()
}

/// A colour for each owner, in the order in which they appear. The colour goes with the client where the owner names one.
pub(super) fn colours(lanes: &Lanes) -> BTreeMap<&str, usize> {
    let mut colours = BTreeMap::new();
    for epoch in lanes.places.iter().flat_map(|place| &place.epochs) {
        let next = colours.len() % 6;
        if !epoch.nobody {
            colours.entry(epoch.owner.as_str()).or_insert(next);
        }
    }
    colours
}

/// Draws the lane below `top`.
pub(super) fn draw(canvas: &mut Canvas<'_>, lanes: &Lanes, top: i32) {
    let colours = colours(lanes);
    let mut y = top;
    for place in &lanes.places {
        let bands = Bands::new(place, y + HEAD);
        gutter(canvas, place, &bands, y + HEAD);
        for epoch in &place.epochs {
            let colour = colours.get(epoch.owner.as_str()).copied().unwrap_or(0);
            own(canvas, place, epoch, &bands, colour);
        }
        for epoch in &place.epochs {
            let colour = colours.get(epoch.owner.as_str()).copied().unwrap_or(0);
            accesses(canvas, place, epoch, &bands, colour);
        }
        name_late(canvas, place, y + HEAD);
        for epoch in &place.epochs {
            name_owner(canvas, epoch, &bands);
        }
        y = bands.bottom(y + HEAD);
    }
}

fn gutter(canvas: &mut Canvas<'_>, place: &PlaceLane, bands: &Bands, top: i32) {
    let bottom = bands.bottom(top);
    let (left, right) = (canvas.strip.left, canvas.strip.right);
    canvas.gutter.push(html! {
        rect class="l-frame" fill="none" x=(left) y=(top) width=(right - left) height=(bottom - top) {}
        text class="t-h" x="2" y=(top - 5) {
            title { (plain(&place.name)) ", " (bytes(place.size)) }
            (gutter_name(&place.name, left - 6))
        }
    });
    let mut free = top - 20;
    for (from, _, y, _) in &bands.bands {
        let text = if *from == 0 { "0".to_owned() } else { bytes(*from) };
        if *y + 4 >= free && bands.bands.len() <= 12 {
            canvas
                .gutter
                .push(html! { text class="t-s" x=(left - 6 - width_of(&text)) y=(y + 10) { (text) } });
            free = y + 18;
        }
    }
    // The last end, where the only band leaves room for it.
    if let [(_, to, _, y)] = bands.bands.as_slice() {
        let text = bytes(*to);
        canvas
            .gutter
            .push(html! { text class="t-s" x=(left - 6 - width_of(&text)) y=(y) { (text) } });
    }
}

/// The name of a place: without what says that it is one where there is no room for it.
fn gutter_name(name: &str, room: i32) -> String {
    let (name, full) = (label(name), label(&format!("{name} bytes")));
    if width_of(&full) <= room {
        full
    } else {
        fit(&name, room).unwrap_or_default()
    }
}

/// The strip's first and last x of an epoch, if it reaches into the strip.
fn reach(canvas: &Canvas<'_>, scene: &Scene, epoch: &Epoch) -> Option<(i32, i32)> {
    let first = scene.slot_before(epoch.since).unwrap_or(0);
    let last = epoch.until.and_then(|until| scene.slot_before(until));
    if !canvas.strip.touches(first, last) {
        return None;
    }
    let x0 = canvas.strip.x_clamped(first);
    let x1 = last.map_or(canvas.strip.right, |last| canvas.strip.x_clamped(last));
    Some((x0, x1.max(x0 + 2)))
}

fn own(canvas: &mut Canvas<'_>, place: &PlaceLane, epoch: &Epoch, bands: &Bands, colour: usize) {
    let Some((x0, x1)) = reach(canvas, canvas.scene, epoch) else {
        return;
    };
    let (y0, y1) = (bands.y(epoch.from), bands.y(epoch.to));
    let tip = tip_of(place, epoch);
    if epoch.nobody {
        let mark = unowned(epoch, "url(#hatch)", (x0, y0), (x1 - x0, y1 - y0));
        canvas.back.push(linked(epoch.since, &tip, &mark));
        return;
    }
    let readable = epoch
        .readable_at
        .and_then(|at| canvas.scene.slot_before(at))
        .map(|slot| canvas.strip.x_clamped(slot).clamp(x0, x1));
    let split = if place.segment { readable.unwrap_or(x1) } else { x0 };
    let mark = html! {
        g class={ "o" (colour) } {
            @if split > x0 { rect class="ep u" x=(x0) y=(y0 + 1) width=(split - x0) height=(y1 - y0 - 2) {} }
            @if x1 > split { rect class="ep" x=(split) y=(y0 + 1) width=(x1 - split) height=(y1 - y0 - 2) {} }
            @if let Some(x) = epoch.readable_at.and_then(|at| canvas.x(at)) {
                path class="ro" d={ "M" (x) " " (y0 + 1) "V" (y1 - 1) } {}
            }
        }
    };
    let readable = match (place.segment, epoch.readable_at) {
        (true, Some(_)) => ", readable later",
        (true, None) => ", never readable",
        (false, _) => "",
    };
    canvas
        .back
        .push(linked(epoch.since, &format!("{tip}{readable}"), &mark));
}

/// Whose the bytes are, and since when and until when where that is only known as a bound.
pub(super) fn tip_of(place: &PlaceLane, epoch: &Epoch) -> String {
    let idle = if epoch.idle.is_empty() {
        String::new()
    } else {
        format!(", {}", epoch.idle)
    };
    let bound = match epoch.until.filter(|_| epoch.until_at_the_latest) {
        Some(until) => format!(", until {} at the latest", time(until.at_ns)),
        None => String::new(),
    };
    let bytes = range(epoch.from, epoch.to);
    format!("{} {bytes}: {}{idle}{bound}", place.name, epoch.owner)
}

/// Bytes that nobody owns: hatched while they are (or may be) in quarantine, empty where they are free.
pub(super) fn unowned(epoch: &Epoch, hatch: &str, (x, y): (i32, i32), (width, height): (i32, i32)) -> Markup {
    let (class, fill) = if epoch.idle == "free" {
        ("hf", "none")
    } else {
        ("hq", hatch)
    };
    html! { rect class=(class) fill=(fill) x=(x) y=(y) width=(width) height=(height) {} }
}

/// The owner's name in its bar, where the bar has room.
fn name_owner(canvas: &mut Canvas<'_>, epoch: &Epoch, bands: &Bands) {
    let Some((x0, x1)) = reach(canvas, canvas.scene, epoch).filter(|_| !epoch.nobody) else {
        return;
    };
    let middle = i32::midpoint(bands.y(epoch.from), bands.y(epoch.to)) + 4;
    let owner = label(&epoch.owner);
    let spots = |text: &str| -> Vec<Spot> {
        let last = x1 - width_of(text) - 4;
        (0..40)
            .map(|step| x0 + 6 + 12 * step)
            .filter(|x| *x <= last)
            .map(|x| Spot { x, y: middle })
            .collect()
    };
    for text in [Some(owner.clone()), fit(&owner, x1 - x0 - 10)]
        .into_iter()
        .flatten()
    {
        if canvas.labels.put(&spots(&text), &text, "") {
            break;
        }
    }
}

/// Where late marks are named: once for each stretch of the same kind by the same actor.
fn name_late(canvas: &mut Canvas<'_>, place: &PlaceLane, top: i32) {
    let mut last: Option<(&str, bool)> = None;
    for access in place
        .epochs
        .iter()
        .flat_map(|epoch| &epoch.accesses)
        .filter(|access| access.late)
    {
        let Some(x) = canvas.x(access.at) else { continue };
        let kind = (access.who.as_str(), access.write);
        if last == Some(kind) {
            continue;
        }
        let text = label(&format!(
            "late {} by {}",
            if access.write { "write" } else { "read" },
            access.who
        ));
        if canvas.labels.near(x + 10, &[top - 4], &text, "t-b") {
            last = Some(kind);
        }
    }
}

fn accesses(canvas: &mut Canvas<'_>, place: &PlaceLane, epoch: &Epoch, bands: &Bands, colour: usize) {
    let top = bands.bands.first().map_or(0, |band| band.2);
    let mut taken: BTreeMap<i32, i32> = BTreeMap::new();
    for access in &epoch.accesses {
        let Some(slot_x) = canvas.x(access.at) else {
            continue;
        };
        let shift = taken.entry(slot_x).or_insert(-3);
        let x = slot_x + *shift;
        *shift = (*shift + 7).min(11);
        let y0 = bands.y(access.from);
        let y1 = bands.y(access.to).max(y0 + 3);
        let class = match (access.late, access.write) {
            (true, true) => "lw",
            (true, false) => "lr",
            (false, true) => "w",
            (false, false) => "r",
        };
        let mark = html! {
            g class={ "o" (colour) } {
                rect class=(class) x=(x) y=(y0 + 2) width="6" height=((y1 - y0 - 4).max(3)) {}
                @if access.late { path class="lw" d={ "M" (x - 2) " " (top - 9) "h10l-5 7z" } {} }
            }
        };
        canvas
            .marks
            .push(linked(access.at, &tip(place, epoch, access), &mark));
        if access.late {
            canvas.labels.reserve(Area {
                x0: x - 3,
                y0: top - 11,
                x1: x + 9,
                y1: top,
            });
        }
    }
}

fn tip(place: &PlaceLane, epoch: &Epoch, access: &RegionAccess) -> String {
    let verb = if access.write { "writes" } else { "reads" };
    let late = if access.late { "LATE: " } else { "" };
    let step = if access.step.is_empty() {
        String::new()
    } else {
        format!(" in {}", access.step)
    };
    let (who, bytes) = (&access.who, range(access.from, access.to));
    format!(
        "{late}{who} {verb} {} {bytes}{step}, owner then: {}",
        place.name, epoch.owner
    )
}
