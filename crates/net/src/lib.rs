//! moonquake-net
