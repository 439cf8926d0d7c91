//! `completions` and `man`: what packages install.

use std::io::Write;

use clap::CommandFactory;
use clap_mangen::Man;

use super::print::Printer;
use super::{Cli, Exit, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(super) fn completions(args: &Args, printer: &Printer) -> Result<Outcome, Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "keysweep", &mut script);
    printer.text(&script)?;
    Ok(Outcome::Yes)
}

/// What the man page says after the commands.
const ENDING: &str = include_str!("manual.roff");

/// One page of all commands, so that a package installs one file.
pub(super) fn man(printer: &Printer) -> Result<Outcome, Exit> {
    let mut command = Cli::command().after_help("");
    // Fills in the global flags and the full names of the commands.
    command.build();
    let whole = Man::new(command.clone());
    let mut page = Vec::new();
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    page.extend_from_slice(b".SH DESCRIPTION\n");
    page.extend_from_slice(DESCRIPTION.as_bytes());
    whole.render_options_section(&mut page)?;
    page.extend_from_slice(b".SH COMMANDS\nEach takes the options above as well.\n");
    commands_of(&command, &mut page)?;
    page.extend_from_slice(ENDING.as_bytes());
    printer.text(&page)?;
    Ok(Outcome::Yes)
}

const DESCRIPTION: &str = "\
Reads a file of databases and retentions, and deletes finished rows whose time has come, in small batches, each in one
transaction, from live SQLite databases. Rows that are pending are counted and shown, and never deleted. Where config,
schema or clock look wrong, nothing is deleted, and log, metrics and status page say why.
";

fn commands_of(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|command| command.get_name() != "help") {
        if below.has_subcommands() { commands_of(below, page)? } else { section_of(below, page)? }
    }
    Ok(())
}

/// A command with the flags that are its own.
fn section_of(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let is_common = |arg: &clap::Arg| arg.is_global_set() || arg.get_id() == "help";
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let own = Man::new(command.clone().mut_args(|arg| {
        let hidden = is_common(&arg);
        arg.hide(hidden)
    }));
    writeln!(page, ".SS \"{}\"", name.replace('-', "\\-"))?;
    without_heading(page, |part| own.render_synopsis_section(part))?;
    writeln!(page, ".PP\n{}.", command.get_about().map(ToString::to_string).unwrap_or_default())?;
    without_heading(page, |part| own.render_options_section(part))
}

/// What is rendered as a section of the page becomes a part of one.
fn without_heading(
    page: &mut Vec<u8>,
    render: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut section = Vec::new();
    render(&mut section)?;
    for line in section.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b".SH ")) {
        page.extend_from_slice(line);
    }
    Ok(())
}
