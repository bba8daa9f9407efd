//! moonquake-client
