//! moonquake-report
