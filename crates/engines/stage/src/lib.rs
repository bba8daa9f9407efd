//! moonquake-stage
