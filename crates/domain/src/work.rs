//! When a session's work has begun: the first time a tool changes something (D8).

/// Tools that change files, by the names that agents give them. Reading and the shell are not work.
const WORK_TOOLS: [&str; 20] = [
    "write",
    "edit",
    "apply_patch",
    "multi_edit",
    "multiedit",
    "str_replace",
    "create_file",
    "write_file",
    "edit_file",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "notebookedit",
    "notebook_edit",
    "replace",
    "insert_edit_into_file",
    "search_replace",
    "write_to_file",
    "replace_in_file",
    "delete_file",
    "patch",
];

/// Whether using this tool means that work has begun. What an MCP server's name stands before is
/// left out: `mcp__files__write_file` is `write_file`.
pub fn is_work(tool: &str) -> bool {
    let name = tool.rsplit("__").next().unwrap_or(tool).trim();
    let name = name.rsplit(['.', '/', ':']).next().unwrap_or(name);
    WORK_TOOLS.iter().any(|w| name.eq_ignore_ascii_case(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: D8
    #[test]
    fn what_changes_files_is_work_and_reading_and_the_shell_are_not() {
        for tool in [
            "Write",
            "Edit",
            "apply_patch",
            "MultiEdit",
            "mcp__fs__create_file",
            "fs.edit",
        ] {
            assert!(is_work(tool), "{tool}");
        }
        for tool in [
            "Read",
            "Bash",
            "shell",
            "grep",
            "",
            "mcp__fs__read_file",
            "rewrite",
        ] {
            assert!(!is_work(tool), "{tool}");
        }
    }
}
