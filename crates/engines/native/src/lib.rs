//! moonquake-native
