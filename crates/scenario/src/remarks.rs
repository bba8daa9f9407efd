//! What is allowed and may not be meant.

use crate::{ArgValue, Plan, Verb, What};

/// Remarks on a plan that is in order, each with its step, in the order of the steps.
pub fn remarks(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .filter_map(|step| {
            let What::Do(action) = &step.what else { return None };
            let Some(ArgValue::Text(regex)) = action.args.get("regex") else {
                return None;
            };
            let anchored = regex.starts_with('^') && regex.ends_with('$');
            (action.verb == Verb::RemoveByRegex && !anchored).then(|| {
                format!(
                    "{}: {regex:?} is searched for in every key, so it also removes longer ones; ^ and $ make it match whole keys",
                    plan.step_name(step.index)
                )
            })
        })
        .collect()
}
