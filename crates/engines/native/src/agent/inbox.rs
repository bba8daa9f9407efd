//! Answers that have come and were not asked for yet.
