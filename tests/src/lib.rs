//! Tests that span the workspace.
