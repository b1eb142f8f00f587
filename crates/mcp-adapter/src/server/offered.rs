//! Which tools a client is shown, what it is told of them, and which call a name means.

#[cfg(feature = "conformance")]
use crate::toolset::conformance;
use crate::toolset::{Gate, Toolset, ask, await_answer, capabilities, interaction, plan, studio};
use rmcp::model::Tool;
use std::borrow::Cow;

/// A call that a client can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    AskUser,
    AwaitAnswer,
    Capabilities,
    StudioClarify,
    Clarify,
    UpdatePlan,
    StudioPlan,
}

/// The tools of a server, as far as its gate is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offered {
    pub(super) toolset: Toolset,
    pub(super) gate: Gate,
}

impl Offered {
    /// The tools, for a client of this name: always the same ones in the same order.
    pub(super) fn tools(self, client: Option<&str>) -> Vec<Tool> {
        let ask = ask::name_for(client);
        let (plans, asks) = (self.gate.plan_is_open(), self.gate.clarify_is_open());
        match self.toolset {
            Toolset::Ask => [ask::definition(ask), await_answer::definition(ask)]
                .into_iter()
                .chain(plans.then(plan::definition))
                .chain([capabilities::definition()])
                .collect(),
            Toolset::Studio => plans
                .then(plan::studio_definition)
                .into_iter()
                .chain(asks.then(studio::definition))
                .collect(),
            Toolset::Interaction => vec![interaction::definition()],
            #[cfg(feature = "conformance")]
            Toolset::Conformance => conformance::definitions(),
        }
    }

    /// The tool of this name, whichever client it is shown to.
    pub(super) fn tool(self, name: &str) -> Option<Tool> {
        match ask::known(name) {
            Some(name) if self.toolset == Toolset::Ask => Some(ask::definition(name)),
            _ => self.tools(None).into_iter().find(|tool| tool.name == name),
        }
    }

    /// What a call of this name is; every client may use every name.
    pub(super) fn called(self, name: &str) -> Option<Called> {
        match (self.toolset, name) {
            (Toolset::Ask, ask::NAME | ask::OTHER_NAME) => Some(Called::AskUser),
            (Toolset::Ask, await_answer::NAME) => Some(Called::AwaitAnswer),
            (Toolset::Ask, capabilities::NAME) => Some(Called::Capabilities),
            (Toolset::Interaction, interaction::NAME) => Some(Called::Clarify),
            (Toolset::Studio, studio::NAME | studio::ALIAS) if self.gate.clarify_is_open() => {
                Some(Called::StudioClarify)
            }
            (Toolset::Ask, plan::NAME) if self.gate.plan_is_open() => Some(Called::UpdatePlan),
            (Toolset::Studio, plan::STUDIO_NAME | plan::STUDIO_ALIAS)
                if self.gate.plan_is_open() =>
            {
                Some(Called::StudioPlan)
            }
            _ => None,
        }
    }

    /// What the server calls itself.
    pub(super) const fn server_name(self) -> &'static str {
        match self.toolset {
            Toolset::Studio => studio::SERVER_NAME,
            _ => "askbus",
        }
    }

    /// What a client of this name may put before its model.
    pub(super) fn instructions(self, client: Option<&str>) -> Option<Cow<'static, str>> {
        match self.toolset {
            Toolset::Ask => {
                let text = ask::worded(ask::INSTRUCTIONS, ask::name_for(client));
                Some(if self.gate.plan_is_open() {
                    format!("{text} {}", plan::INSTRUCTIONS).into()
                } else {
                    text
                })
            }
            Toolset::Interaction => Some(interaction::INSTRUCTIONS.into()),
            Toolset::Studio => {
                let plans = self
                    .gate
                    .plan_is_open()
                    .then_some(plan::STUDIO_INSTRUCTIONS);
                let asks = self.gate.clarify_is_open().then_some(studio::INSTRUCTIONS);
                let texts: Vec<&str> = plans.into_iter().chain(asks).collect();
                Some(Cow::from(texts.join(" "))).filter(|text| !text.is_empty())
            }
            #[cfg(feature = "conformance")]
            Toolset::Conformance => None,
        }
    }
}
