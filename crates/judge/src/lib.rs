//! moonquake-judge
