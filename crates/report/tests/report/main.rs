//! What reviewers and machines get to see.

mod hostile;
mod projection;
mod reader;
mod snapshots;
mod support;
mod timeline;
mod trust;
