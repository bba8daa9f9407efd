//! Colours. A drawing names those of the light theme; a style sheet turns each into that of the dark one, so that readers
//! without style sheets see a light chart.

use plotters::style::RGBColor;
use std::fmt::Write;

/// A colour in both themes.
pub(crate) struct Pair {
    light: u32,
    dark: u32,
}

pub(crate) const PAPER: Pair = pair(0xff_ffff, 0x1b_1f23);
pub(crate) const INK: Pair = pair(0x1c_2126, 0xe3_e7ea);
pub(crate) const SOFT: Pair = pair(0x57_616b, 0xa0_abb5);
pub(crate) const LINE: Pair = pair(0xdd_e1e4, 0x30_373d);

/// Those of series, in order; after the last the first comes again, with another shape.
pub(crate) const SERIES: [Pair; 8] = [
    pair(0x1f_5fa8, 0x86_b0ee),
    pair(0xa3_3d00, 0xff_ab70),
    pair(0x17_693f, 0x6f_cf97),
    pair(0x74_50b0, 0xbd_9ff0),
    pair(0x6d_6c12, 0xcf_cd66),
    pair(0xb3_261e, 0xff_9b91),
    pair(0x1c_7c7c, 0x63_c5c3),
    pair(0x4f_667b, 0xa5_bccf),
];

const fn pair(light: u32, dark: u32) -> Pair {
    Pair { light, dark }
}

impl Pair {
    /// As the drawing names it.
    pub(crate) fn light(&self) -> RGBColor {
        let [_, red, green, blue] = self.light.to_be_bytes();
        RGBColor(red, green, blue)
    }
}

/// The colour of a series.
pub(crate) fn of_series(number: usize) -> RGBColor {
    SERIES[number % SERIES.len()].light()
}

/// The rules that make charts below `scope` dark on dark screens.
pub(crate) fn dark(scope: &str) -> String {
    let mut rules = String::from("@media screen and (prefers-color-scheme:dark){");
    for Pair { light, dark } in [PAPER, INK, SOFT, LINE].iter().chain(&SERIES) {
        // Writing to a string cannot fail.
        let _ = write!(
            rules,
            "{scope}[fill=\"#{light:06X}\"]{{fill:#{dark:06x}}}{scope}[stroke=\"#{light:06X}\"]{{stroke:#{dark:06x}}}"
        );
    }
    rules.push('}');
    rules
}
