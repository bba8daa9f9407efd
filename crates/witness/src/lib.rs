//! moonquake-witness
