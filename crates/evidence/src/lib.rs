//! moonquake-evidence
