//! What reviewers and machines get to see.

mod hostile;
mod page;
mod projection;
mod reader;
mod script;
mod size;
mod snapshots;
mod square;
mod support;
mod timeline;
mod trust;
