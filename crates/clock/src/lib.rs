//! moonquake-clock
