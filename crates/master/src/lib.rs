//! moonquake-master
