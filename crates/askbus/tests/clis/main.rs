//! Agents' own programs, with a scripted model, ask through `askbus mcp`; a person answers. Run by
//! `./test clis`, which brings the programs and takes the network away.

#![allow(missing_docs, clippy::indexing_slicing, reason = "tests")]

mod limits;
mod payloads;
mod story;

/// The tests of one client. The names are those of `./test clis` and of `--long`.
macro_rules! client {
    ($module:ident, $name:literal $(, answered after $seconds:literal s, by $by:ident)?) => {
        mod $module {
            mod soon {
                use anyhow::Result;

                // contract: A1 A2 A3 P8
                #[tokio::test]
                async fn its_model_hears_what_a_person_answered() -> Result<()> {
                    crate::story::a_person_answers($name).await
                }

                // contract: A10
                #[tokio::test]
                async fn its_most_permissive_mode_answers_nothing() -> Result<()> {
                    crate::story::nothing_but_a_person_answers($name).await
                }

                // contract: D15
                #[tokio::test]
                async fn it_says_of_itself_what_it_was_recorded_to_say() -> Result<()> {
                    crate::payloads::the_same_as_recorded($name).await
                }
            }

            $(mod long {
                // contract: E13
                #[tokio::test]
                async fn its_own_limit_is_outlived() -> anyhow::Result<()> {
                    crate::limits::its_own_limit_is_outlived($name, $seconds, crate::limits::By::$by).await
                }
            })?
        }
    };
}

client!(claude, "claude");
client!(codex, "codex", answered after 310 s, by HandBack);
client!(opencode, "opencode", answered after 70 s, by Progress);
client!(grok, "grok");
client!(pi, "pi", answered after 70 s, by Progress);
client!(pi_mcp_adapter, "pi-mcp-adapter", answered after 70 s, by HandBack);
client!(dsh, "dsh", answered after 70 s, by HandBack);
client!(gemini, "gemini");
client!(qwen, "qwen");

/// The tests of one client whose calls are handed back.
macro_rules! handed_back {
    ($($module:ident $name:literal)*) => {
        mod handed_back {
            $(mod $module {
                mod soon {
                    // contract: E13
                    #[tokio::test]
                    async fn its_model_goes_on_waiting() -> anyhow::Result<()> {
                        crate::limits::its_model_goes_on_waiting($name).await
                    }
                }
            })*
        }
    };
}

handed_back! {
    claude "claude"
    codex "codex"
    opencode "opencode"
    grok "grok"
    pi "pi"
    pi_mcp_adapter "pi-mcp-adapter"
    dsh "dsh"
    gemini "gemini"
    qwen "qwen"
}

/// The one client that tells its sub-agents apart.
mod sub_agents {
    mod codex {
        mod soon {
            // contract: D15
            #[tokio::test]
            async fn one_asks_under_the_session_that_started_it() -> anyhow::Result<()> {
                crate::payloads::a_sub_agent_as_recorded("codex").await
            }
        }
    }
}
