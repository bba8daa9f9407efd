//! One value for each object, by its number.

use super::arena::Id;
use super::pages::{HUGE_BYTES, Pages, Plain};

/// Values of the first chunk at first.
const LEAST: usize = 64;

/// Values in chunks of a huge page, which never move. What lies at a number that was never set means nothing.
#[derive(Clone, Debug)]
pub(crate) struct Column<T: Plain>(Vec<Pages<T>>);

impl<T: Plain> Default for Column<T> {
    fn default() -> Self {
        Column(Vec::new())
    }
}

impl<T: Plain> Column<T> {
    /// Values of one chunk.
    const CHUNK: usize = HUGE_BYTES / size_of::<T>();

    /// A value, if a number so high was ever set.
    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        let place = id.index();
        self.0.get(place / Self::CHUNK)?.values().get(place % Self::CHUNK)
    }

    /// A value to change, if a number so high was ever set.
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let place = id.index();
        let chunk = self.0.get_mut(place / Self::CHUNK)?;
        chunk.values_mut().get_mut(place % Self::CHUNK)
    }

    /// Sets a value. The number is one that was set, or the next.
    pub(crate) fn set(&mut self, id: Id, value: T) {
        let place = id.index();
        if place.is_multiple_of(Self::CHUNK) && place > 0 && self.0.len() == place / Self::CHUNK {
            self.0.push(Pages::zeroed(Self::CHUNK));
        }
        if self.get(id).is_none() {
            self.grow_first();
        }
        if let Some(slot) = self.get_mut(id) {
            *slot = value;
        }
    }

    /// A small store takes little memory: its first chunk grows until it fills a huge page.
    fn grow_first(&mut self) {
        let present = self.0.first().map_or(&[][..], |chunk| chunk.values());
        let mut larger = Pages::zeroed((present.len() * 2).clamp(LEAST, Self::CHUNK));
        larger.values_mut()[..present.len()].copy_from_slice(present);
        match self.0.first_mut() {
            Some(first) => *first = larger,
            None => self.0.push(larger),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_where_they_are_put_while_their_number_grows() {
        let chunk = Column::<u32>::CHUNK;
        let mut column = Column::<u32>::default();
        assert!(column.get(Id::from_index(0)).is_none());
        let count = 2 * chunk + 3;
        for number in 0..count {
            column.set(Id::from_index(number), !(number as u32));
        }
        for number in [0, chunk] {
            column.set(Id::from_index(number), !(number as u32));
        }
        column.set(Id::from_index(7), 7);
        assert_eq!(column.0.len(), 3, "a value that is set again takes no room");
        for chunk in &column.0 {
            assert_eq!(size_of_val(chunk.values()), HUGE_BYTES);
        }
        for number in (0..count).filter(|number| *number != 7) {
            assert_eq!(column.get(Id::from_index(number)), Some(&!(number as u32)));
        }
        assert_eq!(column.get(Id::from_index(7)), Some(&7));
        assert!(column.get(Id::from_index(3 * chunk)).is_none());
    }

    #[test]
    fn few_values_take_little_memory() {
        let mut column = Column::<u64>::default();
        for (number, room) in [(0, LEAST), (LEAST - 1, LEAST), (LEAST, 2 * LEAST), (0, 2 * LEAST)] {
            column.set(Id::from_index(number), 1);
            assert_eq!(
                (column.0.len(), column.0[0].values().len()),
                (1, room),
                "{number}"
            );
        }
    }
}
