//! Colours of values: maps from 0 to 1, and the nearest of 256 colours.

use crate::input::lengths::whole;

/// Red, green and blue.
pub(crate) type Rgb = [u8; 3];

/// Elements that have no value.
pub(crate) const NAN: Rgb = [220, 20, 60];

/// Viridis at eleven points.
const VIRIDIS: [Rgb; 11] = [
    [68, 1, 84],
    [72, 36, 117],
    [65, 68, 135],
    [53, 95, 141],
    [42, 120, 142],
    [33, 145, 140],
    [34, 168, 132],
    [66, 190, 113],
    [122, 209, 81],
    [189, 223, 38],
    [253, 231, 37],
];

/// The gray of a number from 0, which is black, to 1, for images. Smaller and larger numbers
/// have the colours of the ends.
pub(crate) fn gray(number: f64) -> Rgb {
    [to_byte(number.clamp(0.0, 1.0) * 255.0); 3]
}

/// The colour of a number from 0 to 1 in Matplotlib's viridis: its brightness increases
/// evenly, also in print and for colour-blind people.
pub(crate) fn viridis(number: f64) -> Rgb {
    let at = number.clamp(0.0, 1.0) * 10.0;
    let low = usize::from(to_byte(at.floor())).min(9);
    let (Some(a), Some(b)) = (VIRIDIS.get(low), VIRIDIS.get(low + 1)) else { return NAN };
    let part = at - at.floor().min(9.0);
    let mut color = *a;
    for (channel, (a, b)) in color.iter_mut().zip(a.iter().zip(b)) {
        *channel = to_byte(f64::from(*a) + (f64::from(*b) - f64::from(*a)) * part);
    }
    color
}

/// Rounds to a byte.
pub(crate) fn to_byte(number: f64) -> u8 {
    u8::try_from(whole(number.round()).min(255)).expect("it is at most the largest")
}

/// The levels of the colours 16 to 231 of xterm.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The nearest of xterm's 256 colours that do not depend on its settings.
pub(crate) fn nearest_index(color: Rgb) -> u8 {
    let levels = color.map(|channel| nearest(&LEVELS, channel));
    let [r, g, b] = levels;
    let cube = [r, g, b].map(|at| *LEVELS.get(usize::from(at)).expect("it is one of the levels"));
    let mean = color.iter().map(|channel| u16::from(*channel)).sum::<u16>() / 3;
    let mean = u8::try_from(mean).expect("it is at most the largest");
    let gray = ((mean.max(3) - 3) / 10).min(23);
    let gray_level = 8 + 10 * gray;
    if distance(color, [gray_level; 3]) < distance(color, cube) {
        232 + gray
    } else {
        16 + 36 * r + 6 * g + b
    }
}

/// The position of the nearest level.
fn nearest(levels: &[u8], channel: u8) -> u8 {
    let nearest = (0..).zip(levels).min_by_key(|(_, level)| level.abs_diff(channel));
    nearest.map_or(0, |(at, _)| at)
}

fn distance(a: Rgb, b: Rgb) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_map_are_its_first_and_last_colour() {
        assert_eq!(viridis(-1.0), VIRIDIS[0]);
        assert_eq!(viridis(f64::INFINITY), VIRIDIS[10]);
        assert_eq!(viridis(0.5), VIRIDIS[5]);
        assert_eq!(gray(0.5), [128; 3]);
    }

    #[test]
    fn colours_of_the_terminal_are_the_nearest() {
        for (color, index) in [
            ([0, 0, 0], 16),
            ([255, 255, 255], 231),
            ([255, 0, 0], 196),
            ([128; 3], 244),
            ([8; 3], 232),
        ] {
            assert_eq!(nearest_index(color), index, "{color:?}");
        }
    }
}
