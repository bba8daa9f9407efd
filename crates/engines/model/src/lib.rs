//! moonquake-model
