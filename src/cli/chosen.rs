//! Which databases a command is about.

use super::Exit;
use super::print::complain;
use crate::config::{Block, Location, Settings};
use crate::discover::{self, Member};
use crate::plan::{DatabaseName, Failure};

/// The databases that a command is about, as of now.
pub(super) struct Chosen {
    /// The databases, none of them with the label of another.
    pub members: Vec<Member>,
    /// What a pattern found and had to leave out.
    pub troubles: Vec<(DatabaseName, Failure)>,
    /// Patterns that match nothing.
    pub empty: Vec<Block>,
}

impl Chosen {
    /// The members, once what was left out is said on standard error.
    pub fn told(self) -> Vec<Member> {
        for (block, trouble) in &self.troubles {
            complain(format_args!("{block}: {trouble}"));
        }
        self.members
    }
}

/// All of them, or those of one block, or the one with this label.
pub(super) fn chosen(settings: Settings, name: Option<&str>) -> Result<Chosen, Exit> {
    let found = discover::look(&settings.blocks);
    let is_block = |block: &Block| name.is_none_or(|name| block.name().as_str() == name);
    let is_meant = |member: &Member| {
        let labels = [&member.block, &member.database.name];
        name.is_none_or(|name| labels.iter().any(|label| label.as_str() == name))
    };
    let is_found = |block: &Block| found.members.iter().any(|member| member.block == *block.name());
    let is_empty = |block: &Block| matches!(block.location, Location::Glob(_)) && !is_found(block);
    let known = settings.blocks.iter().any(is_block);
    let mut names: Vec<String> = settings.blocks.iter().map(|block| format!("`{}`", block.name())).collect();
    names.dedup();
    let empty = settings.blocks.into_iter().filter(|block| is_block(block) && is_empty(block)).collect();
    let members: Vec<Member> = found.members.into_iter().filter(is_meant).collect();
    match name {
        Some(name) if members.is_empty() && !known => {
            let there = names.join(", ");
            Err(Exit::wrong(format!("there is no database `{name}` in the config; there is {there}")))
        }
        _ => Ok(Chosen { members, troubles: found.troubles, empty }),
    }
}
