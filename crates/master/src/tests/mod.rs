//! Tests of the rules, in virtual time.
//!
//! Upstream's own cases (`mooncake-store/tests/master_service_test.cpp`, `master_service_scenario_test.cpp`,
//! `master_service_evict_scenario_test.cpp`, `master_service_processing_key_double_erase_test.cpp`) and where they are
//! told here; a file's tests name the rest. Cases of tenants, cachelib, NoF, DFS, offload, snapshots, HA and
//! threads have no counterpart.
//!
//! | upstream case | test |
//! |---|---|
//! | ObjectChecksumIsStoredAndClearedByUpsert | `upserts::a_checksum_is_stored_and_cleared_by_the_next_write` |
//! | MountUnmountSegmentWithOffsetAllocator, RandomMountUnmountSegment | `segments::mounting_is_idempotent_and_checked` |
//! | CleanupStaleHandlesTest, UnmountSegmentHidesReplicasBeforeAsyncCleanup, UnmountSegmentPerformance | `segments::an_unmount_hides_keys_before_the_cleanup` |
//! | CopyInProgressDoesNotKeepUnmountedSourceVisible, MoveInProgress… | `copies::a_copy_does_not_keep_an_unmounted_source` |
//! | ReadableAfterPartialUnmountWithReplication | `segments::the_other_replica_stays_readable` |
//! | GracefulUnmountSegment_* | `segments::graceful_unmount_*` |
//! | BatchQueryIp* | `segments::hosts_of_clients`, `addresses::tests` |
//! | PutStartInvalidParams, PutStartGroupIdsValidation, SoftPinRequestValidation | `puts::requests_are_checked_in_order` |
//! | PutWithPreferredSegment(s), LocalFirst*, PreferSameNode*, ExplicitPreferred* | `placement::*` |
//! | SingleSliceMultiReplicaFlow, PutLifecycleForEveryReplicaCount, PutStartEndFlow | `puts::a_put_is_invisible_until_its_end` |
//! | ReplicaSegmentsAreUnique, PutStartPartialAllocationIsObservable, ReplicationFactorTwoWithSingleSegment | `placement::replicas_lie_on_different_names` |
//! | PutStartExpiringTest | `deadlines::each_boundary_lies_where_the_table_says`, `sweeps::*` |
//! | ExpiredGroupedPutCanBeReplacedByUngroupedPut | `groups::a_preempting_put_leaves_the_group` |
//! | BatchGetReplicaListPreservesOrder…, BatchExistKey… | `reads::batches_keep_their_order` |
//! | GroupedLeaseRefresh*, GroupedObjectRoutes*, *UnregistersGroupedRoute, UpsertPreservesGroupMembership, … | `groups::*` |
//! | GroupedEviction*, EvictsWholeGroupTogether, ActiveGroupMemberBlocksWholeGroup | `evictions::groups_*` |
//! | RemoveLeasedObject, RemoveAllLeasedObject, ForceRemove* | `removals::*` |
//! | GetReplicaListByRegex*, RemoveByRegex*, ForceRemoveByRegexLeasedObjects | `removals::patterns_are_searched_for_anywhere_in_a_key`, `pattern::automaton::tests` |
//! | BatchReplicaClear* | `removals::clearing_takes_only_own_unleased_objects` |
//! | CopyStart, CopyEnd, CopyRevoke, MoveStart, MoveEnd, MoveRevoke, DiscardTimeoutCopyMove, ProtectCopyMoveSource… | `copies::*` |
//! | CreateCopyTaskTest, CreateMoveTaskTest, QueryTaskTest, FetchTasks*, UpdateTask*; task_manager_test.cpp | `tasks::*` |
//! | CreateDrainJob*, DrainJob*, CancelDrainJob* | `drains::*` |
//! | EvictsExactOldest*, TargetEqualsLowerBound…, SoftPinnedObjectsAreFallbackCandidates, Reserve…, Refill… | `evictions::*` |
//! | TryEvictLeasedObject, SoftPinObjects*, HardPin* | `evictions::*`, `pins::*` |
//! | SoftPin*, RepeatedPutEndDoesNotRefreshSoftPin, ExpiredSoftPinIsNotCarried… | `pins::*` |
//! | Upsert* | `upserts::*` |
//! | AccessorCleanupAfterSegmentUnmountDoesNotCrash | `puts::an_end_after_the_segment_died` |

mod contract;
mod copies;
mod deadlines;
mod disks;
mod drains;
mod evictions;
mod groups;
mod harness;
mod owners;
mod pins;
mod placement;
mod puts;
mod random;
mod reads;
mod removals;
mod segments;
mod strict;
mod sweeps;
mod tasks;
mod upserts;
