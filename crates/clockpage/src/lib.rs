//! moonquake-clockpage
