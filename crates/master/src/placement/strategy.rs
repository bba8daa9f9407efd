//! The strategies by which a write finds its segments.

/// How segments are chosen (`allocation_strategy`). Mirrors `types.h:AllocationStrategyType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// By lot. Mirrors `RANDOM`.
    #[default]
    Random,
    /// The emptiest of a few that are drawn. Mirrors `FREE_RATIO_FIRST`.
    FreeRatioFirst,
    /// The first preferred segment and no other. Mirrors `CXL`; no segment is a CXL device here, since `enable_cxl` is off.
    Cxl,
    /// Of a few that are drawn the one whose owner's local disk is the emptiest. Without offload no disk is known and all count
    /// as empty. Mirrors `SSD_FREE_RATIO_FIRST`.
    SsdFreeRatioFirst,
    /// The writer's own machine first, then by lot. Mirrors `LOCAL_FIRST`.
    LocalFirst,
}

impl Strategy {
    /// The words of the flag, in the order of [`Strategy::ALL`].
    pub(crate) const WORDS: [&'static str; 5] = [
        "random",
        "free_ratio_first",
        "cxl",
        "ssd_free_ratio_first",
        "local_first",
    ];

    /// Every strategy.
    pub const ALL: [Strategy; 5] = [
        Strategy::Random,
        Strategy::FreeRatioFirst,
        Strategy::Cxl,
        Strategy::SsdFreeRatioFirst,
        Strategy::LocalFirst,
    ];
}
