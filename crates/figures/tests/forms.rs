//! The forms of a table, a chart and a page, as people review them, and what must be true of every one.

use moonquake_figures::{Axis, Cell, Chart, Computed, Measured, Page, Point, Scale, Simulated, Table, Unit};

fn table() -> Table<Computed> {
    let mut table = Table::new("budget", "Bytes of a cache")
        .column("kind", "kind")
        .column("bytes_per_token", "bytes/token")
        .column("ranks", "ranks")
        .column("move_ns", "on the wire");
    table.row([
        Cell::Text("MHA".to_owned()),
        Cell::of(Unit::Bytes, 524_288),
        Cell::Whole(8),
        Cell::of(Unit::Nanoseconds, 200_000_000),
    ]);
    table.row([
        Cell::Text("MLA \u{1b}[31m<b>".to_owned()),
        Cell::of(Unit::Bytes, 70_272),
        Cell::Whole(u128::MAX),
    ]);
    table.notes.push("A note & its end.".to_owned());
    table
}

fn lines() -> Chart<Simulated> {
    let hits = Axis::new("share of hits", Unit::Ppm);
    let capacity = Axis::new("capacity in blocks", Unit::Count).scale(Scale::Log);
    let mut chart = Chart::lines("hits", "Hits over capacity <&>", capacity, hits);
    for (name, best) in [("lru", 300_000), ("belady", 400_000)] {
        let points = [10, 100, 1_000, 10_000].map(|x| Point::new(x, best - best / x));
        chart.series(name, points);
    }
    chart
}

fn bars() -> Chart<Measured> {
    let categories = ["lru", "a name that is too long to stand beside its bar"].map(str::to_owned);
    let time = Axis::new("time to first token", Unit::Nanoseconds);
    let mut chart = Chart::bars("ttft", "Time to first token", time, categories.to_vec());
    chart.series(
        "p50",
        [
            Point::new(0, 1_200_000_000).spread(900_000_000, 1_500_000_000),
            Point::new(1, 0),
        ],
    );
    chart.series(
        "p99",
        [Point::new(0, 9_000_000_000), Point::new(1, 4_000_000_000)],
    );
    chart
}

fn points() -> Chart<Simulated> {
    let hits = Axis::new("hit rate", Unit::Ppm).scale(Scale::Close);
    let goodput = Axis::new("requests a second", Unit::Milli).scale(Scale::Close);
    let mut chart = Chart::points("goodput", "Goodput over hit rate", hits, goodput);
    chart.series(
        "fetch",
        [
            Point::new(400_000, 1_500).label("lru"),
            Point::new(400_100, 1_501).label("fifo"),
        ],
    );
    chart.series("faster", [Point::new(350_000, 1_900).label("lru")]);
    chart
}

#[test]
fn a_table_is_text_and_json() {
    insta::assert_snapshot!("table_text", table().text());
    insta::assert_json_snapshot!("table_json", table().json());
}

#[test]
fn columns_are_aligned() {
    let text = table().text();
    let rows: Vec<&str> = text.lines().skip(2).take(3).collect();
    let ends = |row: &str, word: &str| row.find(word).map(|at| at + word.len());
    assert_eq!(ends(rows[0], "bytes/token"), ends(rows[1], "512 KiB"));
    assert_eq!(ends(rows[0], "bytes/token"), ends(rows[2], "68.6 KiB"));
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_chart_is_svg() {
    insta::assert_snapshot!("lines_svg", lines().svg());
    insta::assert_snapshot!("bars_svg", bars().svg());
}

/// The elements of an SVG or page open and close in order.
fn is_well_formed(text: &str) {
    let mut open = Vec::new();
    for piece in text.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "in {tag}");
        } else if !tag.ends_with('/') && !tag.starts_with('!') && name != "meta" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_drawing_is_well_formed_and_keeps_its_words_inside() {
    for svg in [lines().svg(), bars().svg(), points().svg()] {
        is_well_formed(&svg);
        for line in svg
            .lines()
            .filter(|line| line.starts_with("<text") || line.contains("<text"))
        {
            let (_, tag) = line.split_once("<text").unwrap();
            let value = |name: &str| {
                let (_, rest) = tag.split_once(&format!(" {name}=\"")).unwrap();
                rest.split_once('"').unwrap().0.to_owned()
            };
            let x: i32 = value("x").parse().unwrap();
            // The group around it has it.
            assert!(!tag.contains("font-size"), "{line}");
            assert!((0..=560).contains(&x), "{line}");
            assert!(value("y").parse::<i32>().unwrap() > 0, "{line}");
        }
        assert!(svg.contains("prefers-color-scheme:dark"));
    }
    assert!(
        lines()
            .svg()
            .contains("Simulated in virtual time; nothing was measured.")
    );
    assert!(bars().svg().contains("(measured)"));
}

#[test]
fn a_chart_without_points_is_drawn() {
    let axis = || Axis::new("", Unit::Count);
    is_well_formed(&Chart::<Computed>::lines("a", "A", axis(), axis()).svg());
    is_well_formed(&Chart::<Computed>::bars("a", "A", axis(), Vec::new()).svg());
}

#[test]
fn a_page_fetches_nothing_and_names_the_origin_of_each_part() {
    let mut page = Page::new("Policies & <loads>");
    page.command("moonquake policy --workload zipf");
    page.findings(&["A sentence.".to_owned()]);
    page.heading("Zipf");
    page.table(&table());
    page.chart(&lines());
    page.chart(&points());
    page.heading("Times");
    page.chart(&bars());
    let html = page.html();
    is_well_formed(&html);
    for word in ["src=", "href=", "url(", "@import", "<script", "\u{1b}"] {
        assert!(!html.contains(word), "{word}");
    }
    for (word, times) in [(">computed<", 1), (">simulated<", 2), (">measured<", 1)] {
        assert_eq!(html.matches(word).count(), times, "{word}");
    }
    assert!(html.contains("Computed from the inputs; nothing was run."));
    if let Some(path) = std::env::var_os("MOONQUAKE_FIGURES_PAGE") {
        std::fs::write(path, &html).unwrap();
    }
    insta::assert_snapshot!("page", html);
}

#[test]
fn a_title_cannot_leave_the_style_sheet_of_a_page() {
    let title = "a\"}</style><script>";
    let mut table = Table::<Computed>::new("t", title)
        .column("a", "a")
        .column("b", title);
    table.row([Cell::Whole(1), Cell::Whole(2)]);
    let mut page = Page::new(title);
    page.table(&table);
    let html = page.html();
    assert_eq!(html.matches("</style>").count(), 1);
    assert!(!html.contains("<script>"));
}
