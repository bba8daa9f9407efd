//! moonquake-scenario
