//! moonquake-faults
